import { Problem } from '../../api/request/problems.ts'
import { EXPORT_AGAIN } from '../../engines/checking/index.ts'
import { CsvReader, findFormat, isBlankLine, LineReader, PieceSource } from '../../engines/records/index.ts'

export const FORMATS = ['csv', 'ndjson'] as const
export type Format = (typeof FORMATS)[number]

/** Counts the records of a file while it arrives. */
export class Scanner {
  readonly #source = new PieceSource()
  readonly #known: readonly string[]
  #format: Format
  /** Reads the next record that is complete; returns `false` if there is none. */
  #next: (() => boolean) | undefined
  #records = 0

  /** @param known the names of the columns that a CSV file may have */
  constructor(format: Format, known: readonly string[]) {
    this.#format = format
    this.#known = known
  }

  /** NDJSON if the file begins like it, whatever it was said to be: the check decides by the first character too. */
  get format(): Format {
    return this.#format
  }

  push(piece: Buffer): void {
    this.#next ??= this.#begin(piece)
    this.#source.push(piece)
    this.#count(this.#next)
  }

  #begin(start: Buffer): () => boolean {
    if (/^\ufeff?\s*\{/.test(start.toString('utf8'))) this.#format = 'ndjson'
    if (this.#format === 'csv') {
      const reader = new CsvReader(this.#source.read, { known: this.#known, countsOnly: true })
      return () => reader.next()
    }
    const lines = new LineReader(this.#source.read)
    return () => {
      while (lines.next()) if (lines.bytes === undefined || !isBlankLine(lines.bytes)) return true
      return false
    }
  }

  /** Faulty records count too: they become findings of the validation. */
  #count(next: () => boolean): void {
    while (next()) this.#records++
  }

  /** Called after the last piece; returns the number of records, not counting a header. */
  end(): number {
    if (this.#next === undefined) throw new Problem('invalid-body', `The file is empty. ${EXPORT_AGAIN}`)
    this.#source.end()
    this.#count(this.#next)
    if (this.#format === 'ndjson') return this.#records
    if (this.#records === 0) throw new Problem('invalid-body', 'The file contains only empty lines.')
    return this.#records - 1
  }
}

/** @throws {Problem} if content begins like a format that is no table of text, such as a PDF document or an HTML page */
export function refuseFormat(start: Buffer): void {
  const format = findFormat(start.subarray(0, 4096))
  if (format === undefined) return
  const { name, advice, isContainer } = format
  throw new Problem(
    'unsupported-media-type',
    isContainer
      ? `The file is ${name} within another file. Send it separately, as it is.`
      : `The file is ${name}, not CSV or NDJSON. ${advice}`,
  )
}
