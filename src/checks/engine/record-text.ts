import { readSync } from 'node:fs'
import { MAX_RECORD_BYTES } from './csv-reader.ts'

/** Longer records are truncated; they are findings themselves. */
const SHOWN_BYTES = 4096

/** Reads records again in ascending order of offset, in blocks. */
export class RecordTexts {
  readonly #file: number
  readonly #buffer = Buffer.allocUnsafe(1 << 20)
  #base = 0
  #filled = 0

  constructor(file: number) {
    this.#file = file
  }

  /** The exact text of the record at an offset; `next` is the offset of the next record, if any. */
  read(offset: number, next: number | undefined): string {
    let end = Math.min(next ?? Number.MAX_SAFE_INTEGER, offset + MAX_RECORD_BYTES + SHOWN_BYTES)
    if (offset < this.#base || end > this.#base + this.#filled) {
      this.#base = offset
      this.#filled = readSync(this.#file, this.#buffer, 0, this.#buffer.length, offset)
      end = Math.min(end, offset + this.#filled)
    }
    const start = offset - this.#base
    let stop = end - this.#base
    // Empty lines may follow the record.
    while (stop > start && this.#buffer[stop - 1] === 10) {
      stop--
      if (stop > start && this.#buffer[stop - 1] === 13) stop--
    }
    if (stop - start > MAX_RECORD_BYTES) {
      return `${this.#buffer.toString('utf8', start, start + SHOWN_BYTES)}…`
    }
    return this.#buffer.toString('utf8', start, stop)
  }
}

/** Splits the text of a record that was read before into values. */
export function splitRecord(text: string, separator: string): string[] {
  if (!text.includes('"')) return text.split(separator)
  const cells: string[] = []
  let at = 0
  for (;;) {
    let value = ''
    if (text[at] === '"') {
      at++
      for (;;) {
        const close = text.indexOf('"', at)
        if (close === -1) return [...cells, value + text.slice(at)]
        value += text.slice(at, close)
        at = close + 1
        if (text[at] !== '"') break
        value += '"'
        at++
      }
    }
    const next = text.indexOf(separator, at)
    if (next === -1) return [...cells, value + text.slice(at)]
    cells.push(value + text.slice(at, next))
    at = next + 1
  }
}
