import { ByteWindow } from './byte-window.ts'

const LF = 10

/**
 * Reads the lines of a file one by one, such as the records of NDJSON. A byte order mark belongs to no line; only LF
 * ends one, because JSON text may contain the other line separators of Unicode.
 */
export class LineReader extends ByteWindow {
  /** The current line without its LF, until the next one; `undefined` if it is too long. */
  bytes: Buffer | undefined
  /** The first bytes of a line that is too long: enough for the next reader to find it too long as well. */
  start: Buffer | undefined
  /** The offset of the line in the file, in bytes. */
  offset = 0
  /** Its number, from 1. */
  line = 0
  /** Whether it ends with LF, which the last one need not. */
  isEnded = true
  #skipping = false

  /** Moves to the next line; false after the last one, or if the source has no more bytes for now. */
  next(): boolean {
    if (this.atStart && !this.passMark()) return false
    for (let looked = this.at; ; ) {
      const end = this.buffer.indexOf(LF, looked)
      if (end !== -1 && end < this.filled) return this.#take(end, true)
      if (this.#skipping || this.filled - this.at > this.longest) {
        if (!this.#skipping) this.#beginSkip()
        this.at = this.filled
      }
      if (this.ended) {
        if (this.at === this.filled && !this.#skipping) return false
        return this.#take(this.filled, false)
      }
      looked = this.filled - this.at
      if (!this.fill() && !this.ended) return false
    }
  }

  #beginSkip(): void {
    this.offset = this.base + this.at
    this.start = Buffer.from(this.buffer.subarray(this.at, this.at + this.longest + 1))
    this.#skipping = true
  }

  #take(end: number, isEnded: boolean): true {
    if (!this.#skipping && end - this.at > this.longest) this.#beginSkip()
    if (!this.#skipping) {
      this.offset = this.base + this.at
      this.start = undefined
    }
    this.bytes = this.#skipping ? undefined : this.buffer.subarray(this.at, end)
    this.line++
    this.isEnded = isEnded
    this.at = Math.min(end + 1, this.filled)
    this.#skipping = false
    return true
  }
}
