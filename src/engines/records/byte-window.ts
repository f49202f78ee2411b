import type { RecordFault } from './record-fault.ts'

/** The longest record, in bytes; a longer one is a fault. */
export const MAX_CHECKED_RECORD = 256 * 1024

/**
 * Copies the next bytes of a file to the start of a buffer.
 *
 * @returns how many; 0 at the end of the file, `undefined` if more may come later
 */
export type Source = (into: Buffer) => number | undefined

/** Reads the records of a file one by one. Its properties describe the current record. */
export interface RecordReader {
  /** Moves to the next record; false after the last one, or if its source has no more bytes for now. */
  next(): boolean
  /** The values of the record are the first `count` cells. */
  readonly cells: string[]
  readonly count: number
  /** The offset of the record in the file, in bytes. */
  readonly offset: number
  /** The line on which the record starts, from 1. */
  readonly line: number
  /** Why the record cannot be read. */
  readonly fault: RecordFault | undefined
  /** The record as it is in the file; the start of an overlong one. */
  readonly text: string
}

export interface WindowOptions {
  /** The longest record, in bytes. */
  readonly longest?: number | undefined
  /** Whether the byte order mark of the file, if any, was passed over already. */
  readonly isMarkPassed?: boolean | undefined
  /**
   * Bytes that are read at once. The text of more than 128 KiB is an object of its own for V8, which takes new memory
   * from the system each time: reading then takes a fifth more.
   */
  readonly chunk?: number | undefined
}

/** The part of a file that is in memory: at most one record and one chunk. Its start is the unread part. */
export abstract class ByteWindow {
  protected readonly longest: number
  protected readonly buffer: Buffer
  /** The file offset of the start of the buffer. */
  protected base = 0
  protected filled = 0
  protected at = 0
  protected ended = false
  /** Whether a byte order mark may come. */
  protected atStart: boolean
  readonly #source: Source
  readonly #chunk: number

  constructor(
    source: Source,
    { longest = MAX_CHECKED_RECORD, chunk = 1 << 16, isMarkPassed = false }: WindowOptions = {},
  ) {
    this.atStart = !isMarkPassed
    this.#source = source
    this.#chunk = chunk
    this.longest = longest
    this.buffer = Buffer.allocUnsafeSlow(longest + chunk + 64)
  }

  /** The fault of a record that is too long. */
  get tooLong(): RecordFault {
    return { code: 'too-long', message: `The record is longer than ${this.longest / 1024} KiB.` }
  }

  /** False if more bytes are needed to know whether the file begins with a byte order mark. */
  protected passMark(): boolean {
    while (this.filled < 3 && !this.ended) if (!this.fill() && !this.ended) return false
    if (this.filled >= 3 && this.buffer.toString('latin1', 0, 3) === '\xef\xbb\xbf') this.at = 3
    this.atStart = false
    return true
  }

  /** Moves unread bytes to the start of the buffer, and reads more; false if there are none for now, or any more. */
  protected fill(): boolean {
    const rest = this.filled - this.at
    if (this.at > 0) this.buffer.copy(this.buffer, 0, this.at, this.filled)
    this.base += this.at
    this.at = 0
    const read = this.#source(this.buffer.subarray(rest, Math.min(rest + this.#chunk, this.buffer.length)))
    this.filled = rest + (read ?? 0)
    this.ended = read === 0
    return (read ?? 0) > 0
  }
}
