import { describeNoRecordOf } from '../engine/columns.ts'
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
  const { positions, width, marks } = columns
  /** The columns that the file had before it was marked. */
  const places = [...header.keys()].filter((at) => !marks.has(at))
  const testerAt = (place: number) => testers[positions.indexOf(place)]
  const [at = 0, ...others] = places
  const first = testerAt(at)
  const required = others.flatMap((place, index) => (testerAt(place)?.needsValue ? [index] : []))
  // What is neither a name nor a valid record is nothing but a sum.
  const isSum = ([name = '', ...values]: readonly string[]) =>
    values.every((value) => isBlank(value) || isNumber(value)) &&
    (first?.isValid(name.trim()) === false || required.some((index) => isBlank(values[index] ?? '')))
  return (cells, count) => {
    const why = describeNoRecordOf({ header, width, marks }, cells, count)?.message
    if (why === undefined) return undefined
    const own = cells.slice(0, count).filter((_, index) => !marks.has(index))
    const isCertain =
      own.every(isBlank) || (own[0] === header[at] ? places.length >= LEAST_NAMES : isSum(own))
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
