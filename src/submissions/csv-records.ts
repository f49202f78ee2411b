/** The longest record in bytes, as in the check engine. */
export const MAX_RECORD_BYTES = 256 * 1024

const QUOTE = 34
const LF = 10
const CR = 13

/** The possible separators. */
export const SEPARATORS = [',', ';', '\t']

/**
 * Splits a CSV stream into records, in the same way as the check engine: a record with a misplaced quote ends with
 * its first line. The bytes are decoded as Latin-1, so that an index is an offset.
 */
export class CsvSplitter {
  #rest = ''
  #separator: string | undefined
  #first = true
  /** Whether the rest of an overlong line is being skipped. */
  #skipping = false

  /** The separator of the file, known after its first record. */
  get separator(): string {
    return this.#separator ?? ','
  }

  /** Whether no record is incomplete. */
  get idle(): boolean {
    return !this.#first && this.#rest === '' && !this.#skipping
  }

  /** Yields the records that these bytes complete, without empty lines. */
  *push(chunk: Buffer): Generator<string> {
    this.#rest += chunk.toString('latin1')
    if (this.#first && this.#rest.length < 3) return
    yield* this.#split(false)
  }

  /** Yields the last record at the end of the file. */
  *end(): Generator<string> {
    yield* this.#split(true)
  }

  *#split(ended: boolean): Generator<string> {
    let text = this.#rest
    if (this.#first && text.startsWith('\xef\xbb\xbf')) text = text.slice(3)
    this.#first = false
    let at = 0
    if (this.#skipping) {
      const lineEnd = text.indexOf('\n')
      at = lineEnd === -1 ? text.length : lineEnd + 1
      this.#skipping = lineEnd === -1
    }
    while (at < text.length) {
      const lineEnd = text.indexOf('\n', at)
      if (lineEnd === -1 && !ended) {
        if (text.length - at <= MAX_RECORD_BYTES) break
        // Keeps enough of it for the next reader to find it too long as well.
        this.#separator ??= ','
        this.#skipping = true
        yield text.slice(at, at + MAX_RECORD_BYTES + 1)
        at = text.length
        break
      }
      const end = lineEnd === -1 ? text.length : lineEnd
      this.#separator ??= detectSeparator(text.slice(at, end))
      const stop = end - at > MAX_RECORD_BYTES ? end : findEnd(text, at, end, this.#separator, ended)
      if (stop === undefined) break
      const record = trimEnd(text, at, stop)
      at = stop + 1
      if (record !== '') yield record
    }
    this.#rest = text.slice(at)
  }
}

function trimEnd(text: string, start: number, end: number): string {
  return text.slice(start, end > start && text.charCodeAt(end - 1) === CR ? end - 1 : end)
}

/** The most frequent separator in the first line outside of quotes; a comma if there is none. */
export function detectSeparator(line: string): string {
  const bare = line.replaceAll(/"[^"]*"/g, '')
  const counts = SEPARATORS.map((separator) => bare.split(separator).length)
  return SEPARATORS[counts.indexOf(Math.max(...counts))] ?? ','
}

/** The end of the record at `start`; `undefined` if more input is needed. */
function findEnd(
  text: string,
  start: number,
  lineEnd: number,
  separator: string,
  ended: boolean,
): number | undefined {
  const quote = text.indexOf('"', start)
  if (quote === -1 || quote > lineEnd) return lineEnd
  const limit = start + MAX_RECORD_BYTES
  const complete = ended || text.length > limit
  const separatorCode = separator.charCodeAt(0)
  for (let at = start; ; at++) {
    if (text.charCodeAt(at) === QUOTE) {
      for (at++; ; at++) {
        at = text.indexOf('"', at)
        if (at === -1 || at > limit) return complete ? lineEnd : undefined
        if (at + 1 >= text.length && !ended) return undefined
        if (text.charCodeAt(at + 1) !== QUOTE) break
        at++
      }
      at++
      const code = at < text.length ? text.charCodeAt(at) : LF
      if (code === CR && at + 1 >= text.length && !ended) return undefined
      const atEnd = code === LF || (code === CR && (at + 1 >= text.length || text.charCodeAt(at + 1) === LF))
      if (code !== separatorCode && !atEnd) return lineEnd
    }
    let quoted = false
    while (at < text.length) {
      const code = text.charCodeAt(at)
      if (code === separatorCode || code === LF) break
      quoted ||= code === QUOTE
      at++
    }
    if (at >= text.length && !complete) return undefined
    if (quoted) return lineEnd
    if (at >= text.length || text.charCodeAt(at) === LF) return at - start > MAX_RECORD_BYTES ? lineEnd : at
  }
}

/** Decodes the cells of a record of a `CsvSplitter`; `undefined` if its quotes are misplaced. */
export function readCells(record: string, separator: string): string[] | undefined {
  return splitCells(record, separator)?.map((cell) => Buffer.from(cell, 'latin1').toString('utf8'))
}

/** Splits a record into cells and removes their quotes; `undefined` if its quotes are misplaced. */
export function splitCells(record: string, separator: string): string[] | undefined {
  if (!record.includes('"')) return record.split(separator)
  const cells: string[] = []
  for (let at = 0; ; at++) {
    let value = ''
    if (record.charCodeAt(at) === QUOTE) {
      for (at++; ; at++) {
        const close = record.indexOf('"', at)
        if (close === -1) return undefined
        value += record.slice(at, close)
        at = close + 1
        if (record.charCodeAt(at) !== QUOTE) break
        value += '"'
      }
    }
    const next = record.indexOf(separator, at)
    const rest = record.slice(at, next === -1 ? record.length : next)
    if (rest.includes('"')) return undefined
    cells.push(value + rest)
    if (next === -1) return cells
    at = next
  }
}

/** Renders a cell, quoted if necessary. */
export function renderCell(value: string, separator: string): string {
  const needed = value.includes(separator) || /["\r\n]/.test(value)
  return needed ? `"${value.replaceAll('"', '""')}"` : value
}
