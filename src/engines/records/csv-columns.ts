import type { TSchema } from '../../foundation/schema/type.ts'
import { quote } from '../../foundation/text/quote.ts'
import { isTooDeep, TOO_DEEP } from './json-value.ts'

/** The path of a field: names, and list indexes from 0. */
export type FieldPath = readonly (string | number)[]

/** A column of a table. */
export interface CsvColumn {
  /** The field's path with dots, such as `renumeration.payLowerBound`. */
  readonly name: string
  readonly path: FieldPath
  /**
   * Converts a cell to a JSON value. An invalid number stays text, which the shape rejects.
   *
   * @throws {Error} saying what is allowed, for a list that is not JSON
   */
  readonly read: (cell: string) => unknown
  readonly write: (value: unknown) => string
}

/** The parts of a schema that determine the columns. */
interface Shape {
  readonly properties?: Record<string, TSchema>
  readonly items?: TSchema
  readonly type?: string
  readonly maxItems?: number
}

/** The most items of a list that have separate columns. */
const MOST_ITEMS = 1_000

/** The columns of a schema: fields of nested objects have separate columns, a list is JSON in one cell. */
export function listColumns(schema: TSchema, path: FieldPath = []): CsvColumn[] {
  const { properties, type } = schema as Shape
  if (properties !== undefined) {
    return Object.entries(properties).flatMap(([name, field]) => listColumns(field, [...path, name]))
  }
  if (type === 'array') return [{ name: path.join('.'), path, read: readJsonCell, write: JSON.stringify }]
  return [toColumn(schema, path)]
}

/**
 * The columns of a schema with a separate column for each list item, numbered from 1: `altJobTitlesEnglish.2`.
 *
 * @param countItems the most items at a path, with `*` for each index: `minorGroups.*.minorGroup.tasks`
 */
export function listFlatColumns(
  schema: TSchema,
  countItems: (place: string) => number,
  path: FieldPath = [],
): CsvColumn[] {
  const { properties, items } = schema as Shape
  if (properties !== undefined) {
    return Object.entries(properties).flatMap(([name, field]) =>
      listFlatColumns(field, countItems, [...path, name]),
    )
  }
  if (items === undefined) return [toColumn(schema, path)]
  const place = path.map((step) => (typeof step === 'number' ? '*' : step)).join('.')
  return Array.from({ length: countItems(place) }, (_, index) =>
    listFlatColumns(items, countItems, [...path, index]),
  ).flat()
}

/**
 * The column with a name that contains item numbers, such as `minorGroups.1.minorGroup.code`; `undefined` if there is
 * none.
 */
export function findFlatColumn(schema: TSchema, name: string): CsvColumn | undefined {
  const path: (string | number)[] = []
  let current: TSchema = schema
  for (const step of name.split('.')) {
    const { properties, items } = current as Shape
    const number = /^[1-9]\d{0,3}$/.test(step) ? Number(step) : 0
    const next =
      properties === undefined ? undefined : Object.entries(properties).find(([key]) => key === step)
    if (next !== undefined) {
      path.push(step)
      current = next[1]
    } else if (items !== undefined && number >= 1 && number <= MOST_ITEMS) {
      path.push(number - 1)
      current = items
    } else return undefined
  }
  const { properties, items } = current as Shape
  return properties !== undefined || items !== undefined ? undefined : toColumn(current, path)
}

function toColumn(schema: TSchema, path: FieldPath): CsvColumn {
  const { type } = schema as Shape
  const read = type === 'number' || type === 'integer' ? readNumberCell : String
  const name = path.map((step) => (typeof step === 'number' ? step + 1 : step)).join('.')
  return { name, path, read, write: String }
}

/** The value at a column's path, or `undefined`. */
export function pick(record: unknown, path: FieldPath): unknown {
  return path.reduce<unknown>((value, step) => (value as Record<string, unknown> | undefined)?.[step], record)
}

/** The cells of a record, empty where it has no value. */
export function listCells(columns: readonly CsvColumn[], record: unknown): string[] {
  return columns.map(({ path, write }) => {
    const value = pick(record, path)
    return value === undefined ? '' : write(value)
  })
}

/** Sets the value at a column's path, and creates the objects and lists on the way. */
export function put(record: Record<string, unknown>, path: FieldPath, value: unknown): void {
  let target: Record<string | number, unknown> = record
  for (const [index, step] of path.slice(0, -1).entries()) {
    target[step] ??= typeof path[index + 1] === 'number' ? [] : {}
    target = target[step] as Record<string | number, unknown>
  }
  target[path.at(-1) ?? ''] = value
}

/** Removes the gaps that empty cells leave in lists. */
export function closeGaps(value: unknown): unknown {
  if (Array.isArray(value)) return value.filter((item) => item !== undefined).map(closeGaps)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([name, field]) => [name, closeGaps(field)]))
}

function readNumberCell(cell: string): unknown {
  return /^-?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?$/.test(cell) ? Number(cell) : cell
}

function readJsonCell(cell: string): unknown {
  try {
    if (!isTooDeep(cell)) return JSON.parse(cell)
  } catch {
    throw new Error(`must be a JSON list such as ["one","two"], not ${quote(cell, 40)}`)
  }
  throw new Error(TOO_DEEP)
}
