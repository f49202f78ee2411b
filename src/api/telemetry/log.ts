import pino, { type DestinationStream, type Logger } from 'pino'
import sonicBoom from 'sonic-boom'
import type { Metrics } from './metrics.ts'

/** The time as RFC 3339. */
const nameTime = pino.stdTimeFunctions.isoTime

/** Longest message of an error that is logged, in characters. */
const MAX_MESSAGE = 1000
/** The most causes of an error that are logged. */
const MAX_CAUSES = 5

/** Secrets that a library may log: the secret part of a key or a JWT, and a submission's token. */
const SECRETS =
  /(mahi_[0-9a-f]{12})_[\w-]{43}|(?<![\w-])eyJ[\w-]+\.[\w-]+\.[\w-]*|(\/submissions\/)[^/"?\s]+/g

export interface Log {
  readonly logger: Logger
  /**
   * Writes a line about a request at level info, if that is enabled. Measured: rendering it with pino takes a tenth of
   * the time of a page from memory.
   */
  readonly writeInfo: (fields: object) => void
  /** The same at level debug. */
  readonly writeDebug: (fields: object) => void
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
    maxLength: LIMITS.requests + LIMITS.others + 2 * BATCH,
    retryEAGAIN: () => !isExiting || attempts-- > 0,
  })
  const batch = new LineBatch(output)
  metrics.counter(
    'mahi_log_lines_dropped_total',
    'Log lines that were dropped because nobody read them fast enough: request lines first, audit lines last.',
    () => batch.dropped,
    'kind',
  )
  process.on('exit', () => {
    isExiting = true
    batch.flushSync()
  })
  const log = createLog(level, batch)
  batch.onRoom = (dropped) =>
    log.logger.error({ dropped }, 'log lines were dropped because the log was read too slowly')
  return log
}

/** A log that redacts secrets in every line. */
export function createLog(level: string, destination: LogDestination): Log {
  const logger = pino(
    {
      level,
      base: null,
      timestamp: nameTime,
      formatters: { level: (name) => ({ level: name }) },
      // Fastify's own would log the URL and the client address of a request.
      serializers: { err: describeError, error: describeError, req: leaveOut, res: leaveOut },
      hooks: { streamWrite: redact },
    },
    destination,
  )
  const writeRequest = (line: string) =>
    destination.writeRequest === undefined ? destination.write(line) : destination.writeRequest(line)
  const writer = (name: 'info' | 'debug') => {
    const begin = `{"level":"${name}"`
    const write = (fields: object) =>
      writeRequest(`${begin}${nameTime()},${JSON.stringify(fields).slice(1)}\n`)
    return logger.isLevelEnabled(name) ? write : () => undefined
  }
  return { logger, writeInfo: writer('info'), writeDebug: writer('debug') }
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
  /** The lines cannot be written any more, usually because their reader has exited. */
  on(event: 'error', listener: () => void): unknown
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

  write(line: string): void {
    if (this.#isClosed || this.#length + line.length > this.#limits.requests + this.#limits.others)
      this.dropped[line.includes('"audit":') ? 'audit' : 'other']++
    else this.#add(line)
  }

  writeRequest(line: string): void {
    if (this.#isClosed || this.#length + line.length > this.#limits.requests) this.dropped.request++
    else this.#add(line)
  }

  /** Writes the last lines of a process. */
  flushSync(): void {
    if (this.#isClosed) return
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
    if (this.#lines === '' || this.#isClosed) return
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
