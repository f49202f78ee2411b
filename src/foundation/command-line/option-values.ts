import { InvalidArgumentError } from 'commander'
import { formatNumber } from '../text/format-number.ts'
import { parseTimestamp } from '../text/timestamp.ts'

/** Reads a date, which begins in UTC, or a date-time. Returns milliseconds since 1970. */
export function readTime(text: string): number {
  const timestamp = parseTimestamp(/^\d{4}-\d{2}-\d{2}$/.test(text) ? `${text}T00:00:00Z` : text)
  if (timestamp !== undefined) return timestamp.milliseconds
  throw new InvalidArgumentError('It must be a date such as 2027-06-30, or a date-time.')
}

/** Creates a reader of whole numbers. */
export function readWhole(least: number, most: number): (text: string) => number {
  const range = `${formatNumber(least)} to ${formatNumber(most)}`
  return (text) => {
    const number = /^\d+$/.test(text) ? Number(text) : Number.NaN
    if (number >= least && number <= most) return number
    throw new InvalidArgumentError(`It must be a whole number from ${range}.`)
  }
}
