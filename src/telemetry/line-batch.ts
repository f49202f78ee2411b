import type { DestinationStream } from 'pino'

/** Characters of lines that are written at once, or after so many milliseconds however few there are. */
export const BATCH = 32 * 1024
const LATEST = 100

/** Characters of lines that may wait for whoever reads the log, and how many more where they are not of requests. */
export const LIMITS = { requests: 16 * 2 ** 20, others: 16 * 2 ** 20 }

/** Lines that were dropped, by what they are of. */
export type Dropped = Record<'request' | 'audit' | 'other', number>

/** Where lines go. */
export interface LogDestination extends DestinationStream {
  /** Writes the line of a request, which is the first to be dropped where there is no room; as `write` if not given. */
  writeRequest?(line: string): void
}

/** What writes asynchronously, and says how much it has written. */
interface Output {
  write(text: string): boolean
  flushSync(): void
  on(event: 'write', listener: (bytes: number) => void): unknown
  on(event: 'drop', listener: (text: string) => void): unknown
}

/**
 * Lines that wait to be written together: handing each over by itself takes longer than making it. Where nobody reads
 * them, the lines of requests are dropped first; those that say who was refused, and what fails, have as much room
 * again.
 */
export class LineBatch implements LogDestination {
  readonly dropped: Dropped = { request: 0, audit: 0, other: 0 }
  /** Called when there is room again after lines were dropped, with how many they were. */
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

  /** For the last lines of a process. */
  flushSync(): void {
    try {
      this.#tell()
      this.#handOver()
      this.#output.flushSync()
    } catch {
      // Whoever read the log has gone.
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

  /** Says what was dropped since it was last said. */
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
