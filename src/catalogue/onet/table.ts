import { createReadStream } from 'node:fs'
import { type CellFormat, readCells } from '../../engines/records/index.ts'
import { InputRefused, refuse } from '../../foundation/faults/faults.ts'
import { quote } from '../../foundation/text/quote.ts'

export interface Row<Column extends string> {
  readonly line: number
  /** Trimmed. */
  readonly cells: Readonly<Record<Column, string>>
}

/**
 * Reads a table of an O*NET text release: a header, tabs, no quoting. Unlike in CSV, a double quote is ordinary text.
 *
 * @throws {InputRefused} for a file that cannot be read, a missing column or a row of another width
 */
export async function* readTable<const Column extends string>(
  file: string,
  columns: readonly Column[],
): AsyncGenerator<Row<Column>> {
  let toRow: ((cells: readonly string[], line: number) => Row<Column>) | undefined
  for await (const { cells, line } of readTableRows(file, { separator: '\t', unquoted: true })) {
    if (toRow === undefined) toRow = locateColumns(file, cells, columns)
    else yield toRow(cells, line)
  }
  if (toRow === undefined)
    refuse({ file, message: `The file is empty. The header row must start with ${list(columns)}` })
}

/**
 * Reads the cells of each row.
 *
 * @throws {InputRefused} for a file or a row that cannot be read
 */
export async function* readTableRows(file: string, format: CellFormat): ReturnType<typeof readCells> {
  try {
    yield* readCells(file, createReadStream(file), format)
  } catch (error) {
    refuseUnreadable(file, error)
  }
}

/**
 * Finds the columns in a table's header by name.
 *
 * @returns a function that converts the cells of a line to a row
 * @throws {InputRefused} listing the missing columns and those found; the returned function throws it for another
 *   width
 */
export function locateColumns<Column extends string>(
  file: string,
  header: readonly string[],
  columns: readonly Column[],
): (cells: readonly string[], line: number) => Row<Column> {
  const found = header.map((name) => name.trim())
  const missing = columns.filter((column) => !found.includes(column))
  if (missing.length > 0) {
    const missed = `${missing.length > 1 ? 'columns' : 'column'} ${list(missing)}`
    refuse({ file, line: 1, message: `has no ${missed}; its header has ${list(found)}` })
  }
  const places = columns.map((column) => [column, found.indexOf(column)] as const)
  return (cells, line) => {
    if (cells.length !== found.length) {
      const message = `has ${count(cells.length, 'cell')}, but the header row has ${found.length}`
      refuse({ file, line, message })
    }
    const entries = places.map(([column, place]) => [column, cells[place]?.trim() ?? ''])
    return { line, cells: Object.fromEntries(entries) as Record<Column, string> }
  }
}

/** Rejects a file that could not be opened or read, with a message for the user; rethrows other refusals. */
function refuseUnreadable(file: string, error: unknown): never {
  if (error instanceof InputRefused) throw error
  const code = error instanceof Error && 'code' in error ? error.code : undefined
  if (code === 'ENOENT') refuse({ file, message: 'The file does not exist' })
  if (code === 'EISDIR') refuse({ file, message: 'is a folder. Give a file' })
  if (code === 'EACCES') refuse({ file, message: 'This user may not read it' })
  throw error
}

function list(names: readonly string[]): string {
  return names.map((name) => quote(name)).join(', ')
}

function count(number: number, noun: string): string {
  return `${number} ${noun}${number === 1 ? '' : 's'}`
}
