import { UserError } from '../../../foundation/faults/user-error.ts'
import { quote } from '../../../foundation/text/quote.ts'
import type { Definition } from './definition.ts'

/** The parameters of a check besides the files: the return, and the date for which codes and rules are valid. */
export interface Parameters {
  readonly returnId: string | null
  readonly returnYear: number | null
  readonly returnMonth: number | null
  /** The first and last day of the return's year. */
  readonly returnStart: string | null
  readonly returnEnd: string | null
  readonly asOf: string
}

/**
 * Determines the parameters of a check from the return id and the as-of date, if given.
 *
 * @throws {UserError} if the return id or the date does not have the format of the definition
 */
export function resolveParameters(
  { name, returns }: Definition,
  { returnId, asOf }: { returnId?: string | undefined; asOf?: string | undefined } = {},
): Parameters {
  const id = returnId ?? returns.default ?? null
  if (id !== null && returns.pattern?.test(id) === false)
    throw new UserError(`${name} has no return ${quote(id)}${describeReturns(returns, id)}`)
  if (asOf !== undefined && !isDate(asOf))
    throw new UserError(`the as-of date must be a date such as 2025-12-31, not ${JSON.stringify(asOf)}`)
  const [, year, month] = /^((?:19|20)\d\d)(0[1-9]|1[0-2])?/.exec(id ?? '') ?? []
  return {
    returnId: id,
    returnYear: year === undefined ? null : Number(year),
    returnMonth: month === undefined ? null : Number(month),
    returnStart: year === undefined ? null : `${year}-01-01`,
    returnEnd: year === undefined ? null : `${year}-12-31`,
    asOf: asOf ?? endOf(year, month),
  }
}

/** The returns of the same year if the id is a month, or else how a return is written; nothing if neither is known. */
function describeReturns({ pattern, default: example }: Definition['returns'], id: string): string {
  const [, year] = /^((?:19|20)\d\d)(?:0[1-9]|1[0-2])$/.exec(id) ?? []
  const months = Array.from({ length: 12 }, (_, month) => `${year}${String(month + 1).padStart(2, '0')}`)
  const known = months.filter((month) => pattern?.test(month))
  if (known.length > 0) return `; its returns of ${year} are ${known.join(', ')}`
  return example === undefined ? '' : `; a return is written like ${example}`
}

/** The last day of a month or year; without a year, the current date in UTC. */
function endOf(year: string | undefined, month = '12'): string {
  if (year === undefined) return new Date().toISOString().slice(0, 10)
  return new Date(Date.UTC(Number(year), Number(month), 0)).toISOString().slice(0, 10)
}

const DAYS = [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]

/**
 * Whether a text is an ISO calendar date. Compares single characters, because it runs for every date in every record.
 */
export function isDate(text: string): boolean {
  if (text.length !== 10 || text.charCodeAt(4) !== 45 || text.charCodeAt(7) !== 45) return false
  const year = digits(text, 0, 4)
  const month = digits(text, 5, 7)
  const day = digits(text, 8, 10)
  if (year < 0 || month < 1 || month > 12 || day < 1) return false
  const leap = year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0)
  return day <= (month === 2 && leap ? 29 : (DAYS[month - 1] ?? 0))
}

/** The number formed by digits, or -1 for other characters. */
function digits(text: string, from: number, to: number): number {
  let number = 0
  for (let at = from; at < to; at++) {
    const digit = text.charCodeAt(at) - 48
    if (digit < 0 || digit > 9) return -1
    number = number * 10 + digit
  }
  return number
}
