import {
  CsvReader,
  LineReader,
  MAX_CHECKED_RECORD,
  PieceSource,
  parseObject,
  Utf8Check,
} from '../../engines/records/index.ts'
import { Refusal } from '../refusal.ts'

export type Format = 'csv' | 'ndjson'

/** Scans a file while it arrives, and rejects it at the first invalid byte. */
export class Scanner {
  readonly #encoding = new Utf8Check()
  readonly #source = new PieceSource()
  readonly #counter: Counter
  readonly #format: Format
  #empty = true

  /** @param known the names of the columns that a CSV file may have */
  constructor(format: Format, known: readonly string[]) {
    this.#format = format
    this.#counter = format === 'csv' ? new CsvCounter(this.#source, known) : new NdjsonCounter(this.#source)
  }

  /**
   * @param piece of the content, from `inTurns`
   * @throws {Refusal}
   */
  push(piece: Buffer): void {
    if (this.#empty) refuseFormat(piece, this.#format)
    this.#empty = false
    refuseEncoding(this.#encoding.push(piece))
    this.#source.push(piece)
    this.#counter.count(piece)
  }

  /** Called after the last piece; returns the number of records. */
  end(): number {
    if (this.#empty) throw new Refusal('invalid', 'The file is empty.')
    refuseEncoding(this.#encoding.end())
    this.#source.end()
    return this.#counter.end()
  }
}

function refuseEncoding(line: number | undefined): void {
  if (line !== undefined) throw new Refusal('invalid', `Line ${line} is not valid UTF-8.`)
}

const UTF16 = 'UTF-16. Export it as UTF-8.'

function refuseFormat(start: Buffer, format: Format): void {
  // The check decides by the first character as well, and would read it as NDJSON.
  if (format === 'csv' && /^\s*\{/.test(start.toString('utf8')))
    throw new Refusal('unsupported', 'The file is JSON, not CSV. Send NDJSON as application/x-ndjson.')
  const signature = start.subarray(0, 8).toString('latin1')
  const known: [string, string][] = [
    ['PK\x03\x04', 'a ZIP archive or an Excel workbook, not text in UTF-8.'],
    ['\xd0\xcf\x11\xe0', 'an Excel workbook, not text in UTF-8.'],
    ['%PDF', 'a PDF document, not text in UTF-8.'],
    ['\x1f\x8b', 'gzip. Send it with Content-Encoding: gzip.'],
    ['\xff\xfe', UTF16],
    ['\xfe\xff', UTF16],
  ]
  const name = known.find(([prefix]) => signature.startsWith(prefix))?.[1]
  if (name !== undefined) throw new Refusal('unsupported', `The file is ${name}`)
  const zeros = (offset: number) => [0, 2, 4, 6].every((at) => start[at + offset] === 0)
  if (start.length >= 8 && zeros(0) !== zeros(1)) throw new Refusal('unsupported', `The file is ${UTF16}`)
}

interface Counter {
  /** Counts the records that the piece completes. */
  count(piece: Buffer): void
  end(): number
}

/** Counts the records of a CSV file without its header. Faulty records become findings of the validation. */
class CsvCounter implements Counter {
  readonly #reader: CsvReader
  #records = 0
  #hasLf = false
  #hasCr = false

  constructor(source: PieceSource, known: readonly string[]) {
    this.#reader = new CsvReader(source.read, { known, countsOnly: true })
  }

  count(piece: Buffer): void {
    this.#hasLf ||= piece.includes('\n')
    this.#hasCr ||= piece.includes('\r')
    while (this.#reader.next()) this.#records++
  }

  end(): number {
    // Batches and conversions would read it as one line.
    if (this.#hasCr && !this.#hasLf)
      throw new Refusal('invalid', 'The lines end with CR only. Export the file with LF or CRLF.')
    while (this.#reader.next()) this.#records++
    if (this.#records === 0) throw new Refusal('invalid', 'The file contains only empty lines.')
    return this.#records - 1
  }
}

/** Counts the records of an NDJSON file, and rejects the first line that is not an object. */
class NdjsonCounter implements Counter {
  readonly #lines: LineReader
  #records = 0

  constructor(source: PieceSource) {
    this.#lines = new LineReader(source.read)
  }

  count(): void {
    while (this.#lines.next()) {
      const { bytes, line } = this.#lines
      if (bytes === undefined)
        throw new Refusal('invalid', `Line ${line} is longer than ${MAX_CHECKED_RECORD / 1024} KiB.`)
      const text = bytes.toString('utf8')
      if (text.trim() === '') continue
      const { fault } = parseObject(text)
      if (fault !== undefined) throw new Refusal('invalid', `Line ${line} ${fault}.`)
      this.#records++
    }
  }

  end(): number {
    this.count()
    return this.#records
  }
}
