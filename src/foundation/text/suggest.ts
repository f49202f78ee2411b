import { closest, distance } from 'fastest-levenshtein'

/** Returns ` (did you mean "..."?)` if one of the names is similar, otherwise an empty string. */
export function suggest(name: string, known: readonly string[]): string {
  const match = findSimilar(name, known)
  return match === undefined ? '' : ` (did you mean "${match}"?)`
}

/** Returns the most similar of the names, if it is similar enough to be meant. */
export function findSimilar(name: string, known: readonly string[]): string | undefined {
  const lower = name.toLowerCase()
  const nearest =
    known.length === 0
      ? undefined
      : closest(
          lower,
          known.map((each) => each.toLowerCase()),
        )
  const match = known.find((each) => each.toLowerCase() === nearest)
  if (match === undefined || nearest === undefined) return undefined
  return distance(lower, nearest) <= Math.max(2, match.length / 3) ? match : undefined
}
