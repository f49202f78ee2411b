/** Most texts remembered at once, and the longest of them, in characters: callers choose them. */
const MOST = 1_000
const LONGEST = 300

/** Remembers what was read of the texts seen before: callers send few distinct ones, and reading one costs more than finding a finished page. */
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
