import { isUtf8 } from 'node:buffer'
import { closeSync, openSync, readSync } from 'node:fs'
import { MAX_RECORD_BYTES, type RecordReader } from './csv-reader.ts'

/** The cells for the values of an NDJSON file: one for each field, in schema order. */
export interface JsonColumns {
  readonly names: readonly string[]
  /** The separator of list items for each field. */
  readonly delimiters: readonly string[]
}

/** Reads the records of an NDJSON file: one JSON object on each line. */
export class JsonReader implements RecordReader {
  readonly cells: string[] = []
  readonly count: number
  offset = 0
  line = 0
  fault: string | undefined
  /** Unknown names in the file, with the line of their first occurrence. */
  readonly unknown = new Map<string, number>()

  readonly #file: number
  readonly #chunk: number
  readonly #delimiters: readonly string[]
  readonly #positions: ReadonlyMap<string, number>
  #buffer = Buffer.alloc(0)
  #base = 0
  #at = 0
  #position = 0
  #ended = false
  #nextLine = 1

  constructor(
    path: string,
    { names, delimiters }: JsonColumns,
    { chunk = 1 << 20 }: { chunk?: number } = {},
  ) {
    this.#file = openSync(path, 'r')
    this.#chunk = chunk
    this.#delimiters = delimiters
    this.#positions = new Map(names.map((name, index) => [name, index]))
    this.count = names.length
    while (this.#buffer.length < 3 && this.#fill());
    if (this.#buffer.subarray(0, 3).toString('latin1') === '\xef\xbb\xbf') this.#at = 3
  }

  close(): void {
    closeSync(this.#file)
  }

  #fill(): boolean {
    const chunk = Buffer.allocUnsafe(this.#chunk)
    const read = readSync(this.#file, chunk, 0, chunk.length, this.#position)
    this.#position += read
    this.#buffer = Buffer.concat([this.#buffer.subarray(this.#at), chunk.subarray(0, read)])
    this.#base += this.#at
    this.#at = 0
    if (read === 0) this.#ended = true
    return read > 0
  }

  next(): boolean {
    for (;;) {
      let end = this.#buffer.indexOf(10, this.#at)
      if (end === -1) {
        if (this.#buffer.length - this.#at > MAX_RECORD_BYTES) return this.#skipLine()
        if (!this.#ended) {
          this.#fill()
          continue
        }
        if (this.#at >= this.#buffer.length) return false
        end = this.#buffer.length
      }
      const start = this.#at
      if (end - start > MAX_RECORD_BYTES) return this.#skipLine()
      this.#at = Math.min(end + 1, this.#buffer.length)
      const line = this.#nextLine++
      const bytes = this.#buffer.subarray(start, end)
      if (bytes.every((byte) => byte === 32 || byte === 13 || byte === 9)) continue
      this.offset = this.#base + start
      this.line = line
      this.fault = isUtf8(bytes) ? this.#parse(bytes.toString('utf8')) : 'The record is not valid UTF-8.'
      return true
    }
  }

  #parse(text: string): string | undefined {
    let record: unknown
    try {
      record = JSON.parse(text)
    } catch {
      return 'The line is not valid JSON.'
    }
    if (typeof record !== 'object' || record === null || Array.isArray(record))
      return 'The line is not a JSON object.'
    this.cells.fill('')
    for (let index = 0; index < this.count; index++) this.cells[index] = ''
    for (const [name, value] of Object.entries(record)) {
      const position = this.#positions.get(name)
      if (position === undefined) {
        if (!this.unknown.has(name) && this.unknown.size < 1000) this.unknown.set(name, this.line)
        continue
      }
      const cell = toCell(value, this.#delimiters[position] ?? ',')
      if (cell.includes('\0')) return 'The record contains the character NUL (U+0000).'
      this.cells[position] = cell
    }
    return undefined
  }

  #skipLine(): true {
    this.offset = this.#base + this.#at
    for (;;) {
      const end = this.#buffer.indexOf(10, this.#at)
      this.#at = end === -1 ? this.#buffer.length : end + 1
      if (end !== -1 || !this.#fill()) break
    }
    this.fault = `The record is longer than ${MAX_RECORD_BYTES / 1024} KiB.`
    this.line = this.#nextLine++
    return true
  }
}

/** Converts a JSON value to the text that a CSV file would contain. */
export function toCell(value: unknown, delimiter: string): string {
  if (typeof value === 'string') return value
  if (value === null || value === undefined) return ''
  if (Array.isArray(value)) return value.map((item) => toCell(item, delimiter)).join(delimiter)
  return typeof value === 'object' ? JSON.stringify(value) : String(value)
}
