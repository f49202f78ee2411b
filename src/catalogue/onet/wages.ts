import { refuse } from '../../foundation/faults/faults.ts'
import type { Fault } from '../../foundation/faults/user-error.ts'
import { isExact } from '../../foundation/text/exact-number.ts'
import { quote } from '../../foundation/text/quote.ts'
import type { OccupationRecord } from '../records/schema.ts'
import { type Row, readTable } from './table.ts'

type Pay = NonNullable<OccupationRecord['renumeration']>

export interface Wages {
  /** By SOC code, such as `11-1011`; only occupations with at least one known wage. */
  readonly pay: ReadonlyMap<string, Pay>
  /** The codes of all detailed rows, including those without wages. */
  readonly detailed: ReadonlySet<string>
  /** The codes with a wage that has more digits than a double can hold. */
  readonly inexact: ReadonlySet<string>
  /** The titles of the major and minor groups, by code. */
  readonly groupNames: ReadonlyMap<string, string>
}

const PERCENTILES = [
  ['payLowerBound', 'A_PCT10'],
  ['payMidLowerBound', 'A_PCT25'],
  ['payMidUpperBound', 'A_PCT75'],
  ['payUpperBound', 'A_PCT90'],
] as const
const COLUMNS = ['OCC_CODE', 'OCC_TITLE', 'O_GROUP', ...PERCENTILES.map(([, column]) => column)] as const
type WageRow = Row<(typeof COLUMNS)[number]>

/** `*` is not available; `#` is at or above the survey's highest wage, and therefore not exact. */
const UNKNOWN = ['', '*', '#']

/**
 * Reads the national file of the Occupational Employment and Wage Statistics as CSV.
 *
 * @throws {InputRefused} for a file that cannot be read, a missing column, an invalid wage, decreasing percentiles,
 *   or a second row for a code (a file by state or by industry)
 */
export async function readWages(file: string): Promise<Wages> {
  const pay = new Map<string, Pay>()
  const detailed = new Set<string>()
  const inexact = new Set<string>()
  const groupNames = new Map<string, string>()
  const seen = new Set<string>()
  for await (const row of readTable(file, COLUMNS, { separator: ',' })) {
    const { OCC_CODE: code, OCC_TITLE: title, O_GROUP: level } = row.cells
    if (!['detailed', 'minor', 'major'].includes(level)) continue
    if (seen.has(`${level} ${code}`)) {
      const message = `is the second ${level} row for ${quote(code)}; the national file has one of each`
      refuse({ file, line: row.line, message })
    }
    seen.add(`${level} ${code}`)
    if (level === 'detailed') {
      detailed.add(code)
      const figures = readPay(row, { file, line: row.line }, () => inexact.add(code))
      if (figures !== undefined) pay.set(code, figures)
    } else if (title !== '') groupNames.set(code, title)
  }
  if (seen.size === 0)
    refuse({ file, message: 'has no row whose "O_GROUP" is "detailed", "minor" or "major"' })
  return { pay, detailed, inexact, groupNames }
}

/**
 * The wage code of an O*NET-SOC code: its first seven characters, or the code of the combined occupation if OEWS
 * publishes only that: 31-1120 for 31-1121.00.
 */
export function findWageCode({ detailed }: Wages, code: string): string | undefined {
  return [code.slice(0, 7), `${code.slice(0, 6)}0`].find((each) => detailed.has(each))
}

function readPay(
  { cells }: WageRow,
  place: Pick<Fault, 'file' | 'line'>,
  onInexact: () => void,
): Pay | undefined {
  const pay: Pay = {}
  let before: string | undefined
  for (const [field, column] of PERCENTILES) {
    const text = cells[column]
    if (UNKNOWN.includes(text)) continue
    if (!/^(?:\d+|\d{1,3}(?:,\d{3})+)(?:\.\d+)?$/.test(text)) {
      refuse({ ...place, field: column, message: `must be an amount, "#" or "*", not ${quote(text)}` })
    }
    const figure = Number(text.replaceAll(',', ''))
    if (before !== undefined && figure < Number(before.replaceAll(',', ''))) {
      refuse({
        ...place,
        field: column,
        message: `is ${text}, less than the ${before} before it`,
      })
    }
    if (!isExact(text.replaceAll(',', ''), figure)) onInexact()
    before = text
    pay[field] = figure
  }
  return before === undefined ? undefined : pay
}
