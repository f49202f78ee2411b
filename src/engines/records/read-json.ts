import { isUtf8 } from 'node:buffer'
import { isFault, refuse } from '../../foundation/faults/faults.ts'
import { MAX_RECORD_BYTES } from './read-bytes.ts'
import { parseJson } from './read-ndjson.ts'
import type { SourceRecord } from './source-record.ts'

/**
 * Yields the records of a JSON text that is a list. The text is split at the commas of the list and each record is
 * parsed separately, so that memory holds one chunk and one record, and a fault has the line of its record.
 *
 * @throws {InputRefused} at the first fault
 */
export async function* readJson(file: string, chunks: AsyncIterable<Buffer>): AsyncGenerator<SourceRecord> {
  const splitter = new ListSplitter(file)
  for await (const chunk of chunks) yield* splitter.push(chunk)
  splitter.end()
}

/** A text, whose end may be yet to come, or what divides values. */
const TOKEN = /"(?:[^"\\]|\\.?)*("?)|[[\]{},]/gs

const NOT_SPACE = /[^ \n\r\t]/

class ListSplitter {
  readonly #file: string
  #state: 'before' | 'within' | 'after' = 'before'
  /** What is not split yet, as Latin-1, so that a character is a byte; and the line on which it starts. */
  #text = ''
  #line = 1
  #records = 0

  constructor(file: string) {
    this.#file = file
  }

  *push(chunk: Buffer): Generator<SourceRecord> {
    this.#text += chunk.toString('latin1')
    while (this.#dropSpace()) {
      if (this.#state !== 'within') {
        if (this.#state === 'after' || !this.#text.startsWith('[')) this.#refuseOutside()
        this.#state = 'within'
        this.#drop(1)
        continue
      }
      const end = this.#findEnd()
      if ((end ?? this.#text.length) > MAX_RECORD_BYTES)
        this.#refuse(`begins a record that is longer than ${MAX_RECORD_BYTES} bytes`)
      if (end === undefined) return
      const isLast = this.#text[end] === ']'
      const isEmptyList = isLast && this.#records === 0 && end === 0
      if (!isEmptyList) yield this.#read(end)
      this.#drop(end + 1)
      if (isLast) this.#state = 'after'
    }
  }

  /** @throws {InputRefused} if the list has not ended */
  end(): void {
    if (this.#state === 'before')
      refuse({
        file: this.#file,
        message: 'The file is empty. A JSON file without records must contain an empty list, []',
      })
    if (this.#state === 'within')
      this.#refuse('The file ends inside the list. It is truncated, or a bracket or quote is missing')
  }

  /** Returns whether anything else follows. */
  #dropSpace(): boolean {
    const at = this.#text.search(NOT_SPACE)
    this.#drop(at < 0 ? this.#text.length : at)
    return at >= 0
  }

  #drop(length: number): void {
    this.#line += this.#text.slice(0, length).split('\n').length - 1
    this.#text = this.#text.slice(length)
  }

  /** Where the comma or the bracket behind the first record is; `undefined` if that is yet to come. */
  #findEnd(): number | undefined {
    let depth = 0
    for (const { 0: token, 1: closing, index } of this.#text.matchAll(TOKEN)) {
      if (closing === '') return undefined
      if (depth === 0 && (token === ',' || token === ']')) return index
      if (token === '[' || token === '{') depth++
      else if (token === ']' || token === '}') depth--
    }
    return undefined
  }

  #read(end: number): SourceRecord {
    const bytes = Buffer.from(this.#text.slice(0, end), 'latin1')
    this.#records++
    if (!isUtf8(bytes)) this.#refuse('is not UTF-8. Save the file as UTF-8')
    const record = parseJson(bytes.toString('utf8'), { file: this.#file, line: this.#line, ended: true })
    // After an unbalanced bracket or quote, the rest would be split at the wrong commas.
    return isFault(record) ? refuse(record) : record
  }

  #refuseOutside(): never {
    return this.#refuse(
      this.#state === 'after'
        ? 'Data follows the end of the list'
        : 'A JSON file must contain one list of records, from [ to ]. For one record per line, use NDJSON (.ndjson)',
    )
  }

  #refuse(message: string): never {
    return refuse({ file: this.#file, line: this.#line, message })
  }
}
