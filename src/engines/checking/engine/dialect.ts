import { detectSeparator, MAX_CHECKED_RECORD, renderRecord } from '../../records/index.ts'
import type { Dialect } from '../definition/definition.ts'

/** Whether a file must be rewritten before `CsvReader` can read it, which knows quotes and separators only. */
export function isUnusual(dialect: Dialect): boolean {
  const { headerRows, commentRows, commentChar, lineTerminator, quoteChar, escapeChar } = dialect
  return (
    commentRows.length > 0 ||
    commentChar !== undefined ||
    escapeChar !== undefined ||
    dialect.skipInitialSpace ||
    !dialect.doubleQuote ||
    headerRows.length > 1 ||
    (headerRows[0] ?? 1) > 1 ||
    (quoteChar ?? '"') !== '"' ||
    !['\n', '\r\n', undefined].includes(lineTerminator)
  )
}

/** A record of the file, and where the next one starts. */
interface ParsedRecord {
  readonly cells: readonly string[]
  readonly end: number
}

/**
 * Rewrites a text in any dialect of the standard as CSV in the form of RFC 4180. Each line remains where it is: lines
 * that are no records become empty, so that findings name the lines of the file.
 */
export class DialectDecoder {
  readonly #decoder: Pick<TextDecoder, 'decode'>
  readonly #dialect: Dialect
  readonly #known: readonly string[]
  readonly #quote: string
  #separator: string | undefined
  /** Found in the text, because descriptors often state another one. */
  #terminator: string | undefined
  #rest = ''
  #line = 1
  readonly #header: string[][] = []

  constructor(decoder: Pick<TextDecoder, 'decode'>, dialect: Dialect, known: readonly string[]) {
    this.#decoder = decoder
    this.#dialect = dialect
    this.#known = known
    this.#quote = dialect.quoteChar ?? '"'
    this.#separator = dialect.delimiter
  }

  decode(chunk?: Uint8Array, options: { stream?: boolean } = {}): string {
    const isLast = options.stream !== true
    const text = this.#rest + this.#decoder.decode(chunk, options)
    if (text !== '') {
      this.#terminator ??= findTerminator(text, this.#dialect.lineTerminator)
      this.#separator ??= this.#detect(text, this.#terminator)
    }
    let at = 0
    let result = ''
    while (at < text.length) {
      const start = at
      const ended = this.#readLine(text, at, isLast)
      if (ended === undefined) break
      result += `${ended.text}\n`
      at = ended.end
      const lines = text.slice(start, at).split(this.#terminator ?? '\n').length - 1
      this.#line += Math.max(1, lines)
    }
    this.#rest = text.slice(at)
    return result
  }

  #detect(text: string, terminator: string): string {
    const lines = text.split(terminator, Math.max(1, ...this.#dialect.headerRows))
    return detectSeparator(lines.at(-1) ?? '', this.#known)
  }

  /** Rewrites the line or record at a position; `undefined` if more of the text is needed. */
  #readLine(text: string, at: number, isLast: boolean): { text: string; end: number } | undefined {
    const { commentRows, commentChar, headerRows, headerJoin } = this.#dialect
    const next = this.#endOfLine(text, at)
    const stop = next?.stop ?? text.length
    if (next === undefined && !isLast && text.length - at <= MAX_CHECKED_RECORD) return undefined
    const end = next?.end ?? text.length
    const line = this.#line
    const isComment =
      commentRows.includes(line) || (commentChar !== undefined && text.startsWith(commentChar, at))
    const lastOfHeader = headerRows.at(-1) ?? 0
    if (isComment || stop === at || (line < lastOfHeader && !headerRows.includes(line)))
      return { text: '', end }
    const record = this.#parse(text, at, isLast)
    if (record === undefined) {
      if (!isLast && text.length - at <= MAX_CHECKED_RECORD) return undefined
      // A misplaced quote: the reader of the rewritten file reports it, as far as it knows the quote.
      const line = text.slice(at, stop)
      return { text: this.#quote === '' ? line : line.replaceAll(this.#quote, '"'), end }
    }
    const { cells } = record
    if (!headerRows.includes(line)) return { text: renderRecord(cells, this.#separator), end: record.end }
    this.#header.push(fillForward(cells))
    if (line < lastOfHeader) return { text: '', end: record.end }
    const width = Math.max(...this.#header.map((row) => row.length))
    const names = Array.from({ length: width }, (_, column) =>
      this.#header.flatMap((row) => row[Math.min(column, row.length - 1)] || []).join(headerJoin),
    )
    return { text: renderRecord(names, this.#separator), end: record.end }
  }

  #endOfLine(text: string, at: number): { stop: number; end: number } | undefined {
    const terminator = this.#terminator ?? '\n'
    const found = text.indexOf(terminator, at)
    if (found === -1) return undefined
    const stop = terminator === '\n' && found > at && text[found - 1] === '\r' ? found - 1 : found
    return { stop, end: found + terminator.length }
  }

  /** Divides a record into values; `undefined` if a quote is not closed or is followed by other text. */
  #parse(text: string, start: number, isLast: boolean): ParsedRecord | undefined {
    const { escapeChar, doubleQuote, skipInitialSpace } = this.#dialect
    const separator = this.#separator ?? ','
    const cells: string[] = []
    let at = start
    for (;;) {
      if (skipInitialSpace) while (text[at] === ' ') at++
      let cell = ''
      if (text[at] === this.#quote) {
        at++
        for (;;) {
          const character = text[at]
          if (character === undefined) return undefined
          if (character === escapeChar && character !== this.#quote) {
            cell += text[at + 1] ?? ''
            at += 2
          } else if (character !== this.#quote) {
            cell += character
            at++
          } else if ((doubleQuote || escapeChar === this.#quote) && text[at + 1] === this.#quote) {
            cell += character
            at += 2
          } else {
            at++
            break
          }
        }
      } else {
        for (;;) {
          if (at >= text.length || text.startsWith(separator, at) || this.#isEnd(text, at)) break
          if (text[at] === escapeChar) at++
          cell += text[at] ?? ''
          at++
        }
      }
      cells.push(cell)
      if (at >= text.length) return isLast ? { cells, end: at } : undefined
      if (text.startsWith(separator, at)) {
        at += separator.length
        continue
      }
      if (!this.#isEnd(text, at)) return undefined
      return { cells, end: this.#endOfLine(text, at)?.end ?? text.length }
    }
  }

  #isEnd(text: string, at: number): boolean {
    const terminator = this.#terminator ?? '\n'
    return text.startsWith(terminator, at) || (terminator === '\n' && text.startsWith('\r\n', at))
  }
}

/** The end of the lines of a text: LF, which CR may precede, or CR, unless the text has another one that is stated. */
function findTerminator(text: string, stated = '\n'): string {
  if (!/[\r\n]/.test(stated)) return text.includes(stated) ? stated : '\n'
  const isLf = text.includes('\r\n') || (stated !== '\r' && text.includes('\n'))
  return isLf || !text.includes('\r') ? '\n' : '\r'
}

/** In a header of several lines, a name stands for all columns up to the next one. */
function fillForward(cells: readonly string[]): string[] {
  let last = ''
  return cells.map((cell) => {
    if (cell !== '') last = cell
    return last
  })
}
