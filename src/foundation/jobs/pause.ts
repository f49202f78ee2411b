/** The shortest and the longest pause, in milliseconds. */
const SHORTEST = 20
const LONGEST = 250

/**
 * How long to pause before looking for news again, in milliseconds: a quarter of the time since there was some. Short work
 * is noticed soon after its end, and long work is seldom asked for.
 *
 * @param since when there was news or the wait began, in milliseconds of `performance.now()`
 */
export function pauseSince(since: number): number {
  return Math.min(Math.max(SHORTEST, (performance.now() - since) / 4), LONGEST)
}
