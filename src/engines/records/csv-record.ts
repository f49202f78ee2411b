import { CsvReader } from './csv-reader.ts'
import { sourceOf } from './pieces.ts'

/** Splits the text of one record into its values; `undefined` if its quotes are misplaced. */
export function splitRecord(text: string, separator: string): string[] | undefined {
  if (!text.includes('"')) return text.split(separator)
  const bytes = Buffer.from(text)
  const size = { longest: bytes.length, chunk: bytes.length }
  const reader = new CsvReader(sourceOf(bytes), { separator, ...size })
  if (!reader.next() || reader.fault !== undefined) return undefined
  const cells = reader.cells.slice(0, reader.count)
  return reader.next() ? undefined : cells
}

/** Renders values as a record without its line end. */
export function renderRecord(values: readonly string[], separator = ','): string {
  // An empty line is no record.
  if (values.length === 1 && values[0] === '') return '""'
  return values.map((value) => renderCell(value, separator)).join(separator)
}

/** Renders rows as CSV that says exactly what they hold, for programs. */
export function renderRows(rows: Iterable<readonly string[]>): string {
  let text = ''
  for (const row of rows) text += `${renderRecord(row)}\n`
  return text
}

/**
 * What a spreadsheet runs as a formula (OWASP, "CSV Injection"); a plain number below zero is none. Text with
 * apostrophes before it is too, because the first of them is taken away again.
 */
const FORMULA = /^'*(?!-\d+(?:\.\d+)?$)[=+\-@\t\r＝＋－＠]/

/** Renders rows as CSV for spreadsheets: an apostrophe before what would be a formula makes it text. */
export function renderForSpreadsheets(rows: Iterable<readonly (string | number)[]>): string {
  const guard = (cell: string | number) => (FORMULA.test(`${cell}`) ? `'${cell}` : `${cell}`)
  return renderRows(Iterator.from(rows).map((row) => row.map(guard)))
}

/** The value of a cell that was rendered for spreadsheets. */
export function readFromSpreadsheet(cell: string): string {
  return cell.startsWith("'") && FORMULA.test(cell) ? cell.slice(1) : cell
}

function renderCell(value: string, separator: string): string {
  // A byte order mark would belong to the file.
  const isQuoted = /["\r\n\ufeff]/.test(value) || value.includes(separator)
  return isQuoted ? `"${value.replaceAll('"', '""')}"` : value
}
