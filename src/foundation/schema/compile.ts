import { countCodePoints, isAtMost } from '../text/code-points.ts'
import { count, formatNumber } from '../text/format-number.ts'
import { joinOr } from '../text/join-or.ts'
import { findTextFault, isClean, normaliseText } from '../text/normalise.ts'
import { quote } from '../text/quote.ts'
import { suggest } from '../text/suggest.ts'
import { formatTimestamp, parseTimestamp } from '../text/timestamp.ts'
import { Context, type ReadingOptions, type SchemaFault } from './context.ts'

/** A value in its stored form; `undefined` if it is empty. */
export interface Reading {
  readonly value: unknown
  readonly faults: readonly SchemaFault[]
  /** Whether the stored value differs from the given one in more than its field order. */
  readonly normalised: boolean
  /** Whether text was repaired that had been decoded with the wrong character set. */
  readonly repaired: boolean
  /** Texts that lost characters or were decoded wrongly, beyond repair; they are in the value as they were given. */
  readonly damage: readonly SchemaFault[]
  /** Texts that may have been decoded wrongly, or be correct. */
  readonly doubts: readonly SchemaFault[]
}

/** A value read from text, or why the text is wrong: a clause with the parameter as its subject. */
interface TextReading {
  readonly value?: unknown
  readonly fault?: string
}

export type ReadText = (text: string) => TextReading

/** The pattern of single-line text. */
export const SINGLE_LINE = '^[^\\t\\n\\r]*$'
/** The pattern of text that may be absent or empty, but not blank. */
export const NOT_BLANK = '\\S'
const LINE_BREAK = /[\t\n\r\u2028\u2029]/

/** A schema of JSON Schema 2020-12, as TypeBox builds it. */
type Schema = Readonly<Record<string, unknown>>

/**
 * Creates a reader of JSON values. It checks a value and renders it in the schema's field order, with normalised text
 * and without empty parts (`null`, `""`, `[]`, `{}`), which count as absent. It reports every fault with the path of
 * its field. Unknown fields are faults, and nothing is coerced. With `keepItems`, an empty list is a fault where
 * `minItems` demands items.
 *
 * @throws {TypeError} if the schema has a keyword that the reader does not implement
 */
export function compileSchema(schema: object, options: ReadingOptions = {}): (value: unknown) => Reading {
  const { json } = compile(schema as Schema)
  return (value) => {
    const context = new Context(options)
    const stored = json(value, context)
    const { faults, normalised, repaired, damage, doubts } = context
    return { value: stored, faults, normalised, repaired, damage, doubts }
  }
}

/** The member of an object that a field belongs to. */
export const memberOf = (field: string): string => field.replace(/[.[].*/s, '')

/** The members of an object that fit its schema. A list with a faulty item does not: its other items have lost their places. */
export function soundMembers<Members extends object>({ value, faults }: Pick<Reading, 'value' | 'faults'>) {
  const wrong = new Set(faults.map(({ field }) => memberOf(field)))
  const members = Object.entries(value ?? {}).filter(([name]) => !wrong.has(name))
  return Object.fromEntries(members) as Partial<Members>
}

/**
 * Creates a reader of a parameter's text, by the same keywords as `compileSchema`.
 *
 * @throws {TypeError} if the schema has a keyword that the reader does not implement, or describes no text
 */
export function compileText(schema: object): ReadText {
  const { text } = compile(schema as Schema)
  if (text === undefined) throw new TypeError(`${show(schema)} cannot be read from text`)
  return text
}

/** The default of a schema; `undefined` if it has none. */
export function defaultOf(schema: object): unknown {
  return (schema as Schema).default
}

type ReadJson = (value: unknown, context: Context) => unknown

interface Reader {
  readonly json: ReadJson
  /** Absent if values of this kind do not occur in parameters. */
  readonly text?: ReadText
}

/** Keywords that describe a value without constraining it. */
const ANNOTATIONS = ['type', 'title', 'description', 'default', 'examples', 'deprecated', 'style', 'explode']

/** The kinds of schemas, the first that matches first, with the keywords that each implements. */
const KINDS: readonly {
  matches(schema: Schema): boolean
  readonly keywords: readonly string[]
  compile(schema: never): Reader
}[] = [
  { matches: ({ enum: names }) => names !== undefined, keywords: ['enum'], compile: compileOneOf },
  {
    matches: ({ type, properties }) => type === 'object' && properties !== undefined,
    keywords: ['properties', 'required', 'additionalProperties', 'maxProperties'],
    compile: compileObject,
  },
  {
    matches: ({ type }) => type === 'array',
    keywords: ['items', 'minItems', 'maxItems'],
    compile: compileArray,
  },
  { matches: ({ type }) => type === 'boolean', keywords: [], compile: compileBoolean },
  {
    matches: ({ type }) => type === 'integer',
    keywords: ['minimum', 'maximum', 'format'],
    compile: compileInteger,
  },
  {
    matches: ({ type }) => type === 'number',
    keywords: ['minimum', 'maximum', 'format'],
    compile: compileNumber,
  },
  {
    matches: ({ type, format }) => type === 'string' && format === 'date-time',
    keywords: ['format'],
    compile: compileDateTime,
  },
  {
    matches: ({ type }) => type === 'string',
    keywords: ['minLength', 'maxLength', 'pattern'],
    compile: compileString,
  },
]

function compile(schema: Schema): Reader {
  const kind = KINDS.find(({ matches }) => matches(schema))
  if (kind === undefined) throw new TypeError(`no reader for the schema ${show(schema)}`)
  const implemented = [...ANNOTATIONS, ...kind.keywords]
  const unknown = Object.keys(schema).filter((keyword) => !implemented.includes(keyword))
  if (unknown.length > 0)
    throw new TypeError(`no reader for the keyword ${unknown.join(', ')} of the schema ${show(schema)}`)
  const reader = kind.compile(schema as never)
  assertDefault(schema, reader)
  return reader
}

/** @throws {TypeError} if the default of a schema does not fit it */
function assertDefault(schema: Schema, { json }: Reader): void {
  if (schema.default === undefined) return
  const context = new Context({})
  json(schema.default, context)
  const [fault] = context.faults
  if (fault !== undefined) throw new TypeError(`the default of the schema ${show(schema)} ${fault.message}`)
}

function show(schema: object): string {
  return JSON.stringify(schema)
}

/** Faults of a value until which unknown names get a hint: finding a similar name takes long. */
const MOST_HINTS = 100

interface ObjectSchema {
  readonly properties: Readonly<Record<string, Schema>>
  readonly required?: readonly string[]
  /** Whether further fields are accepted unchanged; their values may be anything. */
  readonly additionalProperties?: boolean
  readonly maxProperties?: number
}

function compileObject({
  properties,
  required = [],
  additionalProperties = false,
  maxProperties = Number.POSITIVE_INFINITY,
}: ObjectSchema): Reader {
  if (typeof additionalProperties !== 'boolean')
    throw new TypeError('no reader for the keyword additionalProperties with a schema')
  const names = Object.keys(properties)
  const readers = new Map(
    Object.entries(properties).map(([name, schema]) => [name, { read: compile(schema).json, schema }]),
  )
  const json: ReadJson = (value, context) => {
    if (typeof value !== 'object' || value === null || Array.isArray(value)) {
      return context.fault(`must be an object, not ${context.describe(value)}`)
    }
    const given = value as Record<string, unknown>
    const keys = Object.keys(given)
    if (keys.length > maxProperties)
      return context.fault(
        `has ${count(keys.length, 'field')}; at most ${formatNumber(maxProperties)} are allowed`,
      )
    const first = context.path.length === 0 ? 0 : context.faults.length
    // Without a prototype, because callers choose the names of further fields.
    const result: Record<string, unknown> = additionalProperties ? Object.create(null) : {}
    let empty = true
    for (const name of keys) {
      if (readers.has(name)) continue
      if (!additionalProperties) {
        const hint = context.faults.length < MOST_HINTS ? suggest(name, names) : ''
        context.fault(`has the unknown field ${quote(name)}${hint}`)
        continue
      }
      result[name] = given[name]
      empty = false
    }
    for (const [name, { read, schema }] of readers) {
      const before = Object.hasOwn(given, name) ? given[name] : undefined
      if (before === null) context.normalised = true
      const after = before == null ? undefined : context.within(name, before, read)
      const stored = after === undefined && !context.isNamed(name, first) ? schema.default : after
      if (stored === undefined) continue
      result[name] = stored
      empty = false
    }
    for (const name of required) {
      if (Object.hasOwn(result, name) || context.isNamed(name, first)) continue
      context.within(name, undefined, () => context.fault('is missing'))
    }
    if (!empty) return result
    context.normalised = true
    return undefined
  }
  return { json }
}

interface ArraySchema {
  readonly items: Schema
  readonly minItems?: number
  readonly maxItems?: number
}

function compileArray({ items, minItems = 0, maxItems = Number.POSITIVE_INFINITY }: ArraySchema): Reader {
  const { json: readItem, text: readItemText } = compile(items)
  const findFault = (values: readonly unknown[], isComplete = true): string | undefined => {
    const { length } = values
    if (length > maxItems) return `has ${length} items; at most ${maxItems} are allowed`
    const tooFew = isComplete && length < minItems
    return tooFew ? `must have at least ${count(minItems, 'item')}, not ${length}` : undefined
  }
  const json: ReadJson = (value, context) => {
    if (!Array.isArray(value)) return context.fault(`must be a list, not ${context.describe(value)}`)
    const before = context.faults.length
    const result: unknown[] = []
    const isKept = context.keepsItems && items.type === 'object'
    for (const [index, item] of value.entries()) {
      if (item === null && !isKept) {
        context.normalised = true
        continue
      }
      const faults = context.faults.length
      const after = context.within(index, item, readItem)
      if (after !== undefined) result.push(after)
      else if (isKept && context.faults.length === faults) result.push({})
    }
    // A body that names nothing where something must be named does not mean what it would without the list.
    if (result.length === 0 && !(context.keepsItems && minItems > 0)) {
      context.normalised = true
      return undefined
    }
    const fault = findFault(result, context.faults.length === before)
    return fault === undefined ? result : context.fault(fault)
  }
  if (readItemText === undefined) return { json }
  /** Comma-separated values; values themselves cannot contain commas. */
  const text: ReadText = (given) => {
    const texts = given.split(',')
    const tooMany = findFault(texts, false)
    if (tooMany !== undefined) return { fault: tooMany }
    const values: unknown[] = []
    for (const [index, each] of texts.entries()) {
      if (each === '') return { fault: 'has an empty item: separate the items with one comma each' }
      const reading = readItemText(each)
      if (reading.fault !== undefined) return { fault: `item ${index + 1} ${reading.fault}` }
      values.push(reading.value)
    }
    const fault = findFault(values)
    return fault === undefined ? { value: values } : { fault }
  }
  return { json, text }
}

interface StringSchema {
  readonly minLength?: number
  readonly maxLength?: number
  readonly pattern?: string
}

function compileString({
  minLength = 0,
  maxLength = Number.POSITIVE_INFINITY,
  pattern,
}: StringSchema = {}): Reader {
  const isSingleLine = pattern === SINGLE_LINE
  const isNeverBlank = pattern === NOT_BLANK
  const expression = pattern === undefined || isSingleLine ? undefined : new RegExp(pattern, 'u')
  /** The fault of a normalised text; `not` ends the message with the text, where it may be repeated. */
  const findFault = (text: string, not: (text: string) => string): string | undefined => {
    if (!isAtMost(text, maxLength))
      return `is ${countCodePoints(text)} characters long; at most ${maxLength} are allowed`
    if (minLength > 1 && countCodePoints(text) < minLength)
      return `is ${countCodePoints(text)} characters long; at least ${minLength} are required`
    if (isSingleLine && LINE_BREAK.test(text)) return `must be one line without tabs${not(text)}`
    if (expression?.test(text) === false) return `must match ${pattern}${not(text)}`
    return undefined
  }
  const isPlain = minLength <= 1 && expression === undefined
  const json: ReadJson = (value, context) => {
    if (typeof value !== 'string') return context.fault(`must be text, not ${context.describe(value)}`)
    // A question mark can stand for a letter that was lost.
    if (isPlain && value.length <= maxLength && isClean(value) && !value.includes('?')) return value
    const repaired = context.repair(value)
    const unstorable = context.findTextFault(repaired)
    if (unstorable !== undefined) return context.fault(unstorable)
    const text = normaliseText(repaired)
    if (text !== value || text === '') context.normalised = true
    if (text === '') return isNeverBlank && value !== '' ? context.fault('must not be blank') : undefined
    const fault = findFault(text, (text) => context.not(text))
    return fault === undefined ? text : context.fault(fault)
  }
  const text: ReadText = (value) => {
    if (isPlain && value.length <= maxLength && isClean(value)) return { value }
    const unstorable = findTextFault(value)
    if (unstorable !== undefined) return { fault: unstorable }
    // Codes are stored as NFC, but a macron may arrive as a letter and a combining mark.
    const normal = value.normalize('NFC')
    const fault = findFault(normal, (text) => `, not ${quote(text, 30)}`)
    return fault === undefined ? { value: normal } : { fault }
  }
  return { json, text }
}

interface OneOfSchema {
  readonly enum: readonly unknown[]
}

/** @throws {TypeError} unless all alternatives are texts */
function compileOneOf({ enum: given }: OneOfSchema): Reader {
  const allowed = given.filter((each) => typeof each === 'string')
  if (allowed.length < given.length || allowed.length === 0)
    throw new TypeError('no reader for alternatives that are not texts')
  const { json: readString } = compileString()
  return {
    json(value, context) {
      const text = readString(value, context)
      if (typeof text !== 'string' || allowed.includes(text)) return text
      return context.fault(`must be ${joinOr(allowed)}${context.not(text)}${suggest(text, allowed)}`)
    },
    text: (value) =>
      allowed.includes(value)
        ? { value }
        : { fault: `must be ${joinOr(allowed)}, not ${quote(value, 30)}${suggest(value, allowed)}` },
  }
}

function compileBoolean(): Reader {
  return {
    json: (value, context) =>
      typeof value === 'boolean'
        ? value
        : context.fault(`must be true or false, not ${context.describe(value)}`),
    text: (value) =>
      value === 'true' || value === 'false'
        ? { value: value === 'true' }
        : { fault: `must be true or false, not ${quote(value, 30)}` },
  }
}

interface NumberSchema {
  readonly minimum?: number
  readonly maximum?: number
  readonly format?: string
}

const MOST_INT32 = 2 ** 31 - 1

/** A whole number from 0, unless `minimum` says otherwise, that fits into 32 bits. */
function compileInteger({ minimum = 0, maximum = MOST_INT32, format = 'int32' }: NumberSchema): Reader {
  assertFormat(format, 'int32')
  const range = maximum === MOST_INT32 ? `from ${minimum}` : `from ${minimum} to ${maximum}`
  const isAllowed = (value: unknown) =>
    Number.isInteger(value) && (value as number) >= minimum && (value as number) <= maximum
  return {
    json: (value, context) =>
      isAllowed(value)
        ? value
        : context.fault(
            `must be a whole number from ${minimum} to ${maximum}, not ${context.describe(value)}`,
          ),
    text(value) {
      const number = /^-?\d{1,10}$/.test(value) ? Number(value) : Number.NaN
      return isAllowed(number)
        ? { value: number }
        : { fault: `must be a whole number ${range}, not ${quote(value, 30)}` }
    },
  }
}

function compileNumber({
  minimum = Number.NEGATIVE_INFINITY,
  maximum = Number.POSITIVE_INFINITY,
  format = 'double',
}: NumberSchema): Reader {
  assertFormat(format, 'double')
  return {
    json(value, context) {
      if (typeof value !== 'number' || !Number.isFinite(value))
        return context.fault(`must be a number, not ${context.describe(value)}`)
      if (value < minimum) return context.fault(`must be at least ${minimum}, not ${value}`)
      return value > maximum ? context.fault(`must be at most ${maximum}, not ${value}`) : value
    },
  }
}

/** @throws {TypeError} for a format that the reader does not check */
function assertFormat(format: string, known: string): void {
  if (format !== known) throw new TypeError(`no reader for the format ${format}`)
}

const DATE_TIME = 'must be an RFC 3339 date-time such as 2026-01-31T09:30:00Z'

function compileDateTime(): Reader {
  return {
    json(value, context) {
      if (typeof value !== 'string')
        return context.fault(`must be a date-time, not ${context.describe(value)}`)
      if (value.trim() === '') {
        context.normalised = true
        return undefined
      }
      const timestamp = parseTimestamp(value)
      if (timestamp === undefined) return context.fault(`${DATE_TIME}${context.not(value)}`)
      const text = formatTimestamp(timestamp.milliseconds)
      if (text.length !== '0000-00-00T00:00:00.000Z'.length)
        return context.fault(`must be in the years 0 to 9999 in UTC${context.not(value)}`)
      if (text !== value) context.normalised = true
      return text
    },
    text(value) {
      // The + of an offset that was not percent-encoded has been decoded as a space.
      const text = value.replace(/ (?=\d{2}:\d{2}$)/, '+')
      const whole = parseTimestamp(text) === undefined ? value : text
      return parseTimestamp(whole) === undefined
        ? { fault: `${DATE_TIME}, not ${quote(value, 40)}` }
        : { value: whole }
    },
  }
}
