import { closeSync, openSync, readSync } from 'node:fs'
import { MAX_CHECKED_RECORD } from '../../records/index.ts'

/** Longer records are truncated; they are findings themselves. */
const SHOWN_BYTES = 4096

/** Reads records again in ascending order of offset, in blocks. */
export class RecordTexts {
  readonly #file: number
  readonly #buffer = Buffer.allocUnsafe(1 << 20)
  #base = 0
  #filled = 0

  constructor(path: string) {
    this.#file = openSync(path, 'r')
  }

  close(): void {
    closeSync(this.#file)
  }

  /** The exact text of the record at an offset; `next` is the offset of the next record, if any. */
  read(offset: number, next: number | undefined): string {
    let end = Math.min(next ?? Number.MAX_SAFE_INTEGER, offset + MAX_CHECKED_RECORD + SHOWN_BYTES)
    if (offset < this.#base || end > this.#base + this.#filled) {
      this.#base = offset
      this.#filled = readSync(this.#file, this.#buffer, 0, this.#buffer.length, offset)
      end = Math.min(end, offset + this.#filled)
    }
    const start = offset - this.#base
    let stop = end - this.#base
    // The last line may end with CR only.
    if (stop > start && this.#buffer[stop - 1] === 13) stop--
    // Empty lines may follow the record.
    while (stop > start && this.#buffer[stop - 1] === 10) {
      stop--
      if (stop > start && this.#buffer[stop - 1] === 13) stop--
    }
    if (stop - start > MAX_CHECKED_RECORD) {
      return `${this.#buffer.toString('utf8', start, start + SHOWN_BYTES)}…`
    }
    return this.#buffer.toString('utf8', start, stop)
  }
}
