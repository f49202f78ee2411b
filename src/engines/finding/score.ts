import { featuresOf, hashText, KIND } from './features.ts'
import type { IndexData } from './index-data.ts'
import { findModifier, STOP_WORDS } from './stem.ts'
import { rowLength, VectorMemory } from './vector-kernels.ts'
import type { Vocabulary } from './vocabulary.ts'

/**
 * The coefficients of the parts of a logit; fitted to held-out names by maximum likelihood, so that a softmax gives
 * probabilities.
 */
const WEIGHTS = { names: 0.5, texts: 2.7, embedding: 0.54 }

/** By how much the number of an occupation's names lowers its logit: training prefers those with many names. */
const NAMES_PRIOR = 0.2

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
const BINS = 256

export function findBest(logits: Float32Array | Float64Array): number {
  let best = Number.NEGATIVE_INFINITY
  for (let at = 0; at < logits.length; at++) if ((logits[at] as number) > best) best = logits[at] as number
  return best
}

/** Scores all occupations for one expansion of a query. It reuses its large arrays between calls. */
export class Scorer {
  readonly #index: IndexData
  readonly #vocabulary: Vocabulary
  readonly #logits: Float32Array
  readonly #part: Float32Array
  readonly #memory: VectorMemory
  /** The vectors of the occupations and of the query; the occupations that are compared with it, and how well they fit. */
  readonly #occupations: Float32Array
  readonly #query: Float32Array
  readonly #compared: Uint32Array
  readonly #fits: Float32Array
  /** By word: its inverse frequency. */
  readonly #rarity: Float32Array
  readonly #prior: Float32Array

  constructor(index: IndexData, vocabulary: Vocabulary) {
    this.#index = index
    this.#vocabulary = vocabulary
    const { occupations, dimensions } = index.header
    this.#logits = new Float32Array(occupations)
    this.#part = new Float32Array(occupations)
    this.#memory = new VectorMemory((occupations + 1) * rowLength(dimensions) + 2 * occupations)
    this.#occupations = this.#memory.rows(index.occupationVectors, dimensions)
    this.#query = this.#memory.floats(rowLength(dimensions))
    this.#compared = this.#memory.integers(occupations)
    this.#fits = this.#memory.floats(occupations)
    const { occupationNames } = index
    this.#prior = Float32Array.from({ length: occupations }, (_, at) => {
      const names = (occupationNames[at + 1] as number) - (occupationNames[at] as number)
      return -NAMES_PRIOR * Math.log(Math.max(1, names))
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
    this.#addNames(features, WEIGHTS.names)
    const content = [...new Set([...terms, ...context].filter((term) => !STOP_WORDS.has(term)))]
    const words = content.map((term) => this.#vocabulary.find(term))
    this.#addTexts(words, WEIGHTS.texts)
    dropUnlikely(logits)
    this.#addEmbedding([...features, ...this.#findWords(context)], WEIGHTS.embedding)
    return logits
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

  #addNames(features: readonly [number, number][], share: number): void {
    const { weights, bias } = this.#index
    const logits = this.#logits
    const length = Math.sqrt(features.reduce((sum, [, weight]) => sum + weight, 0)) || 1
    for (let at = 0; at < logits.length; at++)
      logits[at] = share * (bias[at] as number) + (this.#prior[at] as number)
    for (const [feature, weight] of features) {
      const x = (share * Math.sqrt(weight)) / length
      for (
        let p = weights.start[feature] as number, end = weights.start[feature + 1] as number;
        p < end;
        p++
      ) {
        const occupation = weights.column[p] as number
        logits[occupation] = (logits[occupation] as number) + x * (weights.value[p] as number)
      }
    }
  }

  /** The number of a feature, or -1. */
  findFeature(hash: number): number {
    const { featureHash, featureId } = this.#index
    const mask = featureId.length - 1
    for (let slot = (hash >>> 1) & mask; ; slot = (slot + 1) & mask) {
      const id = featureId[slot] as number
      if (id === 0) return -1
      if (featureHash[slot] === hash) return id - 1
    }
  }

  #addTexts(words: readonly number[], share: number): void {
    const { texts } = this.#index
    const part = this.#part.fill(0)
    let total = 0
    for (const word of words) {
      const weight = this.weigh(word)
      total += word < 0 ? weight : weight * (SATURATION + 1)
      if (word < 0) continue
      for (let p = texts.start[word] as number, end = texts.start[word + 1] as number; p < end; p++) {
        const occupation = texts.column[p] as number
        part[occupation] = (part[occupation] as number) + weight * (texts.value[p] as number)
      }
    }
    if (total === 0) return
    const logits = this.#logits
    const factor = share / total
    for (let at = 0; at < logits.length; at++)
      logits[at] = (logits[at] as number) + factor * (part[at] as number)
  }

  #addEmbedding(features: readonly [number, number][], share: number): void {
    const { featureVectors, header } = this.#index
    const size = header.dimensions
    const query = this.#query.fill(0)
    let total = 0
    for (const [feature, weight] of features) {
      const from = feature * size
      if (from >= featureVectors.length) continue
      total += weight
      const x = Math.sqrt(weight)
      for (let d = 0; d < size; d++)
        query[d] = (query[d] as number) + x * (featureVectors[from + d] as number)
    }
    if (total === 0) return
    const logits = this.#logits
    const compared = this.#compared
    let count = 0
    for (let at = 0; at < logits.length; at++)
      if (logits[at] !== Number.NEGATIVE_INFINITY) compared[count++] = at
    const fits = this.#fits
    this.#memory.run('multiply', compared, fits, count, this.#occupations, query)
    const factor = share / Math.sqrt(total)
    for (let at = 0; at < count; at++) {
      const occupation = compared[at] as number
      logits[occupation] = (logits[occupation] as number) + factor * (fits[at] as number)
    }
  }
}

/** Sets all logits except the best ones to minus infinity, because time and memory traffic grow with the rest. */
function dropUnlikely(logits: Float32Array): void {
  const best = findBest(logits)
  let least = best - FAR
  if (logits.length > RANKED) {
    const counts = new Uint32Array(BINS + 1)
    for (let at = 0; at < logits.length; at++) {
      const bin = ((best - (logits[at] as number)) * BINS) / FAR
      if (bin <= BINS) counts[bin | 0] = (counts[bin | 0] as number) + 1
    }
    let [bin, kept] = [0, 0]
    while (bin < BINS && kept + (counts[bin] as number) <= RANKED) kept += counts[bin++] as number
    least = best - (Math.max(1, bin) * FAR) / BINS
  }
  for (let at = 0; at < logits.length; at++) {
    if ((logits[at] as number) < least) logits[at] = Number.NEGATIVE_INFINITY
  }
}
