import { getOrMake } from '../../../foundation/get-or-make.ts'
import type { Field, RecordCheck } from '../definition/definition.ts'
import { compileValues } from '../definition/values.ts'
import type { Extras } from './found.ts'
import { toMillionths } from './millionths.ts'

export type Spread = Extract<RecordCheck, { kind: 'spread' }>

/**
 * Compiles the search for the first wrong month of a `spread` check, from 1: its part, and the total divided by the
 * months of the period, rounded down. A month belongs to the period if any of its days does. Months are counted from January of the return's year, so 0 is the preceding December.
 */
export function compileSpread(
  check: Spread,
  fields: readonly Field[],
  year: number,
): (values: readonly string[]) => Extras | undefined {
  const { total, parts, decimals, months } = check
  const unit = 10 ** (6 - decimals)
  const firstMonth = compileMonth(fields[check.from], year)
  const lastMonth = compileMonth(fields[check.to], year)
  const none = (0).toFixed(decimals)
  // Cached, because few courses have many enrolments, so the same division recurs.
  const shares = new Map<string, Map<number, string>>()
  const shareOf = (text: string, count: number): string => {
    if (shares.size > MOST_SHARES) shares.clear()
    const ofText = getOrMake(shares, text, () => new Map<number, string>())
    return getOrMake(ofText, count, () => {
      const units = Math.floor(toMillionths(text) / (count * unit))
      return ((units * unit) / 1e6).toFixed(decimals)
    })
  }
  return (values) => {
    const text = values[total] ?? ''
    const from = values[check.from] ?? ''
    const to = values[check.to] ?? ''
    if (from === '' || to === '' || (text === '' && months === 'within')) return undefined
    const first = firstMonth(from)
    const last = lastMonth(to)
    if (last < first) return undefined
    const share = text === '' ? none : shareOf(text, last - first + 1)
    const expected = months === 'within' ? share : none
    for (let index = 0; index < parts.length; index++) {
      const inside = index + 1 >= first && index + 1 <= last
      if (inside !== (months === 'within')) continue
      const value = values[parts[index] as number] ?? ''
      // Usually the same text; other spellings of the number are also correct.
      if (value === expected || value === '' || toMillionths(value) === toMillionths(expected)) continue
      return { month: String(index + 1), value, share }
    }
    return undefined
  }
}

const MOST_SHARES = 10_000

function compileMonth(field: Field | undefined, year: number): (value: string) => number {
  if (field === undefined) throw new Error('the field of a spread check does not exist')
  const { toSql } = compileValues(field)
  return (value) => {
    const date = String(toSql(value))
    return (Number(date.slice(0, 4)) - year) * 12 + Number(date.slice(5, 7))
  }
}
