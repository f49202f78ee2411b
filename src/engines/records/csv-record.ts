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

function renderCell(value: string, separator: string): string {
  // A byte order mark would belong to the file.
  const isQuoted = /["\r\n\ufeff]/.test(value) || value.includes(separator)
  return isQuoted ? `"${value.replaceAll('"', '""')}"` : value
}
