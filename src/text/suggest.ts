import { closest, distance } from 'fastest-levenshtein'

/** ` (did you mean "..."?)` where one of the names is near to the given one, otherwise nothing. */
export function suggest(name: string, known: readonly string[]): string {
  const lower = name.toLowerCase()
  const nearest =
    known.length === 0
      ? undefined
      : closest(
          lower,
          known.map((each) => each.toLowerCase()),
        )
  const match = known.find((each) => each.toLowerCase() === nearest)
  if (match === undefined || nearest === undefined) return ''
  return distance(lower, nearest) <= Math.max(2, match.length / 3) ? ` (did you mean "${match}"?)` : ''
}
