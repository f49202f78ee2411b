import { isUtf8 } from 'node:buffer'
import type { RecordReader, Source } from './byte-window.ts'
import { parseObject, toCell } from './json-value.ts'
import { LineReader } from './line-reader.ts'
import { NOT_UTF8, NUL, type RecordFault } from './record-fault.ts'

/** The cells for the values of an NDJSON file: one for each field, in schema order. */
export interface JsonColumns {
  readonly names: readonly string[]
  /** The separator of list items for each field. */
  readonly delimiters: readonly string[]
}

/** Reads the records of an NDJSON file, one JSON object on each line, as the cells of a CSV file. */
export class NdjsonReader implements RecordReader {
  readonly cells: string[] = []
  readonly count: number
  fault: RecordFault | undefined
  /** The first unknown names in the file. */
  readonly unknown = new Set<string>()

  readonly #lines: LineReader
  readonly #delimiters: readonly string[]
  readonly #positions: ReadonlyMap<string, number>

  constructor(source: Source, { names, delimiters }: JsonColumns) {
    this.#lines = new LineReader(source)
    this.#delimiters = delimiters
    this.#positions = new Map(names.map((name, index) => [name, index]))
    this.count = names.length
  }

  get offset(): number {
    return this.#lines.offset
  }

  get line(): number {
    return this.#lines.line
  }

  /** The current line as it is in the file; the start of an overlong one. */
  get text(): string {
    return (this.#lines.bytes ?? this.#lines.start)?.toString('utf8') ?? ''
  }

  next(): boolean {
    while (this.#lines.next()) {
      const { bytes } = this.#lines
      if (bytes !== undefined && isBlankLine(bytes)) continue
      this.fault = this.#read(bytes)
      return true
    }
    return false
  }

  #read(bytes: Buffer | undefined): RecordFault | undefined {
    if (bytes === undefined) return this.#lines.tooLong
    if (!isUtf8(bytes)) return NOT_UTF8
    const { record, fault } = parseObject(bytes.toString('utf8'))
    if (record === undefined) return { code: 'json', message: `The line ${fault}.` }
    for (let index = 0; index < this.count; index++) this.cells[index] = ''
    for (const [name, value] of Object.entries(record)) {
      const position = this.#positions.get(name)
      if (position === undefined) {
        if (this.unknown.size < 1000) this.unknown.add(name)
        continue
      }
      const cell = toCell(value, this.#delimiters[position] ?? ',')
      if (cell.includes('\0')) return NUL
      this.cells[position] = cell
    }
    return undefined
  }
}

/** Whether a line of NDJSON has only white space, and thus no record. */
export function isBlankLine(line: Buffer): boolean {
  return line.every((byte) => byte === 32 || byte === 13 || byte === 9)
}
