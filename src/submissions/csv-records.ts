/** The longest record, in bytes, as the check engine has it. */
export const MAX_RECORD_BYTES = 256 * 1024

const QUOTE = 34
const LF = 10
const CR = 13

/** Separators that the first line may use. */
const SEPARATORS = [',', ';', '\t']

/**
 * Splits a CSV file into records as it arrives, as the check engine reads it: a record with a misplaced quote ends with
 * its first line. The bytes are seen as Latin-1, so an index into the text is an offset.
 */
export class CsvSplitter {
  #rest = ''
  #separator: string | undefined
  #first = true
  /** Whether a line is passed over that is longer than a record may be. */
  #skipping = false

  /** The separator of the file, known after its first record. */
  get separator(): string {
    return this.#separator ?? ','
  }

  /** Whether everything so far was whole records. */
  get idle(): boolean {
    return !this.#first && this.#rest === '' && !this.#skipping
  }

  /** The records that are complete with these bytes; empty lines are left out. */
  *push(chunk: Buffer): Generator<string> {
    this.#rest += chunk.toString('latin1')
    if (this.#first && this.#rest.length < 3) return
    yield* this.#split(false)
  }

  /** The records that the end of the file completes. */
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
        // As much of it as makes it too long in the next reader's eyes as well.
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

/** The separator that occurs most often in the first line, outside of quotes; a comma where none does. */
function detectSeparator(line: string): string {
  const bare = line.replaceAll(/"[^"]*"/g, '')
  const counts = SEPARATORS.map((separator) => bare.split(separator).length)
  return SEPARATORS[counts.indexOf(Math.max(...counts))] ?? ','
}

/** Where the record that starts at `start` ends; `undefined` if more has to be read to know. */
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

/** The values of a record, decoded; `undefined` if its quotes are misplaced. */
export function readCells(record: string, separator: string): string[] | undefined {
  const decode = (cell: string) => Buffer.from(cell, 'latin1').toString('utf8')
  if (!record.includes('"')) return record.split(separator).map(decode)
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
    cells.push(decode(value + rest))
    if (next === -1) return cells
    at = next
  }
}

/** A value as a cell: quoted where it has to be. */
export function renderCell(value: string, separator: string): string {
  const needed = value.includes(separator) || /["\r\n]/.test(value)
  return needed ? `"${value.replaceAll('"', '""')}"` : value
}
