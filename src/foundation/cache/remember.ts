/**
 * The most characters of texts remembered at once, and of one text. Both are limited, and not only the number of texts,
 * because callers choose the texts.
 */
const CAPACITY = 100_000
const LONGEST = 300

/** Characters counted for each text besides its own. */
const EACH = 60

/**
 * Caches the results of reading texts: callers send few distinct ones, and reading one takes longer than finding a
 * cached page.
 *
 * @param isKept whether a result is cached; one that is much larger than its text must not be
 */
export function remember<Result>(
  read: (text: string) => Result,
  isKept: (result: Result) => boolean = () => true,
): (text: string) => Result {
  const known = new Map<string, Result>()
  let characters = 0
  return (text) => {
    const before = known.get(text)
    if (before !== undefined) return before
    const result = read(text)
    if (text.length <= LONGEST && isKept(result)) {
      characters += EACH + text.length
      if (characters > CAPACITY) {
        known.clear()
        characters = EACH + text.length
      }
      known.set(text, result)
    }
    return result
  }
}
