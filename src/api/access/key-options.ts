import { InvalidArgumentError } from 'commander'
import { say } from '../../foundation/command-line/terminal.ts'
import { type Fault, UserError } from '../../foundation/faults/user-error.ts'
import { quote } from '../../foundation/text/quote.ts'
import { parseTimestamp } from '../../foundation/text/timestamp.ts'
import { type Change, writeChange } from './audit.ts'
import { EID } from './principal.ts'

/** Reads a date, a date-time or `never`. */
export function readExpiry(text: string): number {
  if (text === 'never') return Date.parse('9999-12-31T23:59:59.999Z')
  const timestamp = parseTimestamp(/^\d{4}-\d{2}-\d{2}$/.test(text) ? `${text}T23:59:59Z` : text)
  if (timestamp === undefined)
    throw new InvalidArgumentError('It must be a date such as 2027-06-30, a date-time, or never.')
  if (timestamp.milliseconds <= Date.now()) throw new InvalidArgumentError('It is in the past.')
  return timestamp.milliseconds
}

export function inTwelveMonths(): number {
  const date = new Date()
  date.setUTCFullYear(date.getUTCFullYear() + 1)
  return date.getTime()
}

/**
 * Normalises the name of a client and its organisations.
 *
 * @param listed each may be several comma-separated identifiers
 * @throws {UserError} with every fault
 */
export function readNames(given: string, listed: readonly string[]): { name: string; eid: string[] } {
  const name = tidyName(given)
  const eid = listed.flatMap((text) => text.split(',')).map((text) => text.trim())
  const faults: Fault[] = [
    ...(isClientName(name) ? [] : [refusedName(name)]),
    ...eid
      .filter((each) => !EID.test(each))
      .map((each) => ({
        field: '--eid',
        message: `must be identifiers of 1 to 64 visible ASCII characters, comma-separated, not ${quote(each)}`,
      })),
  ]
  if (faults.length > 0) throw new UserError(faults)
  return { name, eid }
}

/** @throws {UserError} */
export function readClientName(given: string): string {
  const name = tidyName(given)
  if (!isClientName(name)) throw new UserError([refusedName(name)])
  return name
}

/** The id of a key, also if the whole key is given. */
export function readKeyId(given: string): string {
  return /^mahi_[0-9a-f]{12}/.exec(given)?.[0] ?? given
}

function tidyName(text: string): string {
  return text.normalize('NFC').trim()
}

function refusedName(name: string): Fault {
  return { field: '--client', message: `must be ${CLIENT_NAME}, not ${quote(name)}` }
}

const CLIENT_NAME = '1 to 64 letters, digits, punctuation marks or single spaces between words'

/** A name in any script, without control characters or characters that change the text direction. */
function isClientName(text: string): boolean {
  return (
    /^[\p{L}\p{M}\p{N}\p{P}\p{S}]+(?: [\p{L}\p{M}\p{N}\p{P}\p{S}]+)*$/u.test(text) && [...text].length <= 64
  )
}

/** Writes an audit line if messages go to a file or a log; on a terminal, the user has already seen the result. */
export function reportChange(change: Change): void {
  if (!process.stderr.isTTY) say(writeChange(change))
}
