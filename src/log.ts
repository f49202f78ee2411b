import pino, { type Logger } from 'pino'
import type { Metrics } from './http/metrics.ts'

/** Bytes of lines that may wait for whoever reads the log; what comes beyond is dropped, and counted. */
const CAPACITY = 16 * 2 ** 20

/** Bytes of lines that are written at once, or after so many milliseconds however few there are. */
const BATCH = 4096
const LATEST = 100

/**
 * The log, JSON lines on standard output. Lines are written behind the requests' backs, and several at a time where
 * there are many: nobody waits for a slow reader of the log. What is left is written when the process exits.
 */
export function openLog(level: string, metrics: Metrics): Logger {
  const destination = pino.destination({
    fd: 1,
    sync: false,
    maxLength: CAPACITY,
    minLength: BATCH,
    periodicFlush: LATEST,
  })
  let dropped = 0
  destination.on('drop', () => dropped++)
  metrics.gauge(
    'mahi_log_lines_dropped',
    'Log lines that were dropped because nobody read them fast enough.',
    () => dropped,
  )
  return pino(
    { level, base: null, timestamp: nameTime, serializers: { err: pino.stdSerializers.err } },
    destination,
  )
}

let last = 0
let named = ''

/** The time as pino writes it into a line: RFC 3339, rendered once a millisecond. */
function nameTime(): string {
  const now = Date.now()
  if (now !== last) {
    last = now
    named = `,"time":"${new Date(now).toISOString()}"`
  }
  return named
}
