import { isUtf8 } from 'node:buffer'
import { isFault, refuse } from '../../foundation/faults/faults.ts'
import { MAX_RECORD_BYTES } from './read-bytes.ts'
import { parseJson } from './read-ndjson.ts'
import type { SourceRecord } from './source-record.ts'

const [NEWLINE, QUOTE, BACKSLASH, COMMA] = [0x0a, 0x22, 0x5c, 0x2c]
const [OPEN_LIST, CLOSE_LIST, OPEN_OBJECT, CLOSE_OBJECT] = [0x5b, 0x5d, 0x7b, 0x7d]

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

class ListSplitter {
  readonly #file: string
  #state: 'before' | 'within' | 'after' = 'before'
  #line = 1
  /** The number of open lists and objects, including the list of records. */
  #depth = 0
  #inString = false
  #escaped = false
  /** The current record so far, and the line on which it starts. */
  #parts: Buffer[] = []
  #length = 0
  #recordLine = 1
  #records = 0

  constructor(file: string) {
    this.#file = file
  }

  *push(chunk: Buffer): Generator<SourceRecord> {
    let start = 0
    for (let index = 0; index < chunk.length; index++) {
      const byte = chunk[index] as number
      if (byte === NEWLINE) this.#line++
      if (this.#inString) {
        if (this.#escaped) this.#escaped = false
        else if (byte === BACKSLASH) this.#escaped = true
        else if (byte === QUOTE) this.#inString = false
        continue
      }
      if (this.#state !== 'within') {
        if (isSpace(byte)) continue
        if (this.#state === 'after' || byte !== OPEN_LIST) this.#refuseOutside()
        this.#state = 'within'
        this.#depth = 1
        this.#recordLine = this.#line
        start = index + 1
        continue
      }
      if (this.#length === 0 && start === index && isSpace(byte)) {
        start = index + 1
        this.#recordLine = this.#line
      } else if (byte === QUOTE) {
        this.#inString = true
      } else if (byte === OPEN_LIST || byte === OPEN_OBJECT) {
        this.#depth++
      } else if (byte === CLOSE_OBJECT || (byte === CLOSE_LIST && this.#depth > 1)) {
        this.#depth--
      } else if (this.#depth === 1 && (byte === COMMA || byte === CLOSE_LIST)) {
        this.#keep(chunk.subarray(start, index))
        const isEmptyList = byte === CLOSE_LIST && this.#records === 0 && this.#length === 0
        if (!isEmptyList) yield this.#take()
        start = index + 1
        this.#recordLine = this.#line
        if (byte === CLOSE_LIST) this.#state = 'after'
      }
    }
    if (this.#state === 'within') this.#keep(Buffer.from(chunk.subarray(start)))
  }

  /** @throws {InputRefused} if the list has not ended */
  end(): void {
    if (this.#state === 'before') {
      refuse({
        file: this.#file,
        message: 'The file is empty. A JSON file without records must contain an empty list, []',
      })
    }
    if (this.#state === 'within') {
      refuse({
        file: this.#file,
        line: this.#recordLine,
        message: 'The file ends inside the list. It is truncated, or a bracket or quote is missing',
      })
    }
  }

  #keep(part: Buffer): void {
    this.#length += part.length
    if (this.#length > MAX_RECORD_BYTES) {
      refuse({
        file: this.#file,
        line: this.#recordLine,
        message: `begins a record that is longer than ${MAX_RECORD_BYTES} bytes`,
      })
    }
    if (part.length > 0) this.#parts.push(part)
  }

  #take(): SourceRecord {
    const bytes = Buffer.concat(this.#parts)
    const place = { file: this.#file, line: this.#recordLine }
    this.#parts = []
    this.#length = 0
    this.#records++
    if (!isUtf8(bytes)) refuse({ ...place, message: 'is not UTF-8. Save the file as UTF-8' })
    const record = parseJson(bytes.toString('utf8'), { ...place, ended: true })
    // After an unbalanced bracket or quote, the rest would be split at the wrong commas.
    return isFault(record) ? refuse(record) : record
  }

  #refuseOutside(): never {
    return refuse({
      file: this.#file,
      line: this.#line,
      message:
        this.#state === 'after'
          ? 'Data follows the end of the list'
          : 'A JSON file must contain one list of records, from [ to ]. For one record per line, use NDJSON (.ndjson)',
    })
  }
}

function isSpace(byte: number): boolean {
  return byte === 0x20 || byte === NEWLINE || byte === 0x0d || byte === 0x09
}
