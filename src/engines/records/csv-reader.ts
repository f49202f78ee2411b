import { isAscii, isUtf8 } from 'node:buffer'
import { ByteWindow, type RecordReader, type Source, type WindowOptions } from './byte-window.ts'
import { NOT_UTF8, NUL, type RecordFault, STRAY_QUOTE, TEXT_AFTER_QUOTE } from './record-fault.ts'
import { detectSeparator, namesSeparator } from './separator.ts'

export interface CsvOptions extends WindowOptions {
  /** Between cells. Without one, the first line decides. */
  readonly separator?: string | undefined
  /** The names of columns that the file may have, by which its separator is found. `sep=;` may be before its header. */
  readonly known?: readonly string[] | undefined
  /** Whether quotes are ordinary text. */
  readonly unquoted?: boolean | undefined
  /** Whether records are only counted: those without quotes then have no cells. */
  readonly countsOnly?: boolean | undefined
  /** Whether the file contains NUL, which no record may. */
  readonly hasNul?: boolean | undefined
}

const QUOTE = 34
const LF = 10
const CR = 13

/** The bytes of the first line that decide about the separator. */
const LOOKED_AT = 64 * 1024

/** The bytes within quotes that decide whether a quote is misplaced. */
const JUDGED = 64 * 1024

/** A record that is too long, while it is skipped. */
interface Skipped {
  readonly offset: number
  /** Its first bytes. */
  readonly start: string
  /** Its line ends so far. */
  lines: number
  /** Whether the reader is between quotes. */
  isQuoted: boolean
  /** The line on which the last quote opens. */
  opened: number
  /** Whether the lines behind that quote were looked at. */
  judged: boolean
}

/** Behind every text, and still a small integer: others are boxed. */
const NOWHERE = 2 ** 30 - 1

/**
 * Reads the records of a CSV file (RFC 4180), holding only the current one. The bytes are decoded as Latin-1, so that
 * an index into the text is an offset in the file; only records with bytes from 0x80 are decoded as UTF-8. This is
 * four times as fast as decoding everything.
 *
 * A record with a misplaced quote ends with its first line. The following lines are read as records, so that one
 * quote does not hide the rest of the file. A record that is too long is skipped up to its end: a quoted value that
 * seems to never end is only a misplaced quote if the lines behind it look like records. Every byte is looked at a fixed number of times, whatever the file: the
 * next quote and the next line end are remembered.
 */
export class CsvReader extends ByteWindow implements RecordReader {
  readonly cells: string[] = []
  count = 0
  offset = 0
  line = 0
  fault: RecordFault | undefined
  /** Whether an empty line is a record: of a file with one column, it is an empty value. */
  emptyLines = false

  /** The columns by which the separator is to be found; `undefined` once the first line has been read. */
  #known: readonly string[] | undefined
  /** Whether the separator is given, whatever the file says. */
  readonly #isStated: boolean
  readonly #hasNul: boolean
  readonly #unquoted: boolean
  readonly #countsOnly: boolean
  /** As Latin-1, like the text. */
  #separator: string
  #separatorCode: number
  /** The content of the buffer, as Latin-1. */
  #text = ''
  #ascii = true
  #nextLine = 1
  /** The position of the next quote, looked up once instead of for every record. */
  #quote = -1
  /** The position of the next separator, likewise. */
  #next = -1
  /** The number of values of the first record. */
  #width = 0
  /** The current record in the text. */
  #start = 0
  #stop = 0
  #skipped: Skipped | undefined
  #skippedText: string | undefined

  constructor(source: Source, options: CsvOptions = {}) {
    super(source, options)
    const { separator, known, unquoted = false, hasNul = false, countsOnly = false } = options
    this.#isStated = separator !== undefined
    this.#known = known ?? (this.#isStated ? undefined : [])
    this.#separator = Buffer.from(separator ?? ',').toString('latin1')
    this.#separatorCode = this.#separator.charCodeAt(0)
    this.#unquoted = unquoted
    this.#hasNul = hasNul
    this.#countsOnly = countsOnly
  }

  /** The separator of the file, known after its first record. */
  get separator(): string {
    return Buffer.from(this.#separator, 'latin1').toString()
  }

  /** The current record as it is in the file, without its line end; the start of an overlong one. */
  get text(): string {
    return this.#skippedText ?? this.buffer.toString('utf8', this.#start, this.#stop)
  }

  /** The bytes of `text`, valid until the next record: they need not be UTF-8. */
  get bytes(): Buffer {
    return this.#skippedText === undefined
      ? this.buffer.subarray(this.#start, this.#stop)
      : Buffer.from(this.#skippedText)
  }

  protected override fill(): boolean {
    const hasMore = super.fill()
    this.#ascii = isAscii(this.buffer.subarray(0, this.filled))
    this.#text = this.buffer.toString('latin1', 0, this.filled)
    this.#quote = -1
    this.#next = -1
    return hasMore
  }

  next(): boolean {
    if (this.atStart && !this.passMark()) return false
    if (this.#skipped !== undefined) return this.#skipRecord(this.#skipped)
    for (;;) {
      const start = this.at
      let end = this.#text.indexOf('\n', start)
      if (end === -1) {
        if (this.filled - start > this.longest) return this.#beginSkip()
        if (!this.ended) {
          if (!this.fill() && !this.ended) return false
          continue
        }
        if (start >= this.filled) return false
        end = this.filled
      }
      if (end - start > this.longest) return this.#beginSkip()
      let stop = end
      if (stop > start && this.#text.charCodeAt(stop - 1) === CR) stop--
      if (this.#known !== undefined && stop > start) {
        if (this.#readDirective(start, stop)) {
          this.#nextLine++
          this.at = end < this.filled ? end + 1 : end
          continue
        }
        this.#findSeparator(this.#known, start, stop)
      }
      if (this.#quote < start) this.#quote = this.#unquoted ? NOWHERE : find(this.#text, '"', start)
      if (this.#quote < end) {
        if (this.#readQuoted(start, end)) return true
        if (this.#skipped !== undefined) return false
        if (!this.fill() && !this.ended) return false
        continue
      }
      const line = this.#nextLine++
      this.at = end < this.filled ? end + 1 : end
      if (stop === start && !this.emptyLines) continue
      this.line = line
      this.#place(start, stop)
      if (!this.#countsOnly || this.#width === 0) this.#readPlain(start, stop)
      if (this.#width === 0) this.#width = this.count
      return true
    }
  }

  #findSeparator(known: readonly string[], start: number, stop: number): void {
    this.#known = undefined
    if (this.#isStated) return
    const line = this.buffer.toString('utf8', start, Math.min(stop, start + LOOKED_AT))
    this.#useSeparator(detectSeparator(line, known))
  }

  #useSeparator(separator: string): void {
    this.#separator = separator
    this.#separatorCode = separator.charCodeAt(0)
  }

  /** Reads the name of the separator before the header. */
  #readDirective(start: number, stop: number): boolean {
    if (stop - start !== 5 || !namesSeparator(this.#text.slice(start, stop))) return false
    if (!this.#isStated) this.#useSeparator(this.#text.charAt(stop - 1))
    this.#known = undefined
    return true
  }

  #place(start: number, stop: number): void {
    this.offset = this.base + start
    this.fault = undefined
    this.#start = start
    this.#stop = stop
    this.#skippedText = undefined
  }

  #readPlain(start: number, stop: number): void {
    const { cells } = this
    const text = this.#text
    const separator = this.#separator
    const width = separator.length
    let count = 0
    let at = start
    let next = this.#next < start ? find(text, separator, start) : this.#next
    while (next < stop) {
      cells[count++] = text.substring(at, next)
      at = next + width
      next = find(text, separator, at)
    }
    // Most often in a later record, which would look for it again.
    this.#next = next
    cells[count++] = text.substring(at, stop)
    this.count = count
    if (!this.#ascii || this.#hasNul) this.#decode(start, stop)
  }

  /** Decodes the cells of a record that may have bytes from 0x80. */
  #decode(start: number, stop: number): void {
    const bytes = this.buffer.subarray(start, stop)
    if (this.#hasNul && bytes.includes(0)) {
      this.fault ??= NUL
    }
    if (isAscii(bytes)) return
    if (!isUtf8(bytes)) {
      this.fault ??= NOT_UTF8
      return
    }
    for (let index = 0; index < this.count; index++) {
      const cell = this.cells[index] ?? ''
      if (NOT_ASCII.test(cell)) this.cells[index] = Buffer.from(cell, 'latin1').toString('utf8')
    }
  }

  /** The index of the first cell that is not UTF-8, if that is the fault of the record. */
  findUndecoded(): number | undefined {
    if (this.fault !== NOT_UTF8) return undefined
    // These cells are still Latin-1.
    const cells = this.cells.slice(0, this.count)
    const index = cells.findIndex((cell) => !isUtf8(Buffer.from(cell, 'latin1')))
    return index === -1 ? undefined : index
  }

  /** Reads a record with a quote on its first line; false if more input is needed. */
  #readQuoted(start: number, lineEnd: number): boolean {
    const text = this.#text
    const limit = start + this.longest
    const complete = this.ended || this.filled > limit
    const { cells } = this
    let count = 0
    let at = start
    let lines = 1
    // The first line end that is not counted yet.
    let newline = lineEnd
    for (;;) {
      let value = ''
      if (text.charCodeAt(at) === QUOTE) {
        at++
        for (;;) {
          const close = text.indexOf('"', at)
          if (close === -1 || close > limit) {
            if (!complete) return false
            if (this.filled > limit) return this.#beginSkip()
            return this.#refuse(start, lineEnd, describeOpen(this.#nextLine + lines - 1))
          }
          // Only the next byte shows whether the quote is doubled.
          if (close + 1 >= this.filled && !this.ended) return false
          for (; newline < close; newline = find(text, '\n', newline + 1)) lines++
          value += text.slice(at, close)
          at = close + 1
          if (text.charCodeAt(at) !== QUOTE) break
          value += '"'
          at++
        }
        const code = at < this.filled ? text.charCodeAt(at) : LF
        const atEnd =
          code === LF || (code === CR && (text.charCodeAt(at + 1) === LF || at + 1 >= this.filled))
        if (code === CR && at + 1 >= this.filled && !this.ended) return false
        if (!atEnd && !this.#isSeparator(at)) {
          if (at + this.#separator.length > this.filled && !complete) return false
          return this.#refuse(start, lineEnd, TEXT_AFTER_QUOTE)
        }
      }
      let end = at
      while (end < this.filled) {
        const code = text.charCodeAt(end)
        if (code === LF || (code === this.#separatorCode && this.#isSeparator(end))) break
        end++
      }
      if (end >= this.filled && !complete) return false
      if (end > limit) return this.#beginSkip()
      const isLast = end >= this.filled || text.charCodeAt(end) === LF
      const stop = isLast && end > at && text.charCodeAt(end - 1) === CR ? end - 1 : end
      const rest = text.slice(at, stop)
      if (rest.includes('"')) return this.#refuse(start, lineEnd, STRAY_QUOTE)
      cells[count++] = value + rest
      if (isLast) {
        this.count = count
        if (this.#width === 0) this.#width = count
        this.line = this.#nextLine
        this.#place(start, stop)
        this.#nextLine += lines
        this.at = end < this.filled ? end + 1 : end
        if (!this.#ascii || this.#hasNul) this.#decode(start, stop)
        return true
      }
      at = end + this.#separator.length
    }
  }

  #isSeparator(at: number): boolean {
    return this.#separator.length === 1
      ? this.#text.charCodeAt(at) === this.#separatorCode
      : this.#text.startsWith(this.#separator, at)
  }

  /** Reports the first line of a record as a fault; the following lines are read again. */
  #refuse(start: number, lineEnd: number, fault: RecordFault): true {
    const stop = this.#text.charCodeAt(lineEnd - 1) === CR ? lineEnd - 1 : lineEnd
    this.#place(start, stop)
    this.fault = fault
    this.count = 0
    this.line = this.#nextLine++
    this.at = lineEnd < this.filled ? lineEnd + 1 : lineEnd
    return true
  }

  #beginSkip(): boolean {
    const start = this.at
    if (this.#known !== undefined) this.#findSeparator(this.#known, start, this.filled)
    // Enough of it for the next reader to find it too long as well.
    const bytes = this.buffer.toString('utf8', start, start + this.longest + 1)
    this.#skipped = {
      offset: this.base + start,
      // One line without quotes, whatever follows it.
      start: bytes.includes('"') ? bytes.replace(/["\r\n]/g, ' ') : bytes,
      lines: 0,
      isQuoted: false,
      opened: this.#nextLine,
      judged: false,
    }
    return this.#skipRecord(this.#skipped)
  }

  /** Skips a record of any length; false if its end is yet to come. */
  #skipRecord(skipped: Skipped): boolean {
    let fault = this.tooLong
    for (let isLast = false; ; ) {
      const end = this.#findEnd(skipped)
      if (end !== undefined) {
        if (end.hides && this.base + this.at - skipped.offset <= this.longest)
          fault = describeOpen(skipped.opened)
        break
      }
      if (this.fill()) continue
      if (!this.ended) return false
      // Some of the text may have waited for more.
      if (!isLast) {
        isLast = true
        continue
      }
      this.at = this.filled
      if (skipped.isQuoted) fault = describeOpen(skipped.opened)
      break
    }
    this.#skipped = undefined
    this.#skippedText = skipped.start
    this.fault = fault
    this.count = 0
    this.offset = skipped.offset
    this.line = this.#nextLine
    this.#nextLine += skipped.lines + 1
    return true
  }

  /**
   * Moves behind the line end of a skipped record; `undefined` if more input is needed.
   *
   * @returns whether a misplaced quote would hide the records behind this line end
   */
  #findEnd(skipped: Skipped): { hides: boolean } | undefined {
    const text = this.#text
    let line = find(text, '\n', this.at)
    while (this.at < this.filled) {
      const { at } = this
      if (line < at) line = find(text, '\n', at)
      const quote = this.#unquoted ? NOWHERE : find(text, '"', at)
      if (!skipped.isQuoted && line < quote) {
        this.at = line + 1
        return { hides: false }
      }
      if (skipped.isQuoted && line < quote && !skipped.judged) {
        this.at = line
        if (quote > this.filled && this.filled - line < JUDGED && !this.ended) return undefined
        skipped.judged = true
        if (this.#hidesRecords(line + 1, Math.min(quote, this.filled, line + JUDGED))) {
          this.at = line + 1
          return { hides: true }
        }
      }
      for (; line < Math.min(quote, this.filled); line = find(text, '\n', line + 1)) skipped.lines++
      this.at = Math.min(quote, this.filled)
      if (quote > this.filled) return undefined
      if (!skipped.isQuoted) {
        skipped.isQuoted = true
        skipped.opened = this.#nextLine + skipped.lines
        skipped.judged = false
        this.at++
        continue
      }
      // Only the next byte shows whether the quote is doubled.
      if (quote + 1 >= this.filled && !this.ended) return undefined
      skipped.isQuoted = text.charCodeAt(quote + 1) === QUOTE
      this.at += skipped.isQuoted ? 2 : 1
    }
    return undefined
  }

  /** Whether most lines of a part of the text have as many values as the first record. */
  #hidesRecords(from: number, end: number): boolean {
    const text = this.#text
    let lines = 0
    let alike = 0
    for (let at = from, stop = find(text, '\n', at); stop < end; stop = find(text, '\n', at)) {
      const values = text.slice(at, stop).split(this.#separator)
      const isEmpty = values.length === 1 && ['', '\r'].includes(values[0] ?? '')
      if (!isEmpty) lines++
      if (!isEmpty && values.length === this.#width) alike++
      at = stop + 1
    }
    return alike * 2 > lines
  }
}

function describeOpen(line: number): RecordFault {
  const message = `A quote that opens in this record, on line ${line}, is not closed.`
  return { code: 'open-quote', message }
}

const NOT_ASCII = /[\x80-\xff]/

/** The first position from `from` on; far behind every text if there is none. */
function find(text: string, searched: string, from: number): number {
  const at = text.indexOf(searched, from)
  return at === -1 ? NOWHERE : at
}
