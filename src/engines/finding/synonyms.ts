import { getOrMake } from '../../foundation/get-or-make.ts'
import { EVERYDAY_WORDS } from './everyday-words.ts'
import { splitWords } from './fold.ts'
import { singular } from './stem.ts'

type Phrase = readonly string[]

/** Folded, singular words, as queries are compared with. */
export function toPhrase(text: string): Phrase {
  return splitWords(text).map(({ word }) => singular(word))
}

/** Phrases that mean the same, found by their first word. */
export class Synonyms {
  readonly #byFirst = new Map<string, { from: Phrase; to: Phrase }[]>()

  /** @param lists phrases of the same meaning, beside the everyday words, which are only read in one direction */
  constructor(lists: readonly (readonly Phrase[])[]) {
    for (const phrases of lists) for (const from of phrases) this.#add(from, phrases)
    for (const [from = [], ...others] of EVERYDAY_WORDS.map((line) => line.map(toPhrase)))
      this.#add(from, others)
  }

  /** What may stand for the words that begin at a place, and where they end. */
  find(terms: readonly string[], at: number): { words: Phrase; to: number }[] {
    const entries = this.#byFirst.get(terms[at] ?? '') ?? []
    return entries
      .filter(({ from }) => from.every((word, offset) => terms[at + offset] === word))
      .map(({ from, to }) => ({ words: to, to: at + from.length }))
  }

  #add(from: Phrase, phrases: readonly Phrase[]): void {
    const [first] = from
    if (first === undefined) return
    const entries = getOrMake(this.#byFirst, first, () => [])
    for (const to of phrases) if (to !== from && to.length > 0) entries.push({ from, to })
  }
}
