import { isAscii, isUtf8 } from 'node:buffer'
import { closeSync, openSync, readSync } from 'node:fs'

/** The longest record, in bytes; a longer one is a fault. */
export const MAX_RECORD_BYTES = 256 * 1024

/** Reads the records of a file one by one. Its properties describe the current record. */
export interface RecordReader {
  /** Moves to the next record; false after the last one. */
  next(): boolean
  close(): void
  /** The values of the record are the first `count` cells. */
  readonly cells: string[]
  readonly count: number
  /** The offset of the record in the file, in bytes. */
  readonly offset: number
  /** The line on which the record starts, from 1. */
  readonly line: number
  /** Why the record cannot be read, as a full sentence. */
  readonly fault: string | undefined
}

export interface CsvOptions {
  /** Default: a comma. */
  readonly separator?: string
  /** Bytes that are read at once. */
  readonly chunk?: number
  /** Whether the file contains NUL, which no record may. */
  readonly hasNul?: boolean
}

const QUOTE = 34
const LF = 10
const CR = 13

/**
 * Reads the records of a CSV file (RFC 4180), holding only the current one. The bytes are decoded as Latin-1, so that
 * an index into the text is an offset in the file; only records with bytes from 0x80 are decoded as UTF-8. This is
 * four times as fast as decoding everything.
 *
 * A record with a misplaced quote ends with its first line. The following lines are read as records, so that one
 * quote does not hide the rest of the file.
 */
export class CsvReader implements RecordReader {
  readonly cells: string[] = []
  count = 0
  offset = 0
  line = 0
  fault: string | undefined

  readonly #file: number
  readonly #chunk: number
  readonly #buffer: Buffer
  readonly #separator: string
  readonly #separatorCode: number
  readonly #hasNul: boolean
  /** The content of the buffer, as Latin-1. */
  #text = ''
  #ascii = true
  /** The file offset of the start of the buffer. */
  #base = 0
  #filled = 0
  #at = 0
  #ended = false
  #position = 0
  #nextLine = 1
  /** The position of the next quote, looked up once instead of for every record. */
  #quote = -1

  constructor(path: string, { separator = ',', chunk = 1 << 20, hasNul = false }: CsvOptions = {}) {
    this.#file = openSync(path, 'r')
    this.#chunk = chunk
    this.#buffer = Buffer.allocUnsafe(2 * MAX_RECORD_BYTES + chunk)
    this.#separator = separator
    this.#separatorCode = separator.charCodeAt(0)
    this.#hasNul = hasNul
    while (this.#filled < 3 && this.#fill());
    if (this.#text.startsWith('\xef\xbb\xbf')) this.#at = 3
  }

  close(): void {
    closeSync(this.#file)
  }

  /** Moves unread bytes to the start of the buffer, and reads more; false at the end of the file. */
  #fill(): boolean {
    const rest = this.#filled - this.#at
    if (this.#at > 0) this.#buffer.copy(this.#buffer, 0, this.#at, this.#filled)
    this.#base += this.#at
    this.#at = 0
    const room = Math.min(this.#chunk, this.#buffer.length - rest)
    const read = readSync(this.#file, this.#buffer, rest, room, this.#position)
    this.#position += read
    this.#filled = rest + read
    if (read === 0) this.#ended = true
    this.#ascii = isAscii(this.#buffer.subarray(0, this.#filled))
    this.#text = this.#buffer.toString('latin1', 0, this.#filled)
    this.#quote = -1
    return read > 0
  }

  next(): boolean {
    for (;;) {
      const start = this.#at
      let end = this.#text.indexOf('\n', start)
      if (end === -1) {
        if (this.#filled - start > MAX_RECORD_BYTES) return this.#skipLine()
        if (!this.#ended) {
          this.#fill()
          continue
        }
        if (start >= this.#filled) return false
        end = this.#filled
      }
      if (end - start > MAX_RECORD_BYTES) return this.#skipLine()
      if (this.#quote < start) {
        const at = this.#text.indexOf('"', start)
        this.#quote = at === -1 ? Number.MAX_SAFE_INTEGER : at
      }
      if (this.#quote < end) {
        if (this.#readQuoted(start, end)) return true
        this.#fill()
        continue
      }
      let stop = end
      if (stop > start && this.#text.charCodeAt(stop - 1) === CR) stop--
      const line = this.#nextLine++
      this.#at = end < this.#filled ? end + 1 : end
      if (stop === start) continue // an empty line
      this.line = line
      this.offset = this.#base + start
      this.fault = undefined
      this.#readPlain(start, stop)
      return true
    }
  }

  #readPlain(start: number, stop: number): void {
    const { cells } = this
    const text = this.#text
    const separator = this.#separator
    let count = 0
    let at = start
    for (;;) {
      const next = text.indexOf(separator, at)
      if (next === -1 || next >= stop) break
      cells[count++] = text.substring(at, next)
      at = next + 1
    }
    cells[count++] = text.substring(at, stop)
    this.count = count
    if (!this.#ascii || this.#hasNul) this.#decode(start, stop)
  }

  /** Decodes the cells of a record that may have bytes from 0x80. */
  #decode(start: number, stop: number): void {
    const bytes = this.#buffer.subarray(start, stop)
    if (this.#hasNul && bytes.includes(0)) {
      this.fault ??= 'The record contains the character NUL (U+0000).'
    }
    if (isAscii(bytes)) return
    if (!isUtf8(bytes)) {
      this.fault ??= 'The record is not valid UTF-8.'
      return
    }
    for (let index = 0; index < this.count; index++) {
      const cell = this.cells[index] ?? ''
      if (NOT_ASCII.test(cell)) this.cells[index] = Buffer.from(cell, 'latin1').toString('utf8')
    }
  }

  /** Reads a record with a quote on its first line; false if more input is needed. */
  #readQuoted(start: number, lineEnd: number): boolean {
    const text = this.#text
    const limit = start + MAX_RECORD_BYTES
    const complete = this.#ended || this.#filled > limit
    const { cells } = this
    let count = 0
    let at = start
    let lines = 1
    for (;;) {
      let value = ''
      if (text.charCodeAt(at) === QUOTE) {
        at++
        for (;;) {
          const close = text.indexOf('"', at)
          if (close === -1 || close > limit) {
            if (!complete) return false
            return this.#refuse(
              start,
              lineEnd,
              `A quote that opens in this record, on line ${this.#nextLine + lines - 1}, is not closed.`,
            )
          }
          // Only the next byte shows whether the quote is doubled.
          if (close + 1 >= this.#filled && !this.#ended) return false
          for (let lf = text.indexOf('\n', at); lf !== -1 && lf < close; lf = text.indexOf('\n', lf + 1))
            lines++
          value += text.slice(at, close)
          at = close + 1
          if (text.charCodeAt(at) !== QUOTE) break
          value += '"'
          at++
        }
        const code = at < this.#filled ? text.charCodeAt(at) : LF
        const atEnd =
          code === LF || (code === CR && (text.charCodeAt(at + 1) === LF || at + 1 >= this.#filled))
        if (code === CR && at + 1 >= this.#filled && !this.#ended) return false
        if (code !== this.#separatorCode && !atEnd)
          return this.#refuse(start, lineEnd, 'A closing quote is followed by other text.')
      }
      let end = at
      while (end < this.#filled) {
        const code = text.charCodeAt(end)
        if (code === this.#separatorCode || code === LF) break
        end++
      }
      if (end >= this.#filled && !complete) return false
      const isLast = end >= this.#filled || text.charCodeAt(end) === LF
      const stop = isLast && end > at && text.charCodeAt(end - 1) === CR ? end - 1 : end
      const rest = text.slice(at, stop)
      if (rest.includes('"'))
        return this.#refuse(start, lineEnd, 'A value without quotes around it contains a quote.')
      cells[count++] = value + rest
      if (isLast) {
        if (end > limit) return this.#refuse(start, lineEnd, TOO_LONG)
        this.count = count
        this.offset = this.#base + start
        this.line = this.#nextLine
        this.fault = undefined
        this.#nextLine += lines
        this.#at = end < this.#filled ? end + 1 : end
        if (!this.#ascii || this.#hasNul) this.#decode(start, stop)
        return true
      }
      at = end + 1
    }
  }

  /** Reports the first line of a record as a fault; the following lines are read again. */
  #refuse(start: number, lineEnd: number, fault: string): true {
    this.fault = fault
    this.count = 0
    this.offset = this.#base + start
    this.line = this.#nextLine++
    this.#at = lineEnd < this.#filled ? lineEnd + 1 : lineEnd
    return true
  }

  /** Skips an overlong line of any length. */
  #skipLine(): true {
    const offset = this.#base + this.#at
    for (;;) {
      const end = this.#text.indexOf('\n', this.#at)
      this.#at = end === -1 ? this.#filled : end + 1
      if (end !== -1 || !this.#fill()) break
    }
    this.fault = TOO_LONG
    this.count = 0
    this.offset = offset
    this.line = this.#nextLine++
    return true
  }
}

const NOT_ASCII = /[\x80-\xff]/
const TOO_LONG = `The record is longer than ${MAX_RECORD_BYTES / 1024} KiB.`
