import { CsvReader } from './csv-reader.ts'

/** Splits the text of one record into its values; `undefined` if its quotes are misplaced. */
export function splitRecord(text: string, separator: string): string[] | undefined {
  if (!text.includes('"')) return text.split(separator)
  let rest = Buffer.from(text)
  const read = (into: Buffer) => {
    const copied = rest.copy(into)
    rest = rest.subarray(copied)
    return copied
  }
  const size = { longest: rest.length, chunk: rest.length }
  const reader = new CsvReader(read, { separator, ...size })
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
