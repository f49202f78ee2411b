import { Problem } from '../../api/contract/problems.ts'
import { CsvReader, isBlankLine, LineReader, PieceSource } from '../../engines/records/index.ts'

export type Format = 'csv' | 'ndjson'

/** Counts the records of a file while it arrives, and rejects what is no text. */
export class Scanner {
  readonly #source = new PieceSource()
  readonly #known: readonly string[]
  #format: Format
  #counter: Counter | undefined

  /** @param known the names of the columns that a CSV file may have */
  constructor(format: Format, known: readonly string[]) {
    this.#format = format
    this.#known = known
  }

  /** NDJSON if the file begins like it, whatever it was said to be: the check decides by the first character too. */
  get format(): Format {
    return this.#format
  }

  /**
   * @param piece of the content, from `inTurns`
   * @throws {Problem}
   */
  push(piece: Buffer): void {
    this.#counter ??= this.#begin(piece)
    this.#source.push(piece)
    this.#counter.count()
  }

  #begin(start: Buffer): Counter {
    refuseFormat(start)
    if (/^\ufeff?\s*\{/.test(start.toString('utf8'))) this.#format = 'ndjson'
    return this.#format === 'csv'
      ? new CsvCounter(this.#source, this.#known)
      : new NdjsonCounter(this.#source)
  }

  /** Called after the last piece; returns the number of records. */
  end(): number {
    if (this.#counter === undefined) throw new Problem('invalid-body', 'The file is empty.')
    this.#source.end()
    return this.#counter.end()
  }
}

function refuseFormat(start: Buffer): void {
  const signature = start.subarray(0, 8).toString('latin1')
  const known: [string, string][] = [
    ['PK\x03\x04', 'a ZIP archive or a workbook within another file. Send it separately, as it is.'],
    [
      '\xd0\xcf\x11\xe0',
      'a workbook with a password or in the old format XLS. Save it as XLSX without a password.',
    ],
    ['%PDF', 'a PDF document, not text.'],
  ]
  const name = known.find(([prefix]) => signature.startsWith(prefix))?.[1]
  if (name !== undefined) throw new Problem('unsupported-media-type', `The file is ${name}`)
}

interface Counter {
  /** Counts the records that are complete. */
  count(): void
  end(): number
}

/** Counts the records of a CSV file without its header. Faulty records become findings of the validation. */
class CsvCounter implements Counter {
  readonly #reader: CsvReader
  #records = 0

  constructor(source: PieceSource, known: readonly string[]) {
    this.#reader = new CsvReader(source.read, { known, countsOnly: true })
  }

  count(): void {
    while (this.#reader.next()) this.#records++
  }

  end(): number {
    while (this.#reader.next()) this.#records++
    if (this.#records === 0) throw new Problem('invalid-body', 'The file contains only empty lines.')
    return this.#records - 1
  }
}

/** Counts the records of an NDJSON file as the check does, which reports the faulty ones. */
class NdjsonCounter implements Counter {
  readonly #lines: LineReader
  #records = 0

  constructor(source: PieceSource) {
    this.#lines = new LineReader(source.read)
  }

  count(): void {
    while (this.#lines.next()) {
      const { bytes } = this.#lines
      if (bytes === undefined || !isBlankLine(bytes)) this.#records++
    }
  }

  end(): number {
    this.count()
    return this.#records
  }
}
