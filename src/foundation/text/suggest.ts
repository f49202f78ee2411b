import { closest, distance } from 'fastest-levenshtein'

/** Returns ` (did you mean "..."?)` if one of the names is similar, otherwise an empty string. */
export function suggest(name: string, known: readonly string[]): string {
  const match = findSimilar(name, known)
  return match === undefined ? '' : didYouMean(match)
}

/** The end of a sentence about a name that is probably meant. */
export function didYouMean(name: string): string {
  return ` (did you mean "${name}"?)`
}

/** The fewest letters that say which name begins with them. */
const LEAST_BEGINNING = 3

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
  const steps = distance(lower, nearest)
  // The beginning of one name says more than two wrong letters: `int` is `integer`, not `list`.
  const longer = known.filter((each) => each.toLowerCase().startsWith(lower))
  if (steps > 1 && lower.length >= LEAST_BEGINNING && longer.length === 1) return longer[0]
  // A name of one or two letters that shares none is not meant.
  const most = Math.max(2, match.length / 3)
  return steps <= most && steps < Math.max(lower.length, match.length) ? match : undefined
}
