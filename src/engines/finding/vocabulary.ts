import { distance } from 'fastest-levenshtein'
import { getOrMake } from '../../foundation/get-or-make.ts'
import { undouble } from './fold.ts'

/** The words of a catalogue, folded and singular, each with a number in the order of their UTF-16 units. */
export class Vocabulary {
  readonly #words: readonly string[]
  readonly #counts: Uint32Array
  /** The words with doubled vowels, by their form without. */
  readonly #doubled = new Map<string, number[]>()

  /**
   * @param words in their order
   * @param counts how often each word is used; a use in a name counts five times
   */
  constructor(words: readonly string[], counts: Uint32Array) {
    this.#words = words
    this.#counts = counts
    words.forEach((word, id) => {
      const plain = undouble(word)
      if (plain !== word) getOrMake(this.#doubled, plain, () => []).push(id)
    })
  }

  get size(): number {
    return this.#words.length
  }

  word(id: number): string {
    return this.#words[id] as string
  }

  /**
   * Whether a text whose first word is this one, in the singular or plural, begins with folded text; `undefined` if the
   * words after it, or the last letter, decide.
   */
  mayBegin(id: number, folded: string): boolean | undefined {
    // The plural may change the last letter.
    const same = this.word(id).slice(0, -1)
    if (folded.length <= same.length) return same.startsWith(folded)
    return folded.startsWith(same) ? undefined : false
  }

  count(id: number): number {
    return this.#counts[id] ?? 0
  }

  /** The number of a word, or -1. */
  find(word: string): number {
    const id = this.#findFirst(word)
    return this.#words[id] === word ? id : -1
  }

  has(word: string): boolean {
    return this.find(word) >= 0
  }

  countOf(word: string): number {
    return this.count(this.find(word))
  }

  /** The words that begin with a prefix: from the first to before the last number. */
  rangeOf(prefix: string): [number, number] {
    const from = this.#findFirst(prefix)
    let to = from
    while (this.#words[to]?.startsWith(prefix)) to++
    return [from, to]
  }

  /** The commonest words that begin with a prefix and are longer, the commonest first. */
  complete(prefix: string, limit: number): number[] {
    const ids: number[] = []
    const [from, to] = this.rangeOf(prefix)
    for (let id = from; id < to; id++) if (this.#words[id] !== prefix) ids.push(id)
    return ids.sort((a, b) => this.count(b) - this.count(a) || a - b).slice(0, limit)
  }

  /** Words that differ from this one in doubled vowels only: `maori` for `maaori`. */
  findUndoubled(word: string): number[] {
    const plain = undouble(word)
    return [this.find(plain), ...(this.#doubled.get(plain) ?? [])].filter((id) => id >= 0)
  }

  /** Words within a number of slips of the keys of this one. They begin as it does, or with its second letter. */
  findSimilar(word: string, slips: number): { id: number; slips: number }[] {
    const found: { id: number; slips: number }[] = []
    for (const first of new Set(word.slice(0, 2).split(''))) {
      const [from, to] = this.rangeOf(first)
      for (let id = from; id < to; id++) {
        const other = this.word(id)
        if (Math.abs(other.length - word.length) > slips) continue
        const count = countSlips(word, other)
        if (count > 0 && count <= slips) found.push({ id, slips: count })
      }
    }
    return found
  }

  /** The number of the first word that is not before a text. */
  #findFirst(text: string): number {
    let [low, high] = [0, this.size]
    while (low < high) {
      const middle = (low + high) >> 1
      if (this.word(middle) < text) low = middle + 1
      else high = middle
    }
    return low
  }
}

/** Two swaps of neighbours, which a distance without swaps counts as four. */
const MOST_SLIPS = 4

/**
 * The number of slips between two words, if there are at most two: insertions, deletions, substitutions and swaps of
 * neighbours. Of two slips, one is the first and the other the last, so that swaps need to be found only there.
 */
function countSlips(one: string, other: string): number {
  const slips = distance(one, other)
  if (slips < 2 || slips > MOST_SLIPS) return slips
  let from = 0
  while (one[from] === other[from]) from++
  let back = 1
  while (one.at(-back) === other.at(-back)) back++
  const rests: [string, string][] = []
  if (one[from] === other[from + 1] && one[from + 1] === other[from])
    rests.push([one.slice(from + 2), other.slice(from + 2)])
  if (one.at(-back) === other.at(-back - 1) && one.at(-back - 1) === other.at(-back))
    rests.push([one.slice(0, -back - 1), other.slice(0, -back - 1)])
  return Math.min(slips, ...rests.map(([rest, otherRest]) => 1 + countSlips(rest, otherRest)))
}
