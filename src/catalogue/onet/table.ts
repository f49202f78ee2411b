import { type CellFormat, readCells } from '../../engines/records/index.ts'
import { refuse } from '../../foundation/faults/faults.ts'
import { count } from '../../foundation/text/format-number.ts'
import { quote } from '../../foundation/text/quote.ts'

export interface Row<Column extends string> {
  readonly line: number
  /** Trimmed. */
  readonly cells: Readonly<Record<Column, string>>
}

/** O*NET text releases: tabs, no quoting. Unlike in CSV, a double quote is ordinary text. */
const ONET_FORMAT: CellFormat = { separator: '\t', unquoted: true }

/**
 * Reads a table with a header, by default one of an O*NET text release.
 *
 * @throws {InputRefused} for a file that cannot be read, a missing column or a row of another width
 */
export async function* readTable<const Column extends string>(
  file: string,
  columns: readonly Column[],
  format = ONET_FORMAT,
): AsyncGenerator<Row<Column>> {
  let toRow: ((cells: readonly string[], line: number) => Row<Column>) | undefined
  for await (const { cells, line } of readCells(file, format)) {
    if (toRow === undefined) toRow = locateColumns(file, cells, columns)
    else yield toRow(cells, line)
  }
  if (toRow === undefined)
    refuse({ file, message: `The file is empty. The header row must start with ${list(columns)}` })
}

/**
 * Finds the columns in a table's header by name.
 *
 * @returns a function that converts the cells of a line to a row
 * @throws {InputRefused} listing the missing columns and those found; the returned function throws it for another
 *   width
 */
function locateColumns<Column extends string>(
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

function list(names: readonly string[]): string {
  return names.map((name) => quote(name)).join(', ')
}
