import { parseTimestamp } from '../text/timestamp.ts'
import { SPAN_BITS } from './merge.ts'

/** A stretch of last-updated dates: whole milliseconds, both ends within. */
export interface Window {
  readonly from: number
  readonly to: number
}

const FIRST = Date.parse('-000001-01-01T00:00:00Z')
const LAST = Date.parse('+010000-12-31T23:59:59.999Z')

/**
 * The window between two exclusive bounds, exact at any fraction of a millisecond, or `undefined` without a bound.
 * Where `after` is not before `before`, `from` is above `to`.
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
 * How the codes of a window are found in their order:
 *
 * - `list`: few of many: all of them are read once by date, sorted, and kept with the plan.
 * - `dates`: few distinct dates: one walk by code for each, merged. An import sets one date, so this is the rule.
 * - `walk`: at least every hundredth record: by code, passing over those outside the window.
 */
export type WindowPlan =
  | { readonly kind: 'list'; readonly codes: readonly string[] }
  | { readonly kind: 'dates'; readonly dates: readonly number[] }
  | { readonly kind: 'walk' }

/** Most distinct dates that are merged. */
export const MAX_DATES = 16

/** So few codes are listed whatever their dates: it takes no longer than a few walks. */
const ALWAYS_LISTED = 1000

/** Most records that a walk passes over for each one it finds. */
const MAX_PASSED_OVER = 100

/**
 * @param total records in the window
 * @param among records that it is a window of
 * @param dates how many distinct dates it has, counted no further than MAX_DATES + 1
 */
export function choosePlan(total: number, among: number, dates: number): WindowPlan['kind'] {
  if (total <= ALWAYS_LISTED) return 'list'
  if (dates <= MAX_DATES) return 'dates'
  return total * MAX_PASSED_OVER >= among ? 'walk' : 'list'
}

/** A stretch of the kept counts: rows of one span whose start lies between two numbers, both within. */
export type Stretch = readonly [span: number, first: number, last: number]

const NOTHING: Stretch = [0, 1, 0]

/**
 * The kept counts that add up to a window: of whole spans in its middle, of single dates at its two ends. So a sum
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
