import { isUtf8 } from 'node:buffer'
import { Readable } from 'node:stream'
import { CsvError, parse } from 'csv-parse'
import { quote } from '../text/quote.ts'
import type { Fault } from '../text/user-error.ts'
import { refuse } from './faults.ts'
import { MAX_RECORD_BYTES } from './read-bytes.ts'
import type { SourceRecord } from './source-record.ts'
import { type HeaderColumn, readHeader, readRow, type TableOptions } from './table.ts'

/**
 * Yields the records of a CSV text (RFC 4180) with a header row, and the faults of its rows. An empty cell is an
 * absent field.
 *
 * @param options the possible columns, and how to read them
 * @throws {InputRefused} if the rest of the file cannot be read either
 */
export async function* readCsv(
  file: string,
  chunks: AsyncIterable<Buffer>,
  options: TableOptions,
): AsyncGenerator<SourceRecord | Fault> {
  const parser = Readable.from(checkUtf8(file, chunks)).compose(
    parse({
      info: true,
      max_record_size: MAX_RECORD_BYTES,
      // Both, because the parser would otherwise expect the end of the first line at every line.
      record_delimiter: ['\r\n', '\n'],
      relax_column_count: true,
      skip_empty_lines: true,
      delimiter: options.mapping?.separator ?? (/\.tsv(?:\.gz)?$/i.test(file) ? '\t' : ','),
      quote: options.mapping?.unquoted === true ? null : '"',
    }),
  )
  let header: HeaderColumn[] | undefined
  // The parser's own count omits empty lines and those within quotes.
  let linesRead = 0
  try {
    for await (const { record, info } of parser as AsyncIterable<Row>) {
      const place = { file, line: linesRead + info.empty_lines + 1 }
      if (header === undefined) {
        checkFirstLine(place, record)
        header = readHeader(place, record, options)
      } else yield* readRow(place, record, header, options.mapping)
      linesRead += 1 + countNewlines(record)
    }
  } catch (error) {
    if (!(error instanceof CsvError)) throw error
    refuse({ file, line: linesRead + Number(error.empty_lines ?? 0) + 1, message: explainCsv(error) })
  }
  if (header === undefined)
    refuse({ file, message: 'The file is empty. The first line of a CSV file must name its columns' })
}

interface Row {
  readonly record: string[]
  readonly info: { readonly empty_lines: number }
}

/** Rejects files that are not CSV by their first line. */
function checkFirstLine(place: { file: string; line: number }, names: readonly string[]): void {
  const separator = names.length === 1 ? /[;\t|]/.exec(names[0] ?? '')?.[0] : undefined
  if (separator !== undefined) {
    refuse({ ...place, message: `Columns are separated by ${quote(separator)}. Use ","` })
  }
  if (names.some((name) => name.includes('\r'))) {
    refuse({ ...place, message: 'Lines end with a bare carriage return. Use LF or CRLF' })
  }
}

function countNewlines(cells: readonly string[]): number {
  let count = 0
  for (const cell of cells) {
    for (let at = cell.indexOf('\n'); at !== -1; at = cell.indexOf('\n', at + 1)) count++
  }
  return count
}

/** Passes on whole lines, so that a fault has a line number. */
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
    return refuse({ file, line, message: 'is not UTF-8. Save the file as UTF-8' })
  }
  for await (const chunk of chunks) {
    const end = chunk.lastIndexOf(0x0a) + 1
    if (rest.length + chunk.length > 2 * MAX_RECORD_BYTES && end === 0) {
      refuse({
        file,
        line,
        message: `is longer than ${MAX_RECORD_BYTES} bytes. A closing quote may be missing`,
      })
    }
    if (end > 0) yield check(Buffer.concat([rest, chunk.subarray(0, end)]))
    rest = end > 0 ? Buffer.from(chunk.subarray(end)) : Buffer.concat([rest, chunk])
  }
  if (rest.length > 0) yield check(rest)
}

function explainCsv(error: CsvError): string {
  switch (error.code) {
    case 'CSV_MAX_RECORD_SIZE':
      return `begins a record that is longer than ${MAX_RECORD_BYTES} bytes. A closing quote may be missing`
    case 'CSV_QUOTE_NOT_CLOSED':
      return 'begins a record with a quote that is not closed before the file ends'
    case 'CSV_INVALID_CLOSING_QUOTE':
    case 'INVALID_OPENING_QUOTE':
      return 'has a quote in the middle of a cell: quote the whole cell, and double the quotes within'
    default:
      return `is not CSV (${error.code})`
  }
}
