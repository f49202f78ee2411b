import { isAscii, isUtf8 } from 'node:buffer'
import { CsvSplitter, MAX_RECORD_BYTES } from './csv-records.ts'
import { Refusal } from './refusal.ts'

export type Format = 'csv' | 'ndjson'

/** Looks at a file as it arrives, and refuses it at the first byte that no file may have. */
export interface Scanner {
  /** @throws {Refusal} */
  push(chunk: Buffer): void
  /** Called after the last chunk; answers how many records there are. */
  end(): number
}

export function createScanner(format: Format): Scanner {
  return new TextScanner(format === 'csv' ? new CsvCounter() : new NdjsonCounter())
}

interface Counter {
  /** @param line the number of the first line of these bytes, which hold whole lines only */
  push(lines: Buffer, line: number): void
  end(): number
}

/** Checks the encoding, and hands whole lines on. */
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
    // A line without an end is handed on in parts: only its length matters then.
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

/** How many lines before the first one that is not UTF-8. */
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

function refuseFormat(start: Buffer): void {
  const signature = start.subarray(0, 8).toString('latin1')
  const known: [string, string][] = [
    ['PK\x03\x04', 'a ZIP archive or an Excel workbook'],
    ['\xd0\xcf\x11\xe0', 'an Excel workbook'],
    ['%PDF', 'a PDF document'],
    ['\x1f\x8b', 'gzip: send it with Content-Encoding: gzip'],
    ['\xff\xfe', 'UTF-16: export it as UTF-8'],
    ['\xfe\xff', 'UTF-16: export it as UTF-8'],
  ]
  const name = known.find(([prefix]) => signature.startsWith(prefix))?.[1]
  if (name !== undefined) throw new Refusal('unsupported', `The file is ${name}, not text in UTF-8.`)
  const zeros = (offset: number) => [0, 2, 4, 6].every((at) => start[at + offset] === 0)
  if (start.length >= 8 && zeros(0) !== zeros(1))
    throw new Refusal('unsupported', 'The file is UTF-16: export it as UTF-8.')
}

/** Records of a CSV file, the header not counted. What is wrong with one of them is a finding of its validation. */
class CsvCounter implements Counter {
  readonly #splitter = new CsvSplitter()
  #records = 0

  push(lines: Buffer): void {
    // Without a quote each line is a record: counting them takes a tenth of the time of splitting them.
    if (this.#splitter.idle && lines.at(-1) === LF && !lines.includes(QUOTE))
      this.#records += countLines(lines)
    else for (const _ of this.#splitter.push(lines)) this.#records++
  }

  end(): number {
    for (const _ of this.#splitter.end()) this.#records++
    if (this.#records === 0) throw new Refusal('invalid', 'The file has only empty lines.')
    return this.#records - 1
  }
}

const LF = 0x0a
const CR = 0x0d
const QUOTE = 0x22

/** Lines that are not empty. */
function countLines(bytes: Buffer): number {
  let count = 0
  let start = 0
  for (let end = bytes.indexOf(LF); end !== -1; end = bytes.indexOf(LF, start)) {
    if (end > start && (end > start + 1 || bytes[start] !== CR)) count++
    start = end + 1
  }
  return count
}

/** Records of an NDJSON file: each line has to be an object, or the line is named. */
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
