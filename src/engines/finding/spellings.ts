import { getOrMake } from '../../foundation/get-or-make.ts'
import { splitWords } from './fold.ts'
import { RowWriter, type SparseRows } from './sparse.ts'
import { STOP_WORDS, singular } from './stem.ts'

/**
 * Longer words are no words that anybody searches for, such as encoded files. A name with one is still found as a whole.
 */
const MAX_WORD_LENGTH = 64

/** Collects the words of a catalogue: their frequency, their spellings, and their weight in each occupation. */
export class Spellings {
  /** Words, folded and singular, in the order of first occurrence. */
  readonly words: string[] = []
  readonly counts: number[] = []
  readonly #ids = new Map<string, number>()
  readonly #isStop: boolean[] = []
  /** By word: the frequency of each spelling other than the folded one. */
  readonly #others = new Map<number, Map<string, number>>()
  /** By word: its weight in the current occupation, and the words with a weight. */
  readonly #weights: number[] = []
  #used: number[] = []
  readonly #rows = new RowWriter()

  /**
   * Reads a text of the current occupation.
   *
   * @param count the number of uses that each of its words counts as
   * @param weight the weight of its words for the occupation
   * @returns the numbers of its words
   */
  read(text: string, count: number, weight: number): number[] {
    const lower = text.toLowerCase()
    const words = splitWords(text).filter(({ word }) => word.length <= MAX_WORD_LENGTH)
    return words.map(({ word, from, to }) => {
      const id = this.#number(singular(word))
      this.counts[id] = (this.counts[id] ?? 0) + count
      // Lower case changes the length of some letters, and shifts those that follow.
      const written =
        lower.length === text.length ? lower.slice(from, to) : text.slice(from, to).toLowerCase()
      if (written !== this.words[id]) {
        const others = getOrMake(this.#others, id, () => new Map())
        others.set(written, (others.get(written) ?? 0) + count)
      }
      if (weight > 0 && this.#isStop[id] === false) {
        if (this.#weights[id] === 0) this.#used.push(id)
        this.#weights[id] = (this.#weights[id] ?? 0) + weight
      }
      return id
    })
  }

  endOccupation(): void {
    for (const id of this.#used) {
      this.#rows.add(id, this.#weights[id] ?? 0)
      this.#weights[id] = 0
    }
    this.#used = []
    this.#rows.endRow()
  }

  /** The weights of words by occupation. */
  finish(): SparseRows {
    return this.#rows.finish()
  }

  /** The folded spelling, unless the catalogue always writes the word in another way. */
  commonest(id: number): string {
    const word = this.words[id] ?? ''
    const spellings = [...(this.#others.get(id) ?? [])]
    const [best] = spellings.sort((a, b) => b[1] - a[1] || (a[0] < b[0] ? -1 : 1))
    if (best === undefined) return word
    return best[1] > (this.counts[id] ?? 0) - best[1] ? best[0] : word
  }

  #number(word: string): number {
    const known = this.#ids.get(word)
    if (known !== undefined) return known
    const id = this.words.push(word) - 1
    this.#ids.set(word, id)
    this.counts.push(0)
    this.#weights.push(0)
    this.#isStop.push(STOP_WORDS.has(word))
    return id
  }
}
