import { closest, distance } from 'fastest-levenshtein'

/** Returns ` (did you mean "..."?)` if one of the names is similar, otherwise an empty string. */
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
