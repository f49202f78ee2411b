import { readFileSync } from 'node:fs'

/** What the generator reads of a field of `definitions/sdr/datapackage.json`. */
export interface Field {
  name: string
  type: string
  example?: string
  constraints?: Record<string, unknown>
  categories?: unknown
  'mahi:codelist'?: string
  'mahi:characters'?: string
  'mahi:items'?: unknown
  'mahi:decimals'?: number
  'mahi:requiredWhen'?: unknown
}

export interface File {
  name: FileName
  prefix: string
  fields: Field[]
}

export const FILES = [
  'learners',
  'courses',
  'enrolments',
  'course-completions',
  'qualification-completions',
] as const
export type FileName = (typeof FILES)[number]

/** A record by column. An absent column is empty. */
export type Row = Record<string, string>

interface Descriptor {
  resources: { name: FileName; 'mahi:code': string; schema: { fields: Field[] } }[]
}

const path = new URL('../../../definitions/sdr/datapackage.json', import.meta.url)

/** The five files, with their columns in the order of the definition. */
export function readFiles(): File[] {
  const { resources } = JSON.parse(readFileSync(path, 'utf8')) as Descriptor
  return resources.map((resource) => ({
    name: resource.name,
    prefix: resource['mahi:code'],
    fields: resource.schema.fields,
  }))
}

/** Quotes a cell where CSV needs it (RFC 4180). */
function formatCell(value: string, separator: string): string {
  return /["\r\n]/.test(value) || value.includes(separator) ? `"${value.replaceAll('"', '""')}"` : value
}

export function formatRow(columns: readonly string[], row: Row, separator = ','): string {
  return `${columns.map((column) => formatCell(row[column] ?? '', separator)).join(separator)}\n`
}

/** The first of several records, which must exist. */
export function first<Item>(items: readonly Item[]): Item {
  const [item] = items
  if (item === undefined) throw new Error('There is no record for a fault.')
  return item
}
