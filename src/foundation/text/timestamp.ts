/** An instant, as exact as it was written. */
export interface Timestamp {
  /** Whole milliseconds since 1970-01-01T00:00:00Z, rounded down. */
  readonly milliseconds: number
  /** Whether the instant is later than that millisecond, by a fraction of one. */
  readonly fraction: boolean
}

const RFC_3339 = /^(\d{4})-(\d{2})-(\d{2})[Tt ](\d{2}):(\d{2}):(\d{2})(?:\.(\d+))?([Zz]|[+-]\d{2}:\d{2})?$/

/**
 * Parses a date-time of RFC 3339, section 5.6. Without an offset, it is in UTC. A leap second is the first instant of
 * the next minute.
 *
 * @returns `undefined` if the text is not a date-time, or the day or time does not exist
 */
export function parseTimestamp(text: string): Timestamp | undefined {
  const match = RFC_3339.exec(text)
  if (match === null) return undefined
  const [year, month, day, hour, minute, second] = match.slice(1, 7).map(Number) as [
    number,
    number,
    number,
    number,
    number,
    number,
  ]
  if (month < 1 || month > 12 || day < 1 || day > daysInMonth(year, month)) return undefined
  if (hour > 23 || minute > 59 || second > 60) return undefined

  const offset = readOffset(match[8])
  if (offset === undefined) return undefined
  // Date.UTC maps the years 0 to 99 to 1900 to 1999; setUTCFullYear does not. Second 60 would carry into the next
  // day, and setUTCFullYear would undo that, so the leap second is added at the end.
  const leap = second === 60
  const date = new Date(Date.UTC(2000, month - 1, day, hour, minute, leap ? 59 : second))
  date.setUTCFullYear(year, month - 1, day)
  const start = date.getTime() - offset * 60_000
  if (leap) return isEndOfDay(start) ? { milliseconds: start + 1000, fraction: false } : undefined
  const digits = match[7] ?? ''
  return {
    milliseconds: start + Number(digits.slice(0, 3).padEnd(3, '0')),
    fraction: /[1-9]/.test(digits.slice(3)),
  }
}

/** Leap seconds occur only at the end of a UTC day (RFC 3339, section 5.7). */
function isEndOfDay(milliseconds: number): boolean {
  const date = new Date(milliseconds)
  return date.getUTCHours() === 23 && date.getUTCMinutes() === 59
}

/** The offset in minutes ahead of UTC. */
function readOffset(text: string | undefined): number | undefined {
  if (text === undefined || text === 'Z' || text === 'z') return 0
  const hours = Number(text.slice(1, 3))
  const minutes = Number(text.slice(4, 6))
  if (hours > 23 || minutes > 59) return undefined
  return (text.startsWith('-') ? -1 : 1) * (hours * 60 + minutes)
}

function daysInMonth(year: number, month: number): number {
  if (month === 2) return (year % 4 === 0 && year % 100 !== 0) || year % 400 === 0 ? 29 : 28
  return [4, 6, 9, 11].includes(month) ? 30 : 31
}

/** The format of every date in a response: UTC, with milliseconds and `Z`. */
export function formatTimestamp(milliseconds: number): string {
  return new Date(milliseconds).toISOString()
}

/** The same of a time that may be unknown. */
export function formatKnown(milliseconds: number | null | undefined): string | undefined {
  return milliseconds ? formatTimestamp(milliseconds) : undefined
}
