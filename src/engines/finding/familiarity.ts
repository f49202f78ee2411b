import type { Expansion } from './expansion.ts'
import type { Word } from './fold.ts'
import type { IndexData } from './index-data.ts'
import type { Scorer } from './score.ts'
import { singular } from './stem.ts'
import type { Vocabulary } from './vocabulary.ts'

/** The share of new words in the names of O*NET 27.0: there, the calibration has learnt what unknown words mean. */
const CALIBRATED = 0.077

/** Judges words that the catalogue does not have: they may mean an occupation that it does not have. */
export class Familiarity {
  readonly #index: IndexData
  readonly #vocabulary: Vocabulary
  readonly #scorer: Scorer
  /** How likely a word that the catalogue does not have says what somebody does. */
  #novelty: number | undefined

  constructor(index: IndexData, vocabulary: Vocabulary, scorer: Scorer) {
    this.#index = index
    this.#vocabulary = vocabulary
    this.#scorer = scorer
  }

  /**
   * The share of an occupation's probability that remains for a query with such words; `undefined` if it has none.
   */
  judge(
    words: readonly Word[],
    expansions: readonly Expansion[],
  ): ((occupation: number) => number) | undefined {
    const terms = words.map(({ word }) => singular(word))
    const weights = this.#scorer.weighTerms(terms)
    const unknown = [...terms.keys()].filter((at) => {
      const term = terms[at] ?? ''
      return weights[at] !== 0 && /\p{L}/u.test(term) && !this.#vocabulary.has(term)
    })
    if (unknown.length === 0) return undefined
    const total = weights.reduce((sum, weight) => sum + weight, 0)
    const strange = new Float64Array(this.#index.header.occupations)
    for (const at of unknown) {
      const weight = weights[at] ?? 0
      for (let occupation = 0; occupation < strange.length; occupation++)
        strange[occupation] = (strange[occupation] as number) + weight
      // A mistyped word is known if the occupation has what it may stand for.
      for (const expansion of expansions) {
        for (const occupation of this.#readers(expansion, at))
          strange[occupation] = (strange[occupation] as number) - weight * expansion.weight
      }
    }
    this.#novelty ??= this.#findNovelty()
    const known = 1 - this.#novelty
    return (occupation) => known ** (Math.max(0, strange[occupation] as number) / total)
  }

  /** The occupations that have a word as which an expansion reads one of the query. */
  #readers({ words }: Expansion, at: number): ReadonlySet<number> {
    const { start, column } = this.#index.texts
    const readers = new Set<number>()
    for (const { term, from, to } of words) {
      const word = from <= at && at < to ? this.#vocabulary.find(term) : -1
      if (word < 0) continue
      for (const occupation of column.subarray(start[word], start[word + 1])) readers.add(occupation)
    }
    return readers
  }

  /**
   * The words of names that only one occupation has tell how many the next name adds (Good and Turing). Where these are
   * more than in the catalogue of the calibration, an unknown word is the likelier to mean another occupation.
   */
  #findNovelty(): number {
    const { occupationNames, nameWordStart, nameWord } = this.#index
    const holders = new Uint32Array(this.#vocabulary.size)
    let [total, single] = [0, 0]
    for (let occupation = 0; occupation < occupationNames.length - 1; occupation++) {
      const from = nameWordStart[occupationNames[occupation] as number]
      const to = nameWordStart[occupationNames[occupation + 1] as number]
      for (const word of new Set(nameWord.subarray(from, to))) {
        total++
        holders[word] = (holders[word] as number) + 1
      }
    }
    for (const count of holders) if (count === 1) single++
    return single === 0 ? 0 : Math.max(0, 1 - (CALIBRATED * total) / single)
  }
}
