/**
 * The most texts remembered at once, and the longest, in characters. Both are limited because callers choose the
 * texts.
 */
const MOST = 1_000
const LONGEST = 300

/**
 * Caches the results of reading texts: callers send few distinct ones, and reading one takes longer than finding a
 * cached page.
 */
export function remember<Result>(read: (text: string) => Result): (text: string) => Result {
  const known = new Map<string, Result>()
  return (text) => {
    const before = known.get(text)
    if (before !== undefined) return before
    const result = read(text)
    if (text.length <= LONGEST) {
      if (known.size >= MOST) known.clear()
      known.set(text, result)
    }
    return result
  }
}
