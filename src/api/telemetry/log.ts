import pino, { type Logger } from 'pino'
import sonicBoom from 'sonic-boom'
import type { Metrics } from './metrics.ts'

/** Longest message of an error that is logged, in characters. */
const MAX_MESSAGE = 1000
/** The most causes of an error that are logged. */
const MAX_CAUSES = 5

/** Secrets that a library may log: the secret part of a key or a JWT, and a submission's token. */
const SECRETS =
  /(mahi_[0-9a-f]{12})_[\w-]{43}|(?<![\w-])eyJ[\w-]+\.[\w-]+\.[\w-]*|(\/submissions\/)[^/"?\s]+/g

export interface Log {
  readonly logger: Logger
  /** Writes the lines of requests, the first kind to be dropped when there is no room. */
  readonly requests: Logger
}

/**
 * The log: JSON lines on standard output. Lines are written asynchronously and in batches, so that no request waits for
 * a slow reader of the log. The remaining lines are written when the process exits.
 */
export function openLog(level: string, metrics: Metrics): Log {
  let isExiting = false
  let attempts = LAST_ATTEMPTS
  const output = new sonicBoom.SonicBoom({
    fd: 1,
    sync: false,
    minLength: BATCH,
    maxWrite: 2 * BATCH,
    periodicFlush: LATEST,
    maxLength: LIMITS.requests + LIMITS.others + 2 * BATCH,
    retryEAGAIN: () => !isExiting || attempts-- > 0,
  })
  const lines = new LogLines(output)
  metrics.report([
    {
      name: 'mahi_log_lines_dropped_total',
      help: 'Log lines that were dropped because nobody read them fast enough: request lines first, audit lines last.',
      read: () => lines.dropped,
      label: 'kind',
    },
  ])
  process.on('exit', () => {
    isExiting = true
    lines.flushSync()
  })
  const log = createLog(level, lines)
  lines.onRoom = (dropped) =>
    log.logger.error({ dropped }, 'log lines were dropped because the log was read too slowly')
  return log
}

/** A log that redacts secrets in every line. */
export function createLog(level: string, { write, writeRequest = write }: LogDestination): Log {
  const open = (write: LogDestination['write']) =>
    pino(
      {
        level,
        base: null,
        timestamp: pino.stdTimeFunctions.isoTime,
        formatters: { level: (name) => ({ level: name }) },
        // Fastify's own would log the URL and the client address of a request.
        serializers: { err: describeError, error: describeError, req: leaveOut, res: leaveOut },
        hooks: { streamWrite: redact },
      },
      { write },
    )
  return { logger: open(write), requests: open(writeRequest) }
}

/**
 * The message and stack of an error. Details that drivers add, such as the row that PostgreSQL rejected, are data and
 * are left out.
 */
function describeError(error: unknown): unknown {
  if (!(error instanceof Error)) return { message: typeof error }
  const causes: Error[] = [error]
  for (let cause = error.cause; cause instanceof Error && causes.length < MAX_CAUSES; cause = cause.cause)
    causes.push(cause)
  return {
    type: error.name,
    ...('code' in error && typeof error.code === 'string' && { code: error.code }),
    message: causes.map(({ message }) => message.slice(0, MAX_MESSAGE)).join(': '),
    stack: causes.map(describeStack).join('\ncaused by '),
  }
}

function describeStack({ name, message, stack = '' }: Error): string {
  // The stack repeats the message, which may be long.
  const start = stack.indexOf('\n    at ')
  return `${name}: ${message.slice(0, MAX_MESSAGE)}${start === -1 ? '' : stack.slice(start)}`
}

function leaveOut(): undefined {
  return undefined
}

/** Lines with a message may come from a library and contain a URL. Request lines have no message. */
function redact(line: string): string {
  return line.includes('"msg":') ? line.replaceAll(SECRETS, '$1$2…') : line
}

/** How often a process that exits tries to hand its last lines to a reader that is busy, ten times a second. */
const LAST_ATTEMPTS = 20

/** Lines are written after this many characters, or after this many milliseconds. */
const BATCH = 32 * 1024
const LATEST = 100

/**
 * The most characters of lines that may wait for a slow reader, and the additional room for lines other than request
 * lines.
 */
export const LIMITS = { requests: 16 * 2 ** 20, others: 16 * 2 ** 20 }

/** The number of dropped lines by kind. */
export type Dropped = Record<'request' | 'audit' | 'other', number>

export interface LogDestination {
  readonly write: (line: string) => void
  /** Writes the line of a request; defaults to `write`. */
  readonly writeRequest?: (line: string) => void
}

/** Writes asynchronously, in batches, and reports how much it has written. */
interface Output {
  write(text: string): boolean
  flushSync(): void
  on(event: 'write', listener: (bytes: number) => void): unknown
  on(event: 'drop', listener: (text: string) => void): unknown
  /** The lines cannot be written any more, usually because their reader has exited. */
  on(event: 'error', listener: () => void): unknown
}

/**
 * Drops log lines that nobody reads: those of requests first. Lines about refused callers and failures have as much room
 * again.
 */
export class LogLines implements LogDestination {
  readonly dropped: Dropped = { request: 0, audit: 0, other: 0 }
  /** Called with the number of dropped lines once there is room again. */
  onRoom: (dropped: Readonly<Dropped>) => void = () => undefined
  readonly #output: Output
  readonly #limits: typeof LIMITS
  #waiting = 0
  #told: Readonly<Dropped> = { request: 0, audit: 0, other: 0 }
  #isClosed = false

  constructor(output: Output, limits = LIMITS) {
    this.#output = output
    this.#limits = limits
    output.on('write', (bytes) => {
      this.#waiting = Math.max(0, this.#waiting - bytes)
      if (this.#waiting < this.#limits.requests / 2) this.#tell()
    })
    output.on('error', () => {
      this.#isClosed = true
    })
    output.on('drop', (lines) => {
      this.dropped.other += lines.split('\n').length - 1
    })
  }

  readonly write = (line: string): void => {
    const kind = line.includes('"audit":') ? 'audit' : 'other'
    this.#write(line, kind, this.#limits.requests + this.#limits.others)
  }

  readonly writeRequest = (line: string): void => this.#write(line, 'request', this.#limits.requests)

  /** Writes the last lines of a process. */
  flushSync(): void {
    if (this.#isClosed) return
    try {
      this.#tell()
      this.#output.flushSync()
    } catch {
      // The reader of the log has exited.
    }
  }

  #write(line: string, kind: keyof Dropped, most: number): void {
    const bytes = Buffer.byteLength(line)
    if (this.#isClosed || this.#waiting + bytes > most) {
      this.dropped[kind]++
      return
    }
    this.#waiting += bytes
    this.#output.write(line)
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
