import { getOrMake } from '../../foundation/get-or-make.ts'
import { undouble } from './fold.ts'

/** The words of a catalogue, folded and singular, each with a number in the order of their UTF-16 units. */
export class Vocabulary {
  readonly #words: readonly string[]
  readonly #counts: Uint32Array
  /** The words with doubled vowels, by their form without. */
  readonly #doubled = new Map<string, number[]>()
  readonly #slips = new SlipCounter()

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
        const count = this.#slips.count(word, other, slips)
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

/** Longer words are not compared. */
const MAX_COMPARED = 62

/**
 * Counts the slips between two words by optimal string alignment: insertions, deletions, substitutions and swaps of
 * neighbours.
 */
class SlipCounter {
  readonly #rows = [0, 1, 2].map(() => new Uint8Array(MAX_COMPARED + 2)) as [
    Uint8Array,
    Uint8Array,
    Uint8Array,
  ]

  /** The number of slips, or `limit + 1` if there are more. */
  count(one: string, other: string, limit: number): number {
    const { length } = other
    if (one.length > MAX_COMPARED || length > MAX_COMPARED) return limit + 1
    let [before, last, row] = this.#rows
    for (let j = 0; j <= limit; j++) last[j] = j
    for (let i = 1; i <= one.length; i++) {
      const unit = one.charCodeAt(i - 1)
      // Cells further from the diagonal have more slips than the limit.
      const from = Math.max(1, i - limit)
      const to = Math.min(length, i + limit)
      if (i + limit <= length) last[to] = limit + 1
      row[from - 1] = from === 1 ? i : limit + 1
      let least = limit + 1
      for (let j = from; j <= to; j++) {
        const next = other.charCodeAt(j - 1)
        let value = (last[j - 1] as number) + (unit === next ? 0 : 1)
        const inserted = (last[j] as number) + 1
        if (inserted < value) value = inserted
        const deleted = (row[j - 1] as number) + 1
        if (deleted < value) value = deleted
        if (i > 1 && j > 1 && unit === other.charCodeAt(j - 2) && one.charCodeAt(i - 2) === next) {
          const swapped = (before[j - 2] as number) + 1
          if (swapped < value) value = swapped
        }
        row[j] = value
        if (value < least) least = value
      }
      if (least > limit) return limit + 1
      const free = before
      before = last
      last = row
      row = free
    }
    return Math.min(last[length] as number, limit + 1)
  }
}
