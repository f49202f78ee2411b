import { parseExactJson } from '../../foundation/text/exact-json.ts'

/**
 * The deepest nesting of lists and objects in JSON that is read. Much deeper values cannot be written again:
 * `JSON.stringify` needs a part of the stack for each level.
 */
export const MAX_DEPTH = 100

export const TOO_DEEP = `is nested more than ${MAX_DEPTH} levels deep`

/** A record as JSON: without a prototype, so that it has only the fields of its file, whatever their names. */
export type JsonRecord = Readonly<Record<string, unknown>>

/** An object, or why the text is not one, as the end of a sentence. */
export type Parsed<Value> =
  | { readonly record: Value; readonly fault?: undefined }
  | { readonly record?: undefined; readonly fault: string }

/** Why a text is no JSON, without what is around the place. */
export function reasonOf({ message }: SyntaxError): string {
  return message.replace(/ in JSON at position.*| \(line .*|, \.{3}.*|, ".*/s, '')
}

const NOT_JSON = { fault: 'is not valid JSON' }
const NO_OBJECT = { fault: 'is not a JSON object' }
const DEEP = { fault: TOO_DEEP }

/**
 * Parses a record of which no field is looked up by its name: this takes a tenth less time than `parseRecord`, because
 * the object keeps its prototype.
 */
export function parseObject(text: string): Parsed<object> {
  let value: unknown
  try {
    if (isTooDeep(text)) return DEEP
    value = parseExactJson(text)
  } catch {
    return NOT_JSON
  }
  return isObject(value) ? { record: value } : NO_OBJECT
}

/** Whether a value of JSON is an object, and no list. */
export function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return isContainer(value) && !Array.isArray(value)
}

/** Parses a record. A number that JavaScript would change is its text. */
export function parseRecord(text: string): Parsed<JsonRecord> {
  const { record, fault } = parseObject(text)
  return record === undefined ? { fault } : { record: toRecord(record) }
}

/** Takes the prototype from an object, which then has only its own fields. */
export function toRecord(value: object): JsonRecord {
  return Object.setPrototypeOf(value, null)
}

/**
 * Whether a JSON text is nested too deeply for functions that call themselves.
 *
 * @throws {SyntaxError} sometimes, if it is not JSON
 */
export function isTooDeep(text: string): boolean {
  return hasManyBrackets(text) && isDeeper(JSON.parse(text))
}

function hasManyBrackets(text: string): boolean {
  let left = MAX_DEPTH
  for (const bracket of ['{', '[']) {
    for (let at = text.indexOf(bracket); at !== -1; at = text.indexOf(bracket, at + 1))
      if (left-- === 0) return true
  }
  return false
}

/** Level by level, without calling itself. */
function isDeeper(value: unknown): boolean {
  let level: unknown[] = [value]
  for (let depth = 0; depth < MAX_DEPTH; depth++) {
    level = level.flatMap((each) => (isContainer(each) ? Object.values(each) : []))
    if (level.length === 0) return false
  }
  return level.some(isContainer)
}

function isContainer(value: unknown): value is object {
  return typeof value === 'object' && value !== null
}

/** Converts a JSON value to the text that a CSV file would contain. */
export function toCell(value: unknown, delimiter: string): string {
  if (typeof value === 'string') return value
  if (value === null || value === undefined) return ''
  if (Array.isArray(value)) return value.map((item) => toCell(item, delimiter)).join(delimiter)
  return typeof value === 'object' ? JSON.stringify(value) : String(value)
}
