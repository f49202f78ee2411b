import pino, { type Logger } from 'pino'
import { BATCH, LIMITS, LineBatch, type LogDestination } from './line-batch.ts'
import type { Metrics } from './metrics.ts'

/** Longest message of an error that is logged, in characters. */
const MAX_MESSAGE = 1000
/** The most causes of an error that are logged. */
const MAX_CAUSES = 5

/** Secrets that a library may log: the secret part of a key or a JWT, and a submission's token. */
const SECRETS = /(mahi_[0-9a-f]{12})_[\w-]{43}|\beyJ[\w-]+\.[\w-]+\.[\w-]*|(\/submissions\/)[^/"?\s]+/g

export interface Log {
  readonly logger: Logger
  /**
   * Writes a line of level info from already rendered fields, such as `"id":"1","status":200`, if that level is
   * enabled. Rendering an object takes longer than finding a page.
   */
  readonly writeInfo: (fields: string) => void
  /** The same at level debug. */
  readonly writeDebug: (fields: string) => void
}

/**
 * The log: JSON lines on standard output. Lines are written asynchronously and in batches, so that no request waits for
 * a slow reader of the log. The remaining lines are written when the process exits.
 */
export function openLog(level: string, metrics: Metrics): Log {
  const batch = new LineBatch(
    pino.destination({ fd: 1, sync: false, maxLength: LIMITS.requests + LIMITS.others + 2 * BATCH }),
  )
  metrics.counter(
    'mahi_log_lines_dropped_total',
    'Log lines that were dropped because nobody read them fast enough: request lines first, audit lines last.',
    () => batch.dropped,
    'kind',
  )
  process.on('exit', () => batch.flushSync())
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
    const write = (fields: string) => writeRequest(`${begin}${nameTime()},${fields}}\n`)
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

let last = 0
let named = ''

/** The time in pino's format: RFC 3339, rendered once a millisecond. */
function nameTime(): string {
  const now = Date.now()
  if (now !== last) {
    last = now
    named = `,"time":"${new Date(now).toISOString()}"`
  }
  return named
}
