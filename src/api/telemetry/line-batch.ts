import type { DestinationStream } from 'pino'

/** Lines are written after this many characters, or after this many milliseconds. */
export const BATCH = 32 * 1024
const LATEST = 100

/**
 * The most characters of lines that may wait for a slow reader, and the additional room for lines other than request
 * lines.
 */
export const LIMITS = { requests: 16 * 2 ** 20, others: 16 * 2 ** 20 }

/** The number of dropped lines by kind. */
export type Dropped = Record<'request' | 'audit' | 'other', number>

export interface LogDestination extends DestinationStream {
  /** Writes a request line, the first kind to be dropped when there is no room. Defaults to `write`. */
  writeRequest?(line: string): void
}

/** Writes asynchronously and reports how much it has written. */
interface Output {
  write(text: string): boolean
  flushSync(): void
  on(event: 'write', listener: (bytes: number) => void): unknown
  on(event: 'drop', listener: (text: string) => void): unknown
}

/**
 * Batches log lines: writing each one separately takes longer than rendering it. If nobody reads the log, request
 * lines are dropped first. Lines about refused callers and failures have as much room again.
 */
export class LineBatch implements LogDestination {
  readonly dropped: Dropped = { request: 0, audit: 0, other: 0 }
  /** Called with the number of dropped lines once there is room again. */
  onRoom: (dropped: Readonly<Dropped>) => void = () => undefined
  readonly #output: Output
  readonly #limits: typeof LIMITS
  #lines = ''
  #waiting = 0
  #told: Readonly<Dropped> = { request: 0, audit: 0, other: 0 }
  #timer: NodeJS.Timeout | undefined

  constructor(output: Output, limits = LIMITS) {
    this.#output = output
    this.#limits = limits
    output.on('write', (bytes) => {
      this.#waiting = Math.max(0, this.#waiting - bytes)
      if (this.#waiting < this.#limits.requests / 2) this.#tell()
    })
    output.on('drop', (lines) => {
      this.dropped.other += lines.split('\n').length - 1
    })
  }

  write(line: string): void {
    if (this.#length + line.length > this.#limits.requests + this.#limits.others)
      this.dropped[line.includes('"audit":') ? 'audit' : 'other']++
    else this.#add(line)
  }

  writeRequest(line: string): void {
    if (this.#length + line.length > this.#limits.requests) this.dropped.request++
    else this.#add(line)
  }

  /** Writes the last lines of a process. */
  flushSync(): void {
    try {
      this.#tell()
      this.#handOver()
      this.#output.flushSync()
    } catch {
      // The reader of the log has exited.
    }
  }

  get #length(): number {
    return this.#waiting + this.#lines.length
  }

  #add(line: string): void {
    this.#lines += line
    if (this.#lines.length >= BATCH) this.#handOver()
    else this.#timer ??= setTimeout(() => this.#handOver(), LATEST).unref()
  }

  #handOver(): void {
    clearTimeout(this.#timer)
    this.#timer = undefined
    if (this.#lines === '') return
    this.#waiting += Buffer.byteLength(this.#lines)
    this.#output.write(this.#lines)
    this.#lines = ''
  }

  /** Reports the lines dropped since the last report. */
  #tell(): void {
    const { request, audit, other } = this.dropped
    const before = this.#told
    if (request + audit + other === before.request + before.audit + before.other) return
    this.#told = { request, audit, other }
    this.onRoom({
      request: request - before.request,
      audit: audit - before.audit,
      other: other - before.other,
    })
  }
}
