import { undouble } from './fold.ts'

/** The words of the catalogue, folded and singular, in the order of their UTF-16 units. */
export interface VocabularyData {
  readonly wordStart: Uint32Array
  readonly wordUnits: Uint16Array
  /** How often each word is used; a use in a name counts five times. */
  readonly wordCount: Uint32Array
  /** All words, in the order of their forms without doubled vowels. */
  readonly undoubled: Uint32Array
}

/**
 * @param met the words in the order in which they were met
 * @param counts how often each is used
 * @returns also the numbers of the words that were met, and the words that were met by number
 */
export function packVocabulary(
  met: readonly string[],
  counts: readonly number[],
): { data: VocabularyData; ids: Uint32Array; order: Uint32Array } {
  const order = Uint32Array.from(met.keys()).sort((a, b) => compare(met[a] as string, met[b] as string))
  const ids = new Uint32Array(met.length)
  order.forEach((word, id) => {
    ids[word] = id
  })
  const words = Array.from(order, (word) => met[word] as string)
  const wordStart = new Uint32Array(words.length + 1)
  let length = 0
  words.forEach((word, id) => {
    length += word.length
    wordStart[id + 1] = length
  })
  const wordUnits = new Uint16Array(length)
  words.forEach((word, id) => {
    for (let at = 0; at < word.length; at++) wordUnits[(wordStart[id] as number) + at] = word.charCodeAt(at)
  })
  const keys = words.map(undouble)
  const undoubled = Uint32Array.from(words.keys()).sort((a, b) =>
    compare(keys[a] as string, keys[b] as string),
  )
  const wordCount = Uint32Array.from(order, (word) => counts[word] as number)
  return { data: { wordStart, wordUnits, wordCount, undoubled }, ids, order }
}

function compare(one: string, other: string): number {
  if (one === other) return 0
  return one < other ? -1 : 1
}

export class Vocabulary {
  readonly #data: VocabularyData
  readonly #slips = new SlipCounter()

  constructor(data: VocabularyData) {
    this.#data = data
  }

  get size(): number {
    return this.#data.wordCount.length
  }

  word(id: number): string {
    const { wordStart, wordUnits } = this.#data
    return String.fromCharCode(...wordUnits.subarray(wordStart[id], wordStart[id + 1]))
  }

  /**
   * Whether a text whose first word is this one, in the singular or plural, begins with folded text; `undefined` if the
   * words after it, or the last letter, decide.
   */
  mayBegin(id: number, folded: string): boolean | undefined {
    const { wordStart, wordUnits } = this.#data
    const start = wordStart[id] as number
    // The plural may change the last letter.
    const same = this.#length(id) - 1
    for (let at = 0; at < folded.length; at++) {
      if (at >= same) return undefined
      if (folded.charCodeAt(at) !== wordUnits[start + at]) return false
    }
    return true
  }

  count(id: number): number {
    return this.#data.wordCount[id] ?? 0
  }

  /** The number of a word, or -1. */
  find(word: string): number {
    const id = this.#lowerBound(word)
    return id < this.size && this.#compare(id, word) === 0 ? id : -1
  }

  has(word: string): boolean {
    return this.find(word) >= 0
  }

  countOf(word: string): number {
    const id = this.find(word)
    return id < 0 ? 0 : this.count(id)
  }

  /** The words that begin with a prefix: from the first to before the last number. */
  rangeOf(prefix: string): [number, number] {
    const from = this.#lowerBound(prefix)
    let to = from
    while (to < this.size && this.#startsWith(to, prefix)) to++
    return [from, to]
  }

  /** The commonest words that begin with a prefix and are longer, the commonest first. */
  complete(prefix: string, limit: number): number[] {
    const ids: number[] = []
    for (let id = this.#lowerBound(prefix); id < this.size && this.#startsWith(id, prefix); id++) {
      if (this.#length(id) > prefix.length) ids.push(id)
    }
    return ids.sort((a, b) => this.count(b) - this.count(a) || a - b).slice(0, limit)
  }

  /** Words that differ from this one in doubled vowels only: `maori` for `maaori`. */
  findUndoubled(word: string): number[] {
    const { undoubled } = this.#data
    const key = undouble(word)
    let [low, high] = [0, undoubled.length]
    while (low < high) {
      const middle = (low + high) >> 1
      if (compare(undouble(this.word(undoubled[middle] as number)), key) < 0) low = middle + 1
      else high = middle
    }
    const ids: number[] = []
    for (let at = low; at < undoubled.length; at++) {
      const id = undoubled[at] as number
      if (undouble(this.word(id)) !== key) break
      ids.push(id)
    }
    return ids
  }

  /** Words within a number of slips of the keys of this one. They begin as it does, or with its second letter. */
  findSimilar(word: string, slips: number): { id: number; slips: number }[] {
    const found: { id: number; slips: number }[] = []
    const units = Uint16Array.from(word, (unit) => unit.charCodeAt(0))
    const { wordStart, wordUnits } = this.#data
    for (const first of new Set([word[0] ?? '', word[1] ?? ''])) {
      if (first === '') continue
      for (let id = this.#lowerBound(first); id < this.size && this.#startsWith(id, first); id++) {
        if (Math.abs(this.#length(id) - units.length) > slips) continue
        const count = this.#slips.count(units, wordUnits, wordStart[id] as number, this.#length(id), slips)
        if (count > 0 && count <= slips) found.push({ id, slips: count })
      }
    }
    return found
  }

  #length(id: number): number {
    return (this.#data.wordStart[id + 1] as number) - (this.#data.wordStart[id] as number)
  }

  #startsWith(id: number, prefix: string): boolean {
    const { wordStart, wordUnits } = this.#data
    const start = wordStart[id] as number
    if (this.#length(id) < prefix.length) return false
    for (let at = 0; at < prefix.length; at++)
      if (wordUnits[start + at] !== prefix.charCodeAt(at)) return false
    return true
  }

  #lowerBound(word: string): number {
    let [low, high] = [0, this.size]
    while (low < high) {
      const middle = (low + high) >> 1
      if (this.#compare(middle, word) < 0) low = middle + 1
      else high = middle
    }
    return low
  }

  #compare(id: number, word: string): number {
    const { wordStart, wordUnits } = this.#data
    const start = wordStart[id] as number
    const length = Math.min(this.#length(id), word.length)
    for (let at = 0; at < length; at++) {
      const difference = (wordUnits[start + at] as number) - word.charCodeAt(at)
      if (difference !== 0) return difference
    }
    return this.#length(id) - word.length
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

  /**
   * @param units the units of the other word, from `start`
   * @returns the number of slips, or `limit + 1` if there are more
   */
  count(one: Uint16Array, units: Uint16Array, start: number, length: number, limit: number): number {
    if (one.length > MAX_COMPARED || length > MAX_COMPARED) return limit + 1
    let [before, last, row] = this.#rows
    for (let j = 0; j <= limit; j++) last[j] = j
    for (let i = 1; i <= one.length; i++) {
      const unit = one[i - 1] as number
      // Cells further from the diagonal have more slips than the limit.
      const from = Math.max(1, i - limit)
      const to = Math.min(length, i + limit)
      if (i + limit <= length) last[to] = limit + 1
      row[from - 1] = from === 1 ? i : limit + 1
      let least = limit + 1
      for (let j = from; j <= to; j++) {
        const other = units[start + j - 1] as number
        let value = (last[j - 1] as number) + (unit === other ? 0 : 1)
        const inserted = (last[j] as number) + 1
        if (inserted < value) value = inserted
        const deleted = (row[j - 1] as number) + 1
        if (deleted < value) value = deleted
        if (i > 1 && j > 1 && unit === units[start + j - 2] && one[i - 2] === other) {
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
