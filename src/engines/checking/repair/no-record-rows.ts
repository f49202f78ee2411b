import { describeNoRecord } from '../../records/index.ts'
import type { FieldTester } from './field-tester.ts'
import type { SeparatedFile } from './separated-file.ts'

/** A row that is no record, as the check reports it. */
interface NoRecord {
  readonly why: string
  /** Whether it can be removed; otherwise it may be a record all the same. */
  readonly isCertain: boolean
}

/** Finds the rows of a file that are no records; the result is `undefined` for a record. */
export type FindNoRecord = (cells: readonly string[], count: number) => NoRecord | undefined

/** A record of fewer columns may consist of their names, such as that of a list of columns. */
const LEAST_NAMES = 3

export function compileNoRecords(
  { columns, header }: SeparatedFile,
  testers: readonly FieldTester[],
): FindNoRecord {
  const { positions, width } = columns
  const first = testers[positions.indexOf(0)]
  const required = positions.filter((position, field) => position > 0 && testers[field]?.needsValue)
  // What is neither a name nor a valid record is nothing but a sum.
  const isSum = ([name = '', ...values]: readonly string[]) =>
    values.every((value) => isBlank(value) || isNumber(value)) &&
    (first?.isValid(name.trim()) === false ||
      required.some((position) => isBlank(values[position - 1] ?? '')))
  return (cells, count) => {
    // The only cell of a row is a value.
    const why = width > 1 ? describeNoRecord(cells, count, header)?.message : undefined
    if (why === undefined) return undefined
    const own = cells.slice(0, count)
    const isCertain = own.every(isBlank) || (own[0] === header[0] ? width >= LEAST_NAMES : isSum(own))
    return { why, isCertain }
  }
}

/** A number, or a percentage, as a spreadsheet shows it. */
function isNumber(cell: string): boolean {
  const text = cell.trim()
  return /^[-+]?[\d., ]*\d$/.test(text.endsWith('%') ? text.slice(0, -1).trimEnd() : text)
}

function isBlank(cell: string): boolean {
  return cell.trim() === ''
}
