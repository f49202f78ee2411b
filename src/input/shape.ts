import type { TSchema } from 'typebox'
import { countCodePoints, isAtMost } from '../text/code-points.ts'
import { joinOr } from '../text/join-or.ts'
import { explainC1, repairMojibake } from '../text/mojibake.ts'
import { findControl, findTextFault, isClean, normaliseText } from '../text/normalise.ts'
import { quote } from '../text/quote.ts'
import { suggest } from '../text/suggest.ts'
import { formatTimestamp, parseTimestamp } from '../text/timestamp.ts'

/** A value in its stored form; `undefined` if it is empty. */
export interface Reading {
  readonly value: unknown
  readonly faults: readonly { readonly field: string; readonly message: string }[]
  /** Whether the stored value differs from the given one in more than its field order. */
  readonly normalised: boolean
  /** Whether text was repaired that had been decoded with the wrong character set. */
  readonly repaired: boolean
}

/** The pattern of single-line text, the only pattern that input schemas may use. */
export const SINGLE_LINE = '^[^\\t\\n\\r]*$'
const LINE_BREAK = /[\t\n\r\u2028\u2029]/

interface ShapeOptions {
  /** Values may be about people: faults, which are logged, then do not repeat them. */
  readonly personal?: boolean
  /** Repair UTF-8 that was decoded as Windows-1252 or Latin-1. */
  readonly repair?: boolean
}

/**
 * Creates a reader for a schema. It checks a value and renders it in the schema's field order, with normalised text
 * and without empty parts (`null`, `""`, `[]`, `{}`). It reports every fault with the path of its field.
 */
export function compileShape(schema: TSchema, options: ShapeOptions = {}): (value: unknown) => Reading {
  const read = compile(schema)
  return (value) => {
    const context = new Context(options)
    const stored = read(value, context)
    const { faults, normalised, repaired } = context
    return { value: stored, faults, normalised, repaired }
  }
}

type Read = (value: unknown, context: Context) => unknown

class Context {
  readonly faults: { field: string; message: string }[] = []
  readonly path: (string | number)[] = []
  normalised = false
  repaired = false
  readonly #personal: boolean
  readonly #repair: boolean

  constructor({ personal = false, repair = false }: ShapeOptions) {
    this.#personal = personal
    this.#repair = repair
  }

  repair(text: string): string {
    const repaired = this.#repair ? repairMojibake(text) : text
    if (repaired !== text) this.repaired = true
    return repaired
  }

  /** Why text cannot be stored; `undefined` if it can. */
  findTextFault(text: string): string | undefined {
    const fault = findTextFault(text)
    const control = fault === undefined || !text.isWellFormed() ? undefined : findControl(text)
    if (control === undefined) return fault
    const cause = control.character >= '\u0080' ? `: ${explainC1(control.character)}` : ''
    if (this.#personal) return `${fault}${cause}`
    const start = Math.max(0, control.index - 20)
    const surroundings = text.slice(start, control.index + 20).toWellFormed()
    return `${fault} in ${quote(`${start > 0 ? '…' : ''}${surroundings}`)}${cause}`
  }

  /** The end of a message that quotes the rejected text; empty for personal data, which is never repeated. */
  not(text: string): string {
    return this.#personal ? '' : `, not ${quote(text)}`
  }

  /** Describes a value of the wrong type for a message. */
  describe(value: unknown): string {
    if (value === null) return 'null'
    if (Array.isArray(value)) return 'a list'
    if (typeof value === 'object') return 'an object'
    if (this.#personal) return typeof value === 'string' ? 'a text' : `a ${typeof value}`
    return typeof value === 'string' ? `the text ${quote(value, 40)}` : `${value}`
  }

  fault(message: string): undefined {
    this.faults.push({ field: renderPath(this.path), message })
    return undefined
  }

  /** The path of a field of the current object. */
  nameField(name: string): string {
    return renderPath([...this.path, name])
  }
}

function renderPath(path: readonly (string | number)[]): string {
  return path.reduce<string>(
    (before, step) =>
      typeof step === 'number' ? `${before}[${step}]` : before === '' ? step : `${before}.${step}`,
    '',
  )
}

/** The parts of JSON Schema that the project's schemas use. */
interface Keywords {
  type?: string
  properties?: Record<string, TSchema>
  /** Whether further fields are accepted unchanged. */
  additionalProperties?: boolean
  items?: TSchema
  anyOf?: { const: string }[]
  enum?: readonly string[]
  required?: readonly string[]
  format?: string
  minimum?: number
  maximum?: number
  maxLength?: number
  pattern?: string
  maxItems?: number
}

function compile(schema: TSchema): Read {
  const keywords = schema as Keywords
  if (keywords.anyOf !== undefined) return readOneOf(keywords.anyOf.map((literal) => literal.const))
  if (keywords.properties !== undefined)
    return readObject(keywords.properties, keywords.required, keywords.additionalProperties === true)
  if (keywords.type === 'object') return readAnyObject
  if (keywords.items !== undefined) return readArray(keywords.items, keywords.maxItems)
  if (keywords.enum !== undefined) return readOneOf(keywords.enum)
  if (keywords.type === 'boolean') return readBoolean
  if (keywords.type === 'integer') return readInteger(keywords)
  if (keywords.type === 'number') return readNumber(keywords.minimum ?? Number.NEGATIVE_INFINITY)
  if (keywords.format === 'date-time') return readDateTime
  if (keywords.type === 'string') return readText(keywords)
  throw new TypeError(`no reader for the schema ${JSON.stringify(schema)}`)
}

function readObject(
  properties: Record<string, TSchema>,
  required: readonly string[] = [],
  isOpen = false,
): Read {
  const names = Object.keys(properties)
  const readers = new Map(Object.entries(properties).map(([name, schema]) => [name, compile(schema)]))
  return (value, context) => {
    if (typeof value !== 'object' || value === null || Array.isArray(value)) {
      return context.fault(`must be an object, not ${context.describe(value)}`)
    }
    const given = value as Record<string, unknown>
    for (const name of Object.keys(given)) {
      if (readers.has(name) || (isOpen && name !== '__proto__')) continue
      context.fault(`has the unknown field ${quote(name)}${suggest(name, names)}`)
    }
    const result: Record<string, unknown> = isOpen
      ? Object.fromEntries(
          Object.entries(given).filter(([name]) => !readers.has(name) && name !== '__proto__'),
        )
      : {}
    let empty = Object.keys(result).length === 0
    for (const [name, read] of readers) {
      if (!Object.hasOwn(given, name)) continue
      const before = given[name]
      if (before === null) {
        context.normalised = true
        continue
      }
      context.path.push(name)
      const after = read(before, context)
      context.path.pop()
      if (after === undefined) continue
      result[name] = after
      empty = false
    }
    for (const name of required) {
      if (Object.hasOwn(result, name) || isNamed(context, name)) continue
      context.path.push(name)
      context.fault('is missing')
      context.path.pop()
    }
    if (!empty) return result
    context.normalised = true
    return undefined
  }
}

function readArray(items: TSchema, maxItems = Number.POSITIVE_INFINITY): Read {
  const read = compile(items)
  return (value, context) => {
    if (!Array.isArray(value)) return context.fault(`must be a list, not ${context.describe(value)}`)
    const result: unknown[] = []
    for (const [index, item] of value.entries()) {
      if (item === null) {
        context.normalised = true
        continue
      }
      context.path.push(index)
      const after = read(item, context)
      context.path.pop()
      if (after !== undefined) result.push(after)
    }
    if (result.length > maxItems)
      return context.fault(`has ${result.length} items; at most ${maxItems} are allowed`)
    if (result.length > 0) return result
    context.normalised = true
    return undefined
  }
}

function readText({ maxLength = Number.POSITIVE_INFINITY, pattern }: Keywords = {}): Read {
  if (pattern !== undefined && pattern !== SINGLE_LINE) throw new TypeError(`no reader for ${pattern}`)
  return (value, context) => {
    if (typeof value !== 'string') return context.fault(`must be text, not ${context.describe(value)}`)
    if (value.length <= maxLength && isClean(value)) return value
    const repaired = context.repair(value)
    const fault = context.findTextFault(repaired)
    if (fault !== undefined) return context.fault(fault)
    const text = normaliseText(repaired)
    if (text !== value || text === '') context.normalised = true
    if (!isAtMost(text, maxLength)) {
      return context.fault(`is ${countCodePoints(text)} characters long; at most ${maxLength} are allowed`)
    }
    if (pattern !== undefined && LINE_BREAK.test(text)) {
      return context.fault(`must be one line without tabs${context.not(text)}`)
    }
    return text === '' ? undefined : text
  }
}

function readOneOf(allowed: readonly string[]): Read {
  const readString = readText()
  return (value, context) => {
    const text = readString(value, context)
    if (typeof text !== 'string' || allowed.includes(text)) return text
    return context.fault(`must be ${joinOr(allowed)}${context.not(text)}${suggest(text, allowed)}`)
  }
}

/** Whether a field of the current object already has a fault. */
function isNamed(context: Context, name: string): boolean {
  const field = context.nameField(name)
  return context.faults.some(
    (fault) =>
      fault.field === field || fault.field.startsWith(`${field}.`) || fault.field.startsWith(`${field}[`),
  )
}

/** An object whose fields are checked elsewhere. */
const readAnyObject: Read = (value, context) =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
    ? value
    : context.fault(`must be an object, not ${context.describe(value)}`)

const readBoolean: Read = (value, context) =>
  typeof value === 'boolean' ? value : context.fault(`must be true or false, not ${context.describe(value)}`)

function readInteger({ minimum = 0, maximum = 2 ** 31 - 1 }: Keywords): Read {
  return (value, context) =>
    Number.isInteger(value) && (value as number) >= minimum && (value as number) <= maximum
      ? value
      : context.fault(`must be a whole number from ${minimum} to ${maximum}, not ${context.describe(value)}`)
}

function readNumber(minimum: number): Read {
  return (value, context) => {
    if (typeof value !== 'number' || !Number.isFinite(value)) {
      return context.fault(`must be a number, not ${context.describe(value)}`)
    }
    return value < minimum ? context.fault(`must be at least ${minimum}, not ${value}`) : value
  }
}

const readDateTime: Read = (value, context) => {
  if (typeof value !== 'string') return context.fault(`must be a date-time, not ${context.describe(value)}`)
  if (value.trim() === '') {
    context.normalised = true
    return undefined
  }
  const timestamp = parseTimestamp(value)
  if (timestamp === undefined) {
    return context.fault(`must be an RFC 3339 date-time such as 2026-01-31T09:30:00Z${context.not(value)}`)
  }
  const text = formatTimestamp(timestamp.milliseconds)
  if (text.length !== '0000-00-00T00:00:00.000Z'.length)
    return context.fault(`must be in the years 0 to 9999 in UTC${context.not(value)}`)
  if (text !== value) context.normalised = true
  return text
}
