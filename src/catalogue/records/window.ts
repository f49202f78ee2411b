import { parseTimestamp } from '../../foundation/text/timestamp.ts'

/** Dates are counted individually and in spans of 2^26 ms, 18.6 hours. */
export const SPAN_BITS = 26

/** A range of last-updated dates in whole milliseconds, both ends included. */
export interface Window {
  readonly from: number
  readonly to: number
}

const FIRST = Date.parse('-000001-01-01T00:00:00Z')
const LAST = Date.parse('+010000-12-31T23:59:59.999Z')

/**
 * The window between two exclusive bounds, exact to any fraction of a millisecond; `undefined` without a bound. If
 * `after` is not before `before`, `from` exceeds `to`.
 */
export function windowBetween(after: string | undefined, before: string | undefined): Window | undefined {
  if (after === undefined && before === undefined) return undefined
  const lower = after === undefined ? undefined : parseTimestamp(after)
  const upper = before === undefined ? undefined : parseTimestamp(before)
  return {
    from: lower === undefined ? FIRST : lower.milliseconds + 1,
    to: upper === undefined ? LAST : upper.fraction ? upper.milliseconds : upper.milliseconds - 1,
  }
}

/**
 * How the codes of a window are found in order:
 *
 * - `list`, for few of many: all codes are read once by date, sorted, and cached with the plan.
 * - `dates`, for few distinct dates: one walk by code for each, merged. This is the usual case, because an import
 *   sets one date.
 * - `walk`, for at least every hundredth record: by code, skipping those outside the window.
 */
export type WindowPlan =
  | { readonly kind: 'list'; readonly codes: readonly string[] }
  | { readonly kind: 'dates'; readonly dates: readonly number[] }
  | { readonly kind: 'walk' }

/** The most distinct dates that are merged. */
export const MAX_DATES = 16

/** Up to this many codes are listed whatever their dates, because it takes no longer than a few walks. */
const ALWAYS_LISTED = 1000

/** The most records that a walk skips for each one that it finds. */
const MAX_PASSED_OVER = 100

/**
 * @param total the records in the window
 * @param among the records that the window is applied to
 * @param dates the number of distinct dates in the window, counted up to MAX_DATES + 1
 */
export function choosePlan(total: number, among: number, dates: number): WindowPlan['kind'] {
  if (total <= ALWAYS_LISTED) return 'list'
  if (dates <= MAX_DATES) return 'dates'
  return total * MAX_PASSED_OVER >= among ? 'walk' : 'list'
}

/** A range of the stored counts: the rows of one span whose start lies between two numbers, inclusive. */
export type Stretch = readonly [span: number, first: number, last: number]

const NOTHING: Stretch = [0, 1, 0]

/**
 * The stored counts that add up to a window: whole spans in its middle, and single dates at its ends. A sum therefore
 * takes few rows, however long the window and however many its dates.
 */
export function splitWindow({ from, to }: Window): readonly [Stretch, Stretch, Stretch] {
  const width = 2 ** SPAN_BITS
  const firstSpan = Math.ceil(from / width)
  const lastSpan = Math.floor((to + 1) / width) - 1
  if (firstSpan > lastSpan) return [[0, from, to], NOTHING, NOTHING]
  return [
    [0, from, firstSpan * width - 1],
    [SPAN_BITS, firstSpan, lastSpan],
    [0, (lastSpan + 1) * width, to],
  ]
}
