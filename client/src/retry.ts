/** Bounds of the pause between two attempts, in milliseconds. */
const SHORTEST_PAUSE = 250
const LONGEST_PAUSE = 8_000

/**
 * The pause before attempt `attempt + 1`, in milliseconds: doubling, with jitter so that clients do not retry in
 * step.
 */
export function choosePause(attempt: number): number {
  return Math.min(LONGEST_PAUSE, SHORTEST_PAUSE * 2 ** attempt) * (0.5 + Math.random() / 2)
}

/**
 * Seconds to wait according to Retry-After, which is a number of seconds or an HTTP date (RFC 9110, section 10.2.3).
 * A date is compared with the server's clock if the response contains it.
 */
export function readRetryAfter(headers: Headers): number | undefined {
  const value = headers.get('retry-after') ?? ''
  const now = Date.parse(headers.get('date') ?? '') || Date.now()
  const seconds = /^\d+$/.test(value) ? Number(value) : Math.ceil((Date.parse(value) - now) / 1000)
  return Number.isNaN(seconds) ? undefined : Math.max(0, seconds)
}
