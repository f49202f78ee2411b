import { isUtf8 } from 'node:buffer'
import { Readable } from 'node:stream'
import { CsvError, parse } from 'csv-parse'
import { isExact } from '../text/exact-number.ts'
import { quote } from '../text/quote.ts'
import { suggest } from '../text/suggest.ts'
import type { Fault } from '../text/user-error.ts'
import type { CsvColumn } from './csv-columns.ts'
import { InputRefused, MAX_FAULTS, refuse } from './faults.ts'
import { MAX_RECORD_BYTES } from './read-bytes.ts'
import type { SourceRecord } from './source-record.ts'

/**
 * The records of a CSV text (RFC 4180) whose first line names its columns, or what is wrong with a row. An empty
 * cell is an absent field.
 *
 * @param columns the columns that there may be
 * @throws {InputRefused} where the rest of the file can't be read either
 */
export async function* readCsv(
  file: string,
  chunks: AsyncIterable<Buffer>,
  columns: readonly CsvColumn[],
): AsyncGenerator<SourceRecord | Fault> {
  const parser = Readable.from(checkUtf8(file, chunks)).compose(
    parse({
      info: true,
      max_record_size: MAX_RECORD_BYTES,
      // Both, wherever they stand: the parser would take the end of the first line for that of every line.
      record_delimiter: ['\r\n', '\n'],
      relax_column_count: true,
      skip_empty_lines: true,
    }),
  )
  let header: CsvColumn[] | undefined
  // The parser's own count leaves out empty lines and those within quotes.
  let linesRead = 0
  try {
    for await (const { record, info } of parser as AsyncIterable<Row>) {
      const place = { file, line: linesRead + info.empty_lines + 1 }
      if (header === undefined) header = readHeader(place, record, columns)
      else yield* readRow(place, record, header)
      linesRead += 1 + countNewlines(record)
    }
  } catch (error) {
    if (!(error instanceof CsvError)) throw error
    refuse({ file, line: linesRead + Number(error.empty_lines ?? 0) + 1, message: explainCsv(error) })
  }
  if (header === undefined)
    refuse({ file, message: 'is empty: the first line of a CSV file must name its columns' })
}

interface Row {
  readonly record: string[]
  readonly info: { readonly empty_lines: number }
}

interface Place {
  readonly file: string
  readonly line: number
}

function readHeader(place: Place, names: readonly string[], columns: readonly CsvColumn[]): CsvColumn[] {
  const separator = names.length === 1 ? /[;\t|]/.exec(names[0] ?? '')?.[0] : undefined
  if (separator !== undefined) {
    refuse({ ...place, message: `separates its columns with ${quote(separator)}, and should with ","` })
  }
  if (names.some((name) => name.includes('\r'))) {
    refuse({ ...place, message: 'ends with a carriage return alone: end lines with LF or CRLF' })
  }
  const known = new Map(columns.map((column) => [column.name, column]))
  const knownNames = [...known.keys()]
  if (!names.some((name) => known.has(name) || suggest(name, knownNames) !== '')) {
    // It may be a row of data, and messages end in logs: nothing of it is repeated.
    refuse({ ...place, message: `names no column that there is, such as ${knownNames[0]}` })
  }
  const header = new Set<CsvColumn>()
  const faults: Fault[] = []
  const seen = new Set<string>()
  for (const name of names) {
    const column = known.get(name)
    if (seen.has(name)) faults.push({ ...place, message: `names the column ${quote(name)} twice` })
    else if (column === undefined) {
      const advice = suggest(name, knownNames)
      faults.push({ ...place, message: `names the unknown column ${quote(name)}${advice}` })
    } else header.add(column)
    if (faults.length > MAX_FAULTS) break
    seen.add(name)
  }
  if (faults.length > 0) throw new InputRefused(faults)
  return [...header]
}

function* readRow(
  place: Place,
  cells: readonly string[],
  header: readonly CsvColumn[],
): Generator<SourceRecord | Fault> {
  if (cells.length !== header.length) {
    yield {
      ...place,
      message: `has ${cells.length} cells, and the first line names ${header.length} columns`,
    }
    return
  }
  const value: Record<string, unknown> = {}
  const faults: Fault[] = []
  let inexact = false
  for (const [index, { name, path, read }] of header.entries()) {
    const cell = cells[index]
    if (cell === undefined || cell === '') continue
    try {
      const field = read(cell)
      if (typeof field === 'number' && !isExact(cell, field)) inexact = true
      put(value, path, field)
    } catch (error) {
      faults.push({ ...place, field: name, message: (error as Error).message })
    }
  }
  // With its value, so that what else is wrong with the row is found at the same time.
  yield { ...place, value, ...(inexact && { inexact }), ...(faults.length > 0 && { faults }) }
}

function put(record: Record<string, unknown>, path: readonly string[], value: unknown): void {
  let target = record
  for (const step of path.slice(0, -1)) {
    target[step] ??= {}
    target = target[step] as Record<string, unknown>
  }
  target[path.at(-1) as string] = value
}

function countNewlines(cells: readonly string[]): number {
  let count = 0
  for (const cell of cells) {
    for (let at = cell.indexOf('\n'); at !== -1; at = cell.indexOf('\n', at + 1)) count++
  }
  return count
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
      return 'begins a record with a quote that is not closed before the file ends'
    case 'CSV_INVALID_CLOSING_QUOTE':
    case 'INVALID_OPENING_QUOTE':
      return 'has a quote in the middle of a cell: quote the whole cell, and double the quotes within'
    default:
      return `is not CSV (${error.code})`
  }
}
