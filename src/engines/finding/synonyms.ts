/** Phrases that mean the same, found by their first word. */
export class Synonyms {
  readonly #byFirst = new Map<string, { from: readonly string[]; to: readonly string[] }[]>()

  constructor(lists: readonly (readonly (readonly string[])[])[]) {
    for (const phrases of lists) {
      for (const from of phrases) {
        const [first] = from
        if (first === undefined) continue
        const entries = this.#byFirst.get(first) ?? []
        for (const to of phrases) if (to !== from && to.length > 0) entries.push({ from, to })
        this.#byFirst.set(first, entries)
      }
    }
  }

  /** What may stand for the words that begin at a place, and where they end. */
  find(terms: readonly string[], at: number): { words: readonly string[]; to: number }[] {
    const entries = this.#byFirst.get(terms[at] ?? '') ?? []
    return entries
      .filter(({ from }) => from.every((word, offset) => terms[at + offset] === word))
      .map(({ from, to }) => ({ words: to, to: at + from.length }))
  }
}
