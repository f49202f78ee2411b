import { isUtf8 } from 'node:buffer'
import { Readable } from 'node:stream'
import { CsvError, parse } from 'csv-parse'
import { quote, suggest } from '../text.ts'
import type { CsvColumn } from './csv-columns.ts'
import { type Fault, InputRefused, refuse } from './faults.ts'
import { MAX_RECORD_BYTES } from './read-bytes.ts'
import type { SourceRecord } from './source-record.ts'

/**
 * The records of a CSV text (RFC 4180) whose first line names its columns. An empty cell is an absent field.
 *
 * @param columns the columns that there may be
 * @throws {InputRefused} at the first line that is not as it should be
 */
export async function* readCsv(
  file: string,
  chunks: AsyncIterable<Buffer>,
  columns: readonly CsvColumn[],
): AsyncGenerator<SourceRecord> {
  const parser = Readable.from(checkUtf8(file, chunks)).compose(
    parse({
      info: true,
      max_record_size: MAX_RECORD_BYTES,
      relax_column_count: true,
      skip_empty_lines: true,
    }),
  )
  let header: CsvColumn[] | undefined
  let line = 1
  try {
    for await (const { record, info } of parser as AsyncIterable<{
      record: string[]
      info: { lines: number }
    }>) {
      if (header === undefined) header = readHeader(file, record, columns)
      else yield { file, line, value: readRow({ file, line }, record, header) }
      line = info.lines + 1
    }
  } catch (error) {
    if (error instanceof CsvError) refuse({ file, line, message: explainCsv(error) })
    throw error
  }
}

function readHeader(file: string, names: readonly string[], columns: readonly CsvColumn[]): CsvColumn[] {
  const known = columns.map(({ name }) => name)
  const faults: Fault[] = names.flatMap((name, index) => {
    if (names.indexOf(name) < index)
      return [{ file, line: 1, message: `names the column ${quote(name)} twice` }]
    if (known.includes(name)) return []
    return [{ file, line: 1, message: `names the unknown column ${quote(name)}${suggest(name, known)}` }]
  })
  if (faults.length > 0) throw new InputRefused(faults.slice(0, 20))
  return names.flatMap((name) => columns.filter((column) => column.name === name))
}

function readRow(
  place: { file: string; line: number },
  cells: readonly string[],
  header: readonly CsvColumn[],
) {
  if (cells.length !== header.length) {
    refuse({
      ...place,
      message: `has ${cells.length} cells, and the first line names ${header.length} columns`,
    })
  }
  const record: Record<string, unknown> = {}
  for (const [index, { path, read }] of header.entries()) {
    const cell = cells[index]
    if (cell === undefined || cell === '') continue
    let target = record
    for (const step of path.slice(0, -1)) {
      target[step] ??= {}
      target = target[step] as Record<string, unknown>
    }
    target[path.at(-1) as string] = read(cell)
  }
  return record
}

/** Passes the text on whole lines at a time, so that a fault has its line. */
async function* checkUtf8(file: string, chunks: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  let line = 1
  let rest: Buffer = Buffer.alloc(0)
  const check = (text: Buffer): Buffer => {
    if (isUtf8(text)) {
      for (let at = text.indexOf(0x0a); at !== -1; at = text.indexOf(0x0a, at + 1)) line++
      return text
    }
    let start = 0
    for (let end = text.indexOf(0x0a); end !== -1; end = text.indexOf(0x0a, start)) {
      if (!isUtf8(text.subarray(start, end))) break
      line++
      start = end + 1
    }
    return refuse({ file, line, message: 'is not UTF-8: save the file as UTF-8' })
  }
  for await (const chunk of chunks) {
    const end = chunk.lastIndexOf(0x0a) + 1
    if (rest.length + chunk.length > 2 * MAX_RECORD_BYTES && end === 0) {
      refuse({ file, line, message: `is longer than ${MAX_RECORD_BYTES} bytes: a quote may not be closed` })
    }
    if (end > 0) yield check(Buffer.concat([rest, chunk.subarray(0, end)]))
    rest = end > 0 ? Buffer.from(chunk.subarray(end)) : Buffer.concat([rest, chunk])
  }
  if (rest.length > 0) yield check(rest)
}

function explainCsv(error: CsvError): string {
  switch (error.code) {
    case 'CSV_MAX_RECORD_SIZE':
      return `begins a record that is longer than ${MAX_RECORD_BYTES} bytes: a quote may not be closed`
    case 'CSV_QUOTE_NOT_CLOSED':
      return 'begins a quote that is not closed before the file ends'
    case 'CSV_INVALID_CLOSING_QUOTE':
    case 'INVALID_OPENING_QUOTE':
      return 'has a quote in the middle of a cell: quote the whole cell, and double the quotes within'
    default:
      return `is not CSV (${error.code})`
  }
}
