import { lookUp } from '../../../foundation/look-up.ts'
import { quote } from '../../../foundation/text/quote.ts'
import { CHECK_PROPERTIES, readCheck } from './check-info.ts'
import {
  type Check,
  type Condition,
  FIELD_TYPES,
  type Field,
  type FieldTest,
  type FieldType,
  ITEM_TYPES,
  type Limits,
  type PermittedValue,
} from './definition.ts'
import { describeType } from './describe-field.ts'
import { TEXT_FORMATS } from './documents.ts'
import { FIELD_KINDS } from './field-kinds.ts'
import { compileMoment } from './moments.ts'
import type { Node } from './node.ts'
import { compileValues, type ValueReader } from './values.ts'

const PROPERTIES = [
  'mahi:codelist',
  'mahi:items',
  'mahi:decimals',
  'mahi:requiredWhen',
  'mahi:emptyWhen',
  'mahi:spaces',
  'mahi:characters',
  'mahi:column',
  'mahi:synonyms',
  'mahi:checks',
]

/** The types to which a property applies. */
const APPLIES = lookUp<readonly FieldType[]>({
  decimalChar: ['number'],
  groupChar: ['number', 'integer'],
  bareNumber: ['number', 'integer'],
  trueValues: ['boolean', 'list'],
  falseValues: ['boolean', 'list'],
  delimiter: ['list'],
  itemType: ['list'],
  categories: ['string', 'integer', 'list'],
  'mahi:items': ['list'],
  'mahi:characters': ['string'],
  'mahi:decimals': ['number'],
})

const ORDERED: readonly FieldType[] = [
  'integer',
  'number',
  'date',
  'datetime',
  'time',
  'year',
  'yearmonth',
  'duration',
]

/** The types to which a constraint applies; all others apply to every type. */
const CONSTRAINED = lookUp<readonly FieldType[]>({
  minLength: ['string', 'list', 'array', 'object'],
  maxLength: ['string', 'list', 'array', 'object'],
  minimum: ORDERED,
  maximum: ORDERED,
  exclusiveMinimum: ORDERED,
  exclusiveMaximum: ORDERED,
  pattern: ['string'],
})

/** The context that the fields of a schema share. */
export interface FieldContext {
  readonly prefix: string
  readonly names: readonly string[]
  /** The names of the columns in SQL, by position. */
  readonly columns: readonly string[]
  readonly missingValues: readonly string[]
  /** The text that stands for no value in the whole file, whatever the field. */
  readonly nullSequence: string | undefined
  /** The fields of the primary key, which must have a value. */
  readonly keyed: readonly string[]
  readonly readCodelist: (name: string, node: Node) => readonly PermittedValue[]
}

/** Reads a field of a schema with its derived checks. */
export function readField(node: Node, position: number, context: FieldContext): Field {
  node.knows(PROPERTIES, { object: 'field' })
  const name = node.get('name').requiredText()
  const type = node.get('type').oneOf(FIELD_TYPES) ?? 'string'
  const constraints = node.get('constraints')
  constraints.object()?.knows([], { strict: true, object: 'constraints' })
  const itemNode = node.get('mahi:items')
  itemNode.object()?.knows(['minLength', 'maxLength', 'pattern', 'enum', 'unique'], { strict: true })
  assertApplies(node, type, APPLIES)
  assertApplies(constraints, type, CONSTRAINED)
  if (constraints.get('jsonSchema').present)
    constraints.get('jsonSchema').fault('is not supported: JSON in a value is not checked against a schema')
  const { nullSequence } = context
  const missing = readMissingValues(node.get('missingValues')) ?? context.missingValues
  const form = {
    name,
    column: context.columns[position] ?? name,
    title: node.get('title').description() ?? name,
    description: node.get('description').description(),
    example: readExample(node.get('example').value),
    synonyms: node.get('mahi:synonyms').texts(),
    type,
    format: readFormat(node.get('format'), type),
    delimiter: node.get('delimiter').filledText() ?? ',',
    itemType: node.get('itemType').oneOf(ITEM_TYPES) ?? 'string',
    ...readNumberForm(node),
    trueValues: readTruth(node.get('trueValues')) ?? ['true', 'TRUE', 'True', '1'],
    falseValues: readTruth(node.get('falseValues')) ?? ['false', 'FALSE', 'False', '0'],
    missingValues: nullSequence === undefined ? missing : [...missing, nullSequence],
    keepSpaces: node.get('mahi:spaces').oneOf(['keep']) === 'keep',
    mayBeAbsent: node.get('mahi:column').oneOf(['optional']) === 'optional',
    required: constraints.get('required').flag() || context.keyed.includes(name),
    requiredWhen: readCondition(node.get('mahi:requiredWhen'), context.names),
    emptyWhen: readCondition(node.get('mahi:emptyWhen'), context.names),
    limits: {},
    decimals: node.get('mahi:decimals').whole(),
    permitted: undefined,
    items: {
      ...readLengths(itemNode),
      unique: itemNode.get('unique').flag(),
    },
    checks: {},
  } satisfies Field
  const both = form.trueValues.find((value) => (form.falseValues as readonly string[]).includes(value))
  if (type === 'boolean' && both !== undefined)
    node.fault(`has ${quote(both)} both in trueValues and in falseValues`)
  const values = new ValueNodes(form)
  const field = {
    ...form,
    limits: { ...readLengths(constraints), ...values.readBounds(constraints) },
    permitted: readPermitted(node, values, context),
  }
  const example = node.get('example')
  // Other implementations refuse it, too. Of another type of JSON, it is ignored, as all that only describes.
  if (typeof example.value === 'string' && example.value !== '' && type !== 'string') values.read(example)
  const stated = {
    items: itemNode.present,
    characters: node.get('mahi:characters').oneOf(['readable']) !== undefined,
    unique: constraints.get('unique').flag(),
  }
  const kinds = Object.entries(FIELD_KINDS).flatMap(([kind, { applies }]) =>
    applies(field, stated) ? [kind] : [],
  )
  return { ...field, checks: readFieldChecks(node, kinds, position, name, context) }
}

function readExample(value: unknown): string | undefined {
  return typeof value === 'string' || typeof value === 'number' ? String(value) : undefined
}

/** Reports properties that have no meaning for a field of this type: they would be read and ignored. */
function assertApplies(
  node: Node,
  type: FieldType,
  table: Readonly<Record<string, readonly FieldType[]>>,
): void {
  for (const [name, types] of Object.entries(table)) {
    if (node.get(name).present && !types.includes(type))
      node.get(name).fault(`does not apply to a field of type ${type}`)
  }
}

/** The texts of `missingValues`, which can have labels in version 2. */
export function readMissingValues(node: Node): string[] | undefined {
  if (!node.present) return undefined
  const texts = node
    .list()
    .flatMap((item) => (item.names().length > 0 ? item.get('value').scalar() : item.text()) ?? [])
  const again = texts.find((text, index) => texts.indexOf(text) < index)
  if (again !== undefined) node.fault(`has ${quote(again)} twice`)
  return texts
}

function readTruth(node: Node): string[] | undefined {
  if (!node.present) return undefined
  const texts = node.texts()
  if (texts.length === 0) node.fault('must have at least one text')
  return texts
}

function readNumberForm(node: Node): Pick<Field, 'decimalChar' | 'groupChar' | 'bareNumber'> {
  const decimalChar = node.get('decimalChar').filledText() ?? '.'
  // Some programs write that there is none.
  const groupChar = node.get('groupChar').text() || undefined
  for (const name of ['decimalChar', 'groupChar']) {
    if (/[\d+-]/.test(node.get(name).text() ?? '')) node.get(name).fault('must not contain digits or signs')
  }
  if (groupChar === decimalChar && node.get('type').value === 'number')
    node.get('groupChar').fault('must differ from decimalChar')
  const bare = node.get('bareNumber')
  return { decimalChar, groupChar, bareNumber: bare.present ? bare.flag() : true }
}

/** Reads the values in a descriptor as those of a field. */
class ValueNodes {
  readonly #field: Field
  readonly #reader: ValueReader

  constructor(field: Field) {
    this.#field = field
    this.#reader = compileValues(field)
  }

  /** The plain text of a value; reports one that the field cannot have, which would be compared with nothing. */
  read(node: Node): string | undefined {
    const { type } = this.#field
    const text = this.#toText(node)
    if (text === undefined) return undefined
    // A number of JSON has no form of its own.
    const isPlain = typeof node.value === 'number' && (type === 'number' || type === 'integer')
    const plain = isPlain ? compileValues({ ...this.#field, decimalChar: '.' }) : this.#reader
    const value = plain.read(text)
    if (value === undefined) node.fault(`must be ${describeType(this.#field)}, not ${quote(text)}`)
    return value
  }

  #toText(node: Node): string | undefined {
    const { type, trueValues, falseValues } = this.#field
    // A truth value of JSON is not a text of the file.
    if (typeof node.value === 'boolean' && type === 'boolean')
      return node.value ? trueValues[0] : falseValues[0]
    const isJson = type === 'object' || type === 'array' || type === 'geojson' || type === 'geopoint'
    if (isJson && typeof node.value === 'object' && node.value !== null) return JSON.stringify(node.value)
    return node.scalar()
  }

  readBounds(constraints: Node): Limits {
    const limits: Record<string, string> = {}
    for (const name of BOUNDS) {
      const node = constraints.get(name)
      const bound = node.present && ORDERED.includes(this.#field.type) ? this.read(node) : undefined
      if (bound !== undefined) limits[name] = bound
    }
    const [least, above, most, below] = BOUNDS.map((name) => limits[name])
    for (const lower of [least, above]) {
      for (const upper of [most, below]) {
        if (lower === undefined || upper === undefined) continue
        const order = this.#reader.compare(lower, upper)
        const isOpen = lower === above || upper === below
        if (order > 0 || (order === 0 && isOpen))
          constraints.fault(`permits no value: the lower bound is ${lower}, the upper bound is ${upper}`)
      }
    }
    return limits
  }

  /** A list of values, each of them once. */
  readList(node: Node): PermittedValue[] {
    const items = node.list()
    if (node.present && items.length === 0) node.fault('must not be empty')
    const seen = new Set<string>()
    return items.flatMap((item): PermittedValue[] => {
      const isLabelled = item.names().length > 0 && this.#field.type !== 'object'
      const place = isLabelled ? item.get('value') : item
      if (isLabelled && !place.present) place.fault('is missing')
      const value = this.#field.type === 'list' ? place.scalar() : this.read(place)
      if (value === undefined) return []
      const key = this.#reader.toItemKey(value)
      if (seen.has(key)) item.fault(`has ${quote(value)} twice`)
      seen.add(key)
      const label = isLabelled ? item.get('label').description() : undefined
      return [{ value, label, from: undefined, until: undefined }]
    })
  }

  keyOf(value: string): string {
    return this.#reader.toItemKey(this.#field.type === 'list' ? value : (this.#reader.read(value) ?? value))
  }
}

function readFieldChecks(
  node: Node,
  kinds: readonly string[],
  position: number,
  name: string,
  { prefix }: FieldContext,
): Record<string, Check> {
  const overrides = node.get('mahi:checks')
  overrides.object()?.knows(kinds, { strict: true })
  const place = String(position + 1).padStart(2, '0')
  return Object.fromEntries(
    kinds.map((kind) => {
      const override = overrides.get(kind)
      override.object()?.knows(CHECK_PROPERTIES, { strict: true })
      return [
        kind,
        readCheck(override, {
          code: `${prefix}-${place}-${kind}`,
          kind,
          fields: [name],
          // What looks damaged may be right.
          ...(kind === 'characters' && { severity: 'Warning' }),
        }),
      ]
    }),
  )
}

/** The formats of each type besides `default`; those of dates and times are also those of strptime. */
const FORMATS: Readonly<Partial<Record<FieldType, readonly string[]>>> = {
  string: Object.keys(TEXT_FORMATS),
  geopoint: ['array', 'object'],
  geojson: ['topojson'],
}

function readFormat(node: Node, type: FieldType): string {
  const format = node.text() ?? 'default'
  const isMoment = type === 'date' || type === 'time' || type === 'datetime'
  // What has no formats is read in its only one.
  if (format === 'default' || (format === 'any' && FORMATS[type] === undefined && !isMoment)) return 'default'
  if (isMoment) {
    try {
      compileMoment(type, format)
      return format
    } catch (error) {
      node.fault(
        `must be default, any or a format such as ${EXAMPLES[type]}; ${quote(format)} ${(error as Error).message}`,
      )
    }
  } else if (FORMATS[type]?.includes(format) === true) {
    return format
  } else if (type === 'geopoint' || type === 'geojson') {
    node.oneOf(['default', ...(FORMATS[type] ?? [])])
  } else node.note(`${quote(format)} is no format of the type ${type}, and is ignored`)
  return 'default'
}

const EXAMPLES = { date: '%d/%m/%Y', time: '%H:%M', datetime: '%d/%m/%Y %H:%M' } as const

const BOUNDS = ['minimum', 'exclusiveMinimum', 'maximum', 'exclusiveMaximum'] as const

function readLengths(node: Node): Limits {
  const limits: Record<string, number> = {}
  for (const name of ['minLength', 'maxLength'] as const) {
    const length = node.get(name).whole()
    if (length !== undefined) limits[name] = length
  }
  const { minLength = 0, maxLength = Number.POSITIVE_INFINITY } = limits
  if (minLength > maxLength) node.get('minLength').fault(`is more than maxLength, ${maxLength}`)
  const pattern = node.get('pattern').pattern()
  return { ...limits, ...(pattern === undefined ? {} : { pattern }) }
}

function readPermitted(
  node: Node,
  values: ValueNodes,
  { readCodelist }: FieldContext,
): readonly PermittedValue[] | undefined {
  const categories = node.get('categories')
  const enums = node.get('constraints').get('enum')
  const itemEnums = node.get('mahi:items').get('enum')
  const codelist = node.get('mahi:codelist')
  const name = codelist.text()
  const isList = node.get('type').value === 'list'
  if (isList && enums.present) enums.fault('does not apply to a list; use mahi:items')
  const labelled = categories.present ? values.readList(categories) : undefined
  const enumerated = enums.present
    ? values.readList(enums)
    : itemEnums.present
      ? values.readList(itemEnums)
      : undefined
  if (name === undefined) {
    if (labelled === undefined || enumerated === undefined) return labelled ?? enumerated
    const keys = new Set(enumerated.map(({ value }) => values.keyOf(value)))
    const permitted = labelled.filter(({ value }) => keys.has(values.keyOf(value)))
    if (permitted.length < keys.size) enums.fault('must only have values of categories')
    return permitted
  }
  if (labelled !== undefined || enumerated !== undefined)
    node.fault('has mahi:codelist besides categories or enum; keep one')
  return readCodelist(name, codelist)
}

/** Reads a condition on the fields of a record. */
export function readCondition(node: Node, names: readonly string[]): Condition | undefined {
  if (!node.present) return undefined
  return node.listOrOne().map((alternative) => {
    if (alternative.object() === undefined) return []
    return alternative.names().flatMap((name): FieldTest[] => {
      const test = alternative.get(name)
      const field = names.indexOf(name)
      if (field === -1) {
        test.fault('is not a field of this file')
        return []
      }
      if (typeof test.value === 'string') {
        const is = test.oneOf(['present', 'absent'])
        return is === undefined ? [] : [{ field, is }]
      }
      return [{ field, is: test.list().flatMap((item) => item.scalar() ?? []) }]
    })
  })
}
