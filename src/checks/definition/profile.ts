import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { Ajv } from 'ajv'
import type { Fault } from '../../text/user-error.ts'

const names = { anyOf: [{ type: 'string' }, { type: 'array', minItems: 1, items: { type: 'string' } }] }
const scalar = { type: ['string', 'number', 'boolean'] }
const length = { type: 'integer', minimum: 0 }
const missingValues = {
  type: 'array',
  items: {
    anyOf: [
      { type: 'string' },
      {
        type: 'object',
        required: ['value'],
        properties: { value: { type: 'string' }, label: { type: 'string' } },
      },
    ],
  },
}

const field = {
  type: 'object',
  required: ['name'],
  properties: {
    name: { type: 'string' },
    type: {
      enum: [
        'string',
        'number',
        'integer',
        'boolean',
        'object',
        'array',
        'list',
        'datetime',
        'date',
        'time',
        'year',
        'yearmonth',
        'duration',
        'geopoint',
        'geojson',
        'any',
      ],
    },
    format: { type: 'string' },
    title: { type: 'string' },
    description: { type: 'string' },
    delimiter: { type: 'string', minLength: 1 },
    itemType: { enum: ['string', 'integer', 'boolean', 'number', 'datetime', 'date', 'time'] },
    trueValues: { type: 'array', minItems: 1, items: { type: 'string' } },
    falseValues: { type: 'array', minItems: 1, items: { type: 'string' } },
    missingValues,
    categories: {
      type: 'array',
      items: {
        anyOf: [scalar, { type: 'object', required: ['value'], properties: { label: { type: 'string' } } }],
      },
    },
    categoriesOrdered: { type: 'boolean' },
    constraints: {
      type: 'object',
      properties: {
        required: { type: 'boolean' },
        unique: { type: 'boolean' },
        minLength: length,
        maxLength: length,
        minimum: scalar,
        maximum: scalar,
        exclusiveMinimum: scalar,
        exclusiveMaximum: scalar,
        pattern: { type: 'string' },
        enum: { type: 'array', minItems: 1, uniqueItems: true },
      },
    },
  },
}

const tableSchema = {
  type: 'object',
  required: ['fields'],
  properties: {
    fields: { type: 'array', minItems: 1, items: field },
    fieldsMatch: {
      anyOf: [
        { enum: ['exact', 'equal', 'subset', 'superset', 'partial'] },
        { type: 'array', items: { enum: ['exact', 'equal', 'subset', 'superset', 'partial'] } },
      ],
    },
    primaryKey: names,
    uniqueKeys: {
      type: 'array',
      minItems: 1,
      items: { type: 'array', minItems: 1, items: { type: 'string' } },
    },
    foreignKeys: {
      type: 'array',
      minItems: 1,
      items: {
        type: 'object',
        required: ['fields', 'reference'],
        properties: {
          fields: names,
          reference: {
            type: 'object',
            required: ['fields'],
            properties: { resource: { type: 'string' }, fields: names },
          },
        },
      },
    },
    missingValues,
  },
}

/** A path within the package, or a URL: neither absolute nor with parent folders. */
const path = { type: 'string', pattern: '^(?:https?://|(?![/~.]))(?!.*\\.\\./)' }
const source = {
  type: 'object',
  minProperties: 1,
  properties: { title: { type: 'string' }, path: { type: 'string' } },
}

/** What Data Package 2.0 (https://datapackage.org/standard/data-package/) requires of a tabular package. */
const PACKAGE = {
  type: 'object',
  required: ['resources'],
  properties: {
    $schema: { type: 'string' },
    name: { type: 'string' },
    title: { type: 'string' },
    description: { type: 'string' },
    version: { type: 'string' },
    homepage: { type: 'string' },
    created: { type: 'string' },
    keywords: { type: 'array', items: { type: 'string' } },
    sources: { type: 'array', items: source },
    licenses: {
      type: 'array',
      minItems: 1,
      items: { type: 'object', anyOf: [{ required: ['name'] }, { required: ['path'] }] },
    },
    contributors: { type: 'array', minItems: 1, items: { type: 'object', minProperties: 1 } },
    resources: {
      type: 'array',
      minItems: 1,
      items: {
        type: 'object',
        required: ['name', 'path'],
        properties: {
          name: { type: 'string' },
          path: { anyOf: [path, { type: 'array', minItems: 1, items: path }] },
          type: { const: 'table' },
          title: { type: 'string' },
          description: { type: 'string' },
          format: { type: 'string' },
          mediatype: { type: 'string' },
          encoding: { type: 'string' },
          sources: { type: 'array', items: source },
          schema: tableSchema,
        },
      },
    },
  },
}

/**
 * Finds the faults that other software for Data Package would report. The loader checks everything that Mahi uses;
 * this also checks properties of the standard that Mahi ignores.
 */
export function findProfileFaults(folder: string): Fault[] {
  const validate = new Ajv({ allErrors: true, strict: false }).compile(PACKAGE)
  const descriptor = JSON.parse(readFileSync(join(folder, 'datapackage.json'), 'utf8'))
  if (validate(descriptor)) return []
  // Each failed alternative is a separate error; the last one for each location is enough.
  const places = new Map((validate.errors ?? []).map((error) => [error.instancePath, error]))
  return [...places.values()].map(({ instancePath, message }) => ({
    file: 'datapackage.json',
    ...(instancePath === '' ? {} : { field: instancePath.slice(1).replaceAll('/', '.') }),
    message: `${message ?? 'is not valid'} (Data Package 2.0)`,
  }))
}
