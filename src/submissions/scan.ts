import { isAscii, isUtf8 } from 'node:buffer'
import { CsvSplitter, MAX_RECORD_BYTES } from './csv-records.ts'
import { Refusal } from './refusal.ts'

export type Format = 'csv' | 'ndjson'

/** Scans a file while it arrives, and rejects it at the first invalid byte. */
export interface Scanner {
  /** @throws {Refusal} */
  push(chunk: Buffer): void
  /** Called after the last chunk; returns the number of records. */
  end(): number
}

export function createScanner(format: Format): Scanner {
  return new TextScanner(format === 'csv' ? new CsvCounter() : new NdjsonCounter())
}

interface Counter {
  /** @param line the number of the first of these lines, which are complete */
  push(lines: Buffer, line: number): void
  end(): number
}

/** Checks the encoding, and passes complete lines on. */
class TextScanner implements Scanner {
  readonly #counter: Counter
  #rest: Buffer = Buffer.alloc(0)
  #line = 1
  #empty = true
  #looked = false

  constructor(counter: Counter) {
    this.#counter = counter
  }

  push(chunk: Buffer): void {
    if (chunk.length > 0) this.#empty = false
    const bytes = this.#rest.length === 0 ? chunk : Buffer.concat([this.#rest, chunk])
    if (!this.#looked && bytes.length >= 8) {
      refuseFormat(bytes)
      this.#looked = true
    }
    const end = bytes.lastIndexOf(0x0a) + 1
    // An endless line is passed on in parts, because only its length matters then.
    const whole = end === 0 && bytes.length > 4 * MAX_RECORD_BYTES ? bytes.length - 4 : end
    this.#check(bytes.subarray(0, whole))
    this.#rest = Buffer.from(bytes.subarray(whole))
  }

  end(): number {
    if (!this.#looked) refuseFormat(this.#rest)
    this.#check(this.#rest)
    if (this.#empty) throw new Refusal('invalid', 'The file is empty.')
    return this.#counter.end()
  }

  #check(bytes: Buffer): void {
    if (bytes.length === 0) return
    if (!isAscii(bytes) && !isUtf8(bytes)) {
      throw new Refusal('invalid', `Line ${this.#line + findBroken(bytes)} is not valid UTF-8.`)
    }
    this.#counter.push(bytes, this.#line)
    for (let at = bytes.indexOf(0x0a); at !== -1; at = bytes.indexOf(0x0a, at + 1)) this.#line++
  }
}

/** The number of lines before the first one that is not UTF-8. */
function findBroken(bytes: Buffer): number {
  let lines = 0
  let start = 0
  for (let end = bytes.indexOf(0x0a); end !== -1; end = bytes.indexOf(0x0a, start)) {
    if (!isUtf8(bytes.subarray(start, end))) break
    lines++
    start = end + 1
  }
  return lines
}

const UTF16 = 'UTF-16. Export it as UTF-8.'

function refuseFormat(start: Buffer): void {
  const signature = start.subarray(0, 8).toString('latin1')
  const known: [string, string][] = [
    ['PK\x03\x04', 'a ZIP archive or an Excel workbook, not text in UTF-8.'],
    ['\xd0\xcf\x11\xe0', 'an Excel workbook, not text in UTF-8.'],
    ['%PDF', 'a PDF document, not text in UTF-8.'],
    ['\x1f\x8b', 'gzip. Send it with Content-Encoding: gzip.'],
    ['\xff\xfe', UTF16],
    ['\xfe\xff', UTF16],
  ]
  const name = known.find(([prefix]) => signature.startsWith(prefix))?.[1]
  if (name !== undefined) throw new Refusal('unsupported', `The file is ${name}`)
  const zeros = (offset: number) => [0, 2, 4, 6].every((at) => start[at + offset] === 0)
  if (start.length >= 8 && zeros(0) !== zeros(1)) throw new Refusal('unsupported', `The file is ${UTF16}`)
}

/** Counts the records of a CSV file without its header. Faulty records become findings of the validation. */
class CsvCounter implements Counter {
  readonly #splitter = new CsvSplitter()
  #records = 0

  push(lines: Buffer): void {
    // Without quotes, each line is a record: counting lines takes a tenth of the time of splitting records.
    if (this.#splitter.idle && lines.at(-1) === LF && !lines.includes(QUOTE))
      this.#records += countLines(lines)
    else for (const _ of this.#splitter.push(lines)) this.#records++
  }

  end(): number {
    for (const _ of this.#splitter.end()) this.#records++
    if (this.#records === 0) throw new Refusal('invalid', 'The file contains only empty lines.')
    return this.#records - 1
  }
}

const LF = 0x0a
const CR = 0x0d
const QUOTE = 0x22

/** The number of non-empty lines. */
function countLines(bytes: Buffer): number {
  let count = 0
  let start = 0
  for (let end = bytes.indexOf(LF); end !== -1; end = bytes.indexOf(LF, start)) {
    if (end > start && (end > start + 1 || bytes[start] !== CR)) count++
    start = end + 1
  }
  return count
}

/** Counts the records of an NDJSON file, and rejects the first line that is not an object. */
class NdjsonCounter implements Counter {
  #records = 0
  #first = true

  push(bytes: Buffer, first: number): void {
    let line = first
    for (let start = 0; start < bytes.length; line++) {
      const newline = bytes.indexOf(0x0a, start)
      const end = newline === -1 ? bytes.length : newline
      if (end - start > MAX_RECORD_BYTES) {
        throw new Refusal('invalid', `Line ${line} is longer than ${MAX_RECORD_BYTES / 1024} KiB.`)
      }
      let text = bytes.toString('utf8', start, end)
      if (this.#first && text.startsWith('\ufeff')) text = text.slice(1)
      this.#first = false
      if (text.trim() !== '') this.#count(text, line)
      start = end + 1
    }
  }

  end(): number {
    return this.#records
  }

  #count(text: string, line: number): void {
    let value: unknown
    try {
      value = JSON.parse(text)
    } catch {
      throw new Refusal('invalid', `Line ${line} is not valid JSON.`)
    }
    if (typeof value !== 'object' || value === null || Array.isArray(value))
      throw new Refusal('invalid', `Line ${line} is not a JSON object.`)
    this.#records++
  }
}
