import { getOrMake } from '../../foundation/get-or-make.ts'
import { addRow, multiply } from './embedding.ts'
import { featuresOf, findFeature, hashText, KIND } from './features.ts'
import { findFirst, type IndexData } from './index-data.ts'
import { findModifier, STOP_WORDS, stem } from './stem.ts'
import type { Vocabulary } from './vocabulary.ts'

/**
 * The coefficients of the parts of a logit, and how much a word counts in texts that has the stem of one of the query.
 * An occupation with many names is the less likely, because training prefers it. Tuned with `bench/search/goals.ts`.
 */
const WEIGHTS = { texts: 4.5, embedding: 0.6, names: -0.2, stem: 0.8 }

/** So many names, or fewer, are not many. */
const FEW = 10

const SATURATION = 1.2

/** The weight of a word that describes the occupation, where a word of its name has 1. */
const CONTEXT = 0.3

/** Occupations with logits this far below the best have probability 0. */
export const FAR = 16

/**
 * About this many occupations, the best by names and texts, are refined by the embedding; the others have probability
 * 0.
 */
export const RANKED = 1200
/** They are at most so far below the best; in a catalogue of so few occupations, all within `FAR` are refined. */
const NEAR = 3.5
const SMALL = 200
const BINS = 256
/** Stems whose words are kept. */
const MOST_STEMS = 1000

export function findBest(logits: Float32Array | Float64Array): number {
  let best = Number.NEGATIVE_INFINITY
  for (let at = 0; at < logits.length; at++) if ((logits[at] as number) > best) best = logits[at] as number
  return best
}

/** The best items of a list, in order, up to a number: few items of a long list need to be inserted. */
export function takeBest(list: Iterable<number>, score: Float64Array, count: number): number[] {
  const best: number[] = []
  for (const each of list) {
    const value = score[each] as number
    if (best.length === count && value <= (score[best[count - 1] as number] as number)) continue
    let [low, high] = [0, best.length]
    while (low < high) {
      const middle = (low + high) >> 1
      if ((score[best[middle] as number] as number) >= value) low = middle + 1
      else high = middle
    }
    best.splice(low, 0, each)
    if (best.length > count) best.pop()
  }
  return best
}

/** Scores all occupations for one expansion of a query. It reuses its large arrays between calls. */
export class Scorer {
  readonly #index: IndexData
  readonly #vocabulary: Vocabulary
  readonly #logits: Float32Array
  readonly #part: Float32Array
  /** By occupation: what words with the stem of the current one have said about it. */
  readonly #said: Float32Array
  /** By stem: the words that have it, of stems that queries had; the readings of a query share most of theirs. */
  readonly #alike = new Map<string, readonly number[]>()
  readonly #query: Float32Array
  /** By word: its inverse frequency. */
  readonly #rarity: Float32Array
  readonly #prior: Float32Array

  constructor(index: IndexData, vocabulary: Vocabulary) {
    this.#index = index
    this.#vocabulary = vocabulary
    const { occupations, dimensions } = index.header
    this.#logits = new Float32Array(occupations)
    this.#part = new Float32Array(occupations)
    this.#said = new Float32Array(occupations)
    this.#query = new Float32Array(dimensions)
    const { occupationNames } = index
    this.#prior = Float32Array.from({ length: occupations }, (_, at) => {
      const names = (occupationNames[at + 1] as number) - (occupationNames[at] as number)
      return WEIGHTS.names * Math.log(Math.max(FEW, names))
    })
    const { start } = index.texts
    this.#rarity = Float32Array.from({ length: vocabulary.size }, (_, word) => {
      const holders = (start[word + 1] as number) - (start[word] as number)
      return Math.log(1 + (occupations - holders + 0.5) / (holders + 0.5))
    })
  }

  /**
   * @param text a name, if its punctuation shows which part contains the head noun
   * @param terms its words, folded and singular
   * @param context further words that describe the occupation, such as those of its tasks
   * @returns a logit for each occupation; the next call reuses the array
   */
  score(text: string, terms: readonly string[], context: readonly string[] = []): Float32Array {
    const logits = this.#logits
    const features = this.#findKnown(featuresOf(text, terms))
    logits.set(this.#prior)
    this.#addTexts(
      [...new Set([...terms, ...context].filter((term) => !STOP_WORDS.has(term)))],
      WEIGHTS.texts,
    )
    dropUnlikely(logits)
    this.#addEmbedding([...features, ...this.#findWords(context)], WEIGHTS.embedding)
    return logits
  }

  /** Whether two words are neighbours in a name. */
  areNeighbours(one: string, next: string): boolean {
    const { pairHash } = this.#index
    const hash = hashText(one + next, KIND.pair)
    return pairHash[findFirst(pairHash, hash)] === hash
  }

  /** The inverse frequency of a word; a word that no occupation has weighs most. */
  weigh(word: number): number {
    return word < 0 ? Math.log(1 + this.#index.header.occupations) : (this.#rarity[word] as number)
  }

  /** The weight of each word of a query; 0 for those that only join or qualify others. */
  weighTerms(terms: readonly string[]): number[] {
    const weights = terms.map((term) => (STOP_WORDS.has(term) ? 0 : this.weigh(this.#vocabulary.find(term))))
    for (let at = 0; at < terms.length; ) {
      const length = findModifier(terms, at)
      weights.fill(0, at, at + length)
      at += length || 1
    }
    return weights
  }

  /** The numbers and weights of the features that a name of the catalogue has. */
  #findKnown(features: ReadonlyMap<number, number>): [number, number][] {
    const known: [number, number][] = []
    for (const [hash, weight] of features) {
      const feature = this.findFeature(hash)
      if (feature >= 0) known.push([feature, weight])
    }
    return known
  }

  /** The features of words that describe the occupation. */
  #findWords(context: readonly string[]): [number, number][] {
    const words = new Set(context.filter((term) => !STOP_WORDS.has(term)))
    return this.#findKnown(new Map(Array.from(words, (term) => [hashText(term, KIND.word), CONTEXT])))
  }

  /** The number of a feature, or -1. */
  findFeature(hash: number): number {
    const { featureHash, featureId } = this.#index
    return findFeature(featureHash, featureId, hash)
  }

  /** BM25 of words in the names and texts of occupations; a word with the same stem counts less. */
  #addTexts(terms: readonly string[], share: number): void {
    const part = this.#part.fill(0)
    let total = 0
    for (const term of terms) {
      const word = this.#vocabulary.find(term)
      const alike = this.listAlike(stem(term)).filter((other) => other !== word)
      if (word < 0 && alike.length === 0) {
        total += this.weigh(word)
        continue
      }
      const weight = Math.max(...(word < 0 ? alike : [word]).map((each) => this.weigh(each)))
      total += weight * (SATURATION + 1)
      if (word >= 0) this.#addWord(word, weight, part)
      for (const other of alike) this.#addWord(other, weight * WEIGHTS.stem, part)
      for (const each of [word, ...alike]) this.#forgetWord(each)
    }
    if (total === 0) return
    const logits = this.#logits
    const factor = share / total
    for (let at = 0; at < logits.length; at++)
      logits[at] = (logits[at] as number) + factor * (part[at] as number)
  }

  /** Adds what a word says about occupations, as far as words with the same stem have not said it. */
  #addWord(word: number, weight: number, part: Float32Array): void {
    const { start, column, value } = this.#index.texts
    for (let p = start[word] as number, end = start[word + 1] as number; p < end; p++) {
      const occupation = column[p] as number
      const more = weight * (value[p] as number) - (this.#said[occupation] as number)
      if (more <= 0) continue
      part[occupation] = (part[occupation] as number) + more
      this.#said[occupation] = (this.#said[occupation] as number) + more
    }
  }

  #forgetWord(word: number): void {
    if (word < 0) return
    const { start, column } = this.#index.texts
    for (let p = start[word] as number, end = start[word + 1] as number; p < end; p++)
      this.#said[column[p] as number] = 0
  }

  /** The words with a stem. */
  listAlike(root: string): readonly number[] {
    if (this.#alike.size > MOST_STEMS) this.#alike.clear()
    return getOrMake(this.#alike, root, () => this.#findAlike(root))
  }

  #findAlike(root: string): number[] {
    const hash = hashText(root, KIND.stem)
    // Too many words begin with a letter or two, and none of them is a derivation.
    if (root.length < 3) return [this.#vocabulary.find(root)].filter((word) => word >= 0)
    const [from, to] = this.#vocabulary.rangeOf(root.length > 3 ? root.replace(/e$/, '') : root)
    const alike: number[] = []
    for (let word = from; word < to; word++) if (this.#index.wordStem[word] === hash) alike.push(word)
    return alike
  }

  #addEmbedding(features: readonly [number, number][], share: number): void {
    const { featureVectors, occupationVectors } = this.#index
    const query = this.#query.fill(0)
    const size = query.length
    let total = 0
    for (const [feature, weight] of features) {
      total += weight
      addRow(query, 0, Math.sqrt(weight), featureVectors, feature * size, size)
    }
    if (total === 0) return
    const logits = this.#logits
    const factor = share / Math.sqrt(total)
    for (let at = 0; at < logits.length; at++) {
      if (logits[at] === Number.NEGATIVE_INFINITY) continue
      logits[at] = (logits[at] as number) + factor * multiply(occupationVectors, at * size, query)
    }
  }
}

/** Sets all logits except the best ones to minus infinity, because time and memory traffic grow with the rest. */
function dropUnlikely(logits: Float32Array): void {
  const best = findBest(logits)
  let least = best - (logits.length > SMALL ? NEAR : FAR)
  if (logits.length > RANKED) {
    const counts = new Uint32Array(BINS + 1)
    for (let at = 0; at < logits.length; at++) {
      const bin = ((best - (logits[at] as number)) * BINS) / FAR
      if (bin <= BINS) counts[bin | 0] = (counts[bin | 0] as number) + 1
    }
    let [bin, kept] = [0, 0]
    while (bin < BINS && kept + (counts[bin] as number) <= RANKED) kept += counts[bin++] as number
    least = Math.max(least, best - (Math.max(1, bin) * FAR) / BINS)
  }
  for (let at = 0; at < logits.length; at++) {
    if ((logits[at] as number) < least) logits[at] = Number.NEGATIVE_INFINITY
  }
}
