import { InputRefused } from '../../foundation/faults/faults.ts'
import type { Fault } from '../../foundation/faults/user-error.ts'
import { MAX_RECORD_BYTES, prepend, readBytes, STANDARD_INPUT } from './read-bytes.ts'
import { readCsv } from './read-csv.ts'
import { readJson } from './read-json.ts'
import { readNdjson } from './read-ndjson.ts'
import { type ReadOptions, readXlsx } from './read-xlsx.ts'
import type { SourceRecord } from './source-record.ts'

/**
 * Yields the records of JSON, NDJSON and CSV files, which may be compressed with gzip, and of spreadsheets (`.xlsx`);
 * `-` is standard input. The extension determines the format (`.json`, `.ndjson`, `.jsonl`, `.csv`, `.tsv`, with or
 * without `.gz`). Without one, the first character does, and an empty text is NDJSON. Unreadable parts are yielded as
 * faults, and the other lines and files are still read.
 */
export async function* readRecords(
  files: readonly string[],
  options: ReadOptions,
): AsyncGenerator<SourceRecord | Fault> {
  for (const [index, file] of files.entries()) {
    if (file === STANDARD_INPUT && files.indexOf(file) < index) {
      yield { file, message: 'is given twice, but standard input can be read only once' }
      continue
    }
    try {
      yield* readFile(file, options)
    } catch (error) {
      if (!(error instanceof InputRefused)) throw error
      yield* error.faults
    }
  }
}

type Format = 'json' | 'ndjson' | 'csv'

async function* readFile(file: string, options: ReadOptions): AsyncGenerator<SourceRecord | Fault> {
  if (/\.xlsx$/i.test(file)) return yield* readXlsx(file, options)
  const source = readBytes(file, options)
  // A mapping implies a table, whatever the file's name.
  const ending = formatOfName(file) ?? (options.mapping === undefined ? undefined : 'csv')
  const start = ending === undefined ? await readStart(source) : Buffer.alloc(0)
  const chunks = start.length === 0 ? source : prepend(start, source)
  switch (ending ?? formatOfStart(start)) {
    case 'json':
      return yield* readJson(file, chunks)
    case 'ndjson':
      return yield* readNdjson(file, chunks)
    case 'csv':
      return yield* readCsv(file, chunks, options)
  }
}

function formatOfName(file: string): Format | undefined {
  const ending = /\.(json|ndjson|jsonl|csv|tsv)(?:\.gz)?$/i.exec(file)?.[1]?.toLowerCase()
  if (ending === 'tsv') return 'csv'
  return ending === 'jsonl' ? 'ndjson' : (ending as Format | undefined)
}

/** Reads up to the first chunk that contains more than white space. */
async function readStart(source: AsyncGenerator<Buffer, void>): Promise<Buffer> {
  const start: Buffer[] = []
  let length = 0
  while (length <= MAX_RECORD_BYTES) {
    const { value: chunk, done } = await source.next()
    if (done) break
    start.push(chunk)
    length += chunk.length
    if (chunk.some((byte) => byte > 0x20)) break
  }
  return Buffer.concat(start)
}

function formatOfStart(start: Buffer): Format {
  const first = start.find((byte) => byte > 0x20)
  // A pipeline without results sends nothing, or blank lines, however many: NDJSON without records.
  if (first === undefined) return 'ndjson'
  return first === 0x5b ? 'json' : first === 0x7b ? 'ndjson' : 'csv'
}
