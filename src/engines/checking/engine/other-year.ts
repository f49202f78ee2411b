import { increment } from '../../../foundation/increment.ts'
import type { Field } from '../definition/definition.ts'
import { compileValues } from '../definition/values.ts'
import type { FileState } from './file-state.ts'

/** The fewest dates of a column, and their part in one year, that say of which year a file is. */
const LEAST_DATES = 5
const SHARE_OF_YEAR = 0.9
/** The most dates of the return's year in a file of another one. */
const MOST_OF_RETURN = 0.05

/** A file of another year than that of the return. */
export interface OtherYear {
  readonly year: string
  /** Its columns of dates, that which says it most first, and how many dates of that one are in this year, and in all. */
  readonly fields: readonly number[]
  readonly count: number
  readonly dates: number
}

/**
 * Finds out whether a file is of another year: nearly all dates of a column are in one other year, and those of no
 * column are in the return's. Columns such as dates of birth, which are spread over years, say nothing.
 */
export function findOtherYear(file: FileState, returnYear: number | null): OtherYear | undefined {
  if (returnYear === null) return undefined
  const columns = file.resource.fields.flatMap((field, at) =>
    field.type === 'date' || field.type === 'datetime' ? [{ at, readYear: compileYear(field) }] : [],
  )
  const judge = (take: (visit: (cell: (field: number) => string) => void) => void) => {
    const counts = columns.map(({ at }) => ({ at, years: new Map<string, number>() }))
    take((cell) => {
      for (const [index, { at, readYear }] of columns.entries()) {
        const year = readYear(cell(at))
        if (year !== undefined) increment(counts[index]?.years ?? new Map(), year)
      }
    })
    return findYear(counts, String(returnYear))
  }
  const isLikely = judge((visit) => {
    for (const row of file.sample) visit((field) => row[field] ?? '')
  })
  return isLikely && judge((visit) => file.scan(visit))
}

interface Column {
  readonly at: number
  readonly years: ReadonlyMap<string, number>
}

function findYear(columns: readonly Column[], own: string): OtherYear | undefined {
  const counted = columns.map(({ at, years }) => {
    const dates = [...years.values()].reduce((sum, each) => sum + each, 0)
    const [year = '', count = 0] = [...years].sort(([, one], [, other]) => other - one)[0] ?? []
    return { at, dates, year, count, ofReturn: years.get(own) ?? 0 }
  })
  const filled = counted.filter(({ dates }) => dates >= LEAST_DATES)
  const sure = filled.filter(({ dates, count }) => count >= dates * SHARE_OF_YEAR)
  const best = sure.toSorted((one, other) => other.count - one.count)[0]
  if (best === undefined || filled.some(({ dates, ofReturn }) => ofReturn > dates * MOST_OF_RETURN))
    return undefined
  const { year, count, dates } = best
  const others = columns.map(({ at }) => at).filter((at) => at !== best.at)
  return { year, count, dates, fields: [best.at, ...others] }
}

function compileYear(field: Field): (cell: string) => string | undefined {
  const { read, toSql } = compileValues(field)
  return (cell) => {
    const text = cell.trim()
    const value = text === '' || field.missingValues.includes(text) ? undefined : read(text)
    return value === undefined ? undefined : String(toSql(value)).slice(0, 4)
  }
}
