import type { TSchema } from 'typebox'
import { quote } from '../text/quote.ts'

/** A column of a CSV file. */
export interface CsvColumn {
  /** The field's path with dots, such as `renumeration.payLowerBound`. */
  readonly name: string
  readonly path: readonly string[]
  /**
   * A cell's value, as JSON would have it; a number that is none stays text, for the shape to refuse.
   *
   * @throws {Error} whose message says what would be right, for a list that is not JSON
   */
  readonly read: (cell: string) => unknown
  readonly write: (value: unknown) => string
}

/** The columns of a schema: a field of an object within has a column of its own, a list is JSON in one cell. */
export function listColumns(schema: TSchema, path: readonly string[] = []): CsvColumn[] {
  const { properties, type } = schema as { properties?: Record<string, TSchema>; type?: string }
  if (properties !== undefined) {
    return Object.entries(properties).flatMap(([name, field]) => listColumns(field, [...path, name]))
  }
  const [read, write] =
    type === 'array'
      ? [readJsonCell, JSON.stringify]
      : type === 'number' || type === 'integer'
        ? [readNumberCell, String]
        : [String, String]
  return [{ name: path.join('.'), path, read, write }]
}

/** The value at a column's path, or `undefined`. */
export function pick(record: unknown, path: readonly string[]): unknown {
  return path.reduce<unknown>((value, step) => (value as Record<string, unknown> | undefined)?.[step], record)
}

function readNumberCell(cell: string): unknown {
  return /^-?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?$/.test(cell) ? Number(cell) : cell
}

function readJsonCell(cell: string): unknown {
  try {
    return JSON.parse(cell)
  } catch {
    throw new Error(`is ${quote(cell, 40)}, and should be a list as JSON, such as ["one","two"]`)
  }
}
