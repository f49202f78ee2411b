import type { CsvColumn } from './csv-columns.ts'
import { readBytes } from './read-bytes.ts'
import { readCsv } from './read-csv.ts'
import { readJson } from './read-json.ts'
import { readNdjson } from './read-ndjson.ts'
import type { SourceRecord } from './source-record.ts'

export interface ReadOptions {
  /** The columns that a CSV file may have. */
  readonly columns: readonly CsvColumn[]
  /** Called with the number of bytes read from the files, as they are read. */
  readonly onBytes?: (count: number) => void
}

/**
 * The records of files in JSON, NDJSON or CSV, each also as gzip; `-` is standard input. The ending of a name tells
 * the format (`.json`, `.ndjson`, `.jsonl`, `.csv`, with or without `.gz`); without one, the first character does.
 *
 * @throws {InputRefused} at the first place that can't be read
 */
export async function* readRecords(
  files: readonly string[],
  options: ReadOptions,
): AsyncGenerator<SourceRecord> {
  for (const file of files) {
    const chunks = readBytes(file, options.onBytes)
    const { value: first } = await chunks.next()
    if (first === undefined) continue
    const format = formatOfName(file) ?? formatOfStart(first)
    yield* read(format, file, prepend(first, chunks), options)
  }
}

type Format = 'json' | 'ndjson' | 'csv'

function read(format: Format, file: string, chunks: AsyncIterable<Buffer>, { columns }: ReadOptions) {
  switch (format) {
    case 'json':
      return readJson(file, chunks)
    case 'ndjson':
      return readNdjson(file, chunks)
    case 'csv':
      return readCsv(file, chunks, columns)
  }
}

function formatOfName(file: string): Format | undefined {
  const ending = /\.(json|ndjson|jsonl|csv)(?:\.gz)?$/i.exec(file)?.[1]?.toLowerCase()
  return ending === 'jsonl' ? 'ndjson' : (ending as Format | undefined)
}

function formatOfStart(bytes: Buffer): Format {
  const start = bytes.toString('utf8', 0, 1024).trimStart()[0]
  return start === '[' ? 'json' : start === '{' ? 'ndjson' : 'csv'
}

async function* prepend(first: Buffer, rest: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  yield first
  yield* rest
}
