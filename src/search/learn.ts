import { type Classifier, trainClassifier } from './classifier.ts'
import { type Embedding, trainEmbedding } from './embedding.ts'
import { featuresOf, hashText, isGram, KIND } from './features.ts'
import type { Meaning } from './meaning.ts'
import { RowWriter, type SparseRows } from './sparse.ts'

/** Character n-grams that more occupations share are dropped: they say little and take most of the time. */
const COMMON_GRAM = 150

/** Features of fewer names have no vector. */
const FREQUENT = 5

/** The initial length of the vectors of occupations. Those of words have length 1. */
const OCCUPATION_LENGTH = 6

/** A training example of the classifier. */
export interface Example {
  readonly text: string
  /** Its words, folded and singular. */
  readonly terms: readonly string[]
  readonly owner: number
}

export interface Learnt extends Classifier {
  readonly featureHash: Uint32Array
  readonly featureId: Uint32Array
  readonly featureVectors: Float32Array
  readonly occupationVectors: Float32Array
}

/**
 * @param examples ordered by owner
 * @param meaning the vectors with which the embedding starts, and the words that its rows belong to
 */
export function learnNames(
  examples: readonly Example[],
  occupations: number,
  meaning: Meaning & { readonly terms: readonly string[] },
): Learnt {
  const table = new FeatureTable()
  /** By feature: the number of occupations that have it, and the last of them. */
  const holders: number[] = []
  const last: number[] = []
  const uses: number[] = []
  const all = new RowWriter()
  for (const { text, terms, owner } of examples) {
    for (const [hash, weight] of featuresOf(text, terms)) {
      const id = table.add(hash)
      if (id === holders.length) {
        holders.push(1)
        last.push(owner)
        uses.push(0)
      } else if (last[id] !== owner) {
        last[id] = owner
        holders[id] = (holders[id] ?? 0) + 1
      }
      uses[id] = (uses[id] ?? 0) + 1
      all.add(id, weight)
    }
    all.endRow()
  }
  const kept = new FeatureTable()
  const isKept = (hash: number, id: number) => !isGram(hash) || (holders[id] ?? 0) <= COMMON_GRAM
  const isFrequent = (id: number) => (uses[id] ?? 0) >= FREQUENT
  // Features with a vector come first.
  table.hashes.forEach((hash, id) => {
    if (isKept(hash, id) && isFrequent(id)) kept.add(hash)
  })
  const embedded = kept.hashes.length
  const renumbered = Int32Array.from(table.hashes, (hash, id) => (isKept(hash, id) ? kept.add(hash) : -1))
  const owners = Uint32Array.from(examples, ({ owner }) => owner)
  const sizes = { occupations, features: kept.hashes.length }
  const rows = normalise(all.finish(), renumbered)
  const { weights, bias } = trainClassifier(rows, owners, sizes)
  const embedding = startEmbedding(kept, embedded, meaning)
  trainEmbedding(embedding, rows, owners, weights)
  return {
    featureHash: kept.slotHash,
    featureId: kept.slotId,
    weights,
    bias,
    featureVectors: embedding.features,
    occupationVectors: embedding.occupations,
  }
}

/** An embedding in which words and occupations have the vectors of latent semantic analysis. */
function startEmbedding(
  table: FeatureTable,
  embedded: number,
  { dimensions, words, occupations, terms }: Meaning & { readonly terms: readonly string[] },
): Embedding {
  const features = new Float32Array(embedded * dimensions)
  terms.forEach((term, word) => {
    const feature = table.find(hashText(term, KIND.word))
    if (feature < 0 || feature >= embedded) return
    const row = words.subarray(word * dimensions, (word + 1) * dimensions)
    const length = Math.sqrt(row.reduce((sum, value) => sum + value * value, 0)) || 1
    row.forEach((value, d) => {
      features[feature * dimensions + d] = value / length
    })
  })
  return { dimensions, features, occupations: occupations.map((value) => OCCUPATION_LENGTH * value) }
}

/** Takes square roots of the weights of the kept features, and normalises each example to length 1, in place. */
function normalise({ start, column, value }: SparseRows, renumbered: Int32Array): SparseRows {
  const starts = new Uint32Array(start.length)
  let end = 0
  for (let row = 0; row + 1 < start.length; row++) {
    const first = end
    let sum = 0
    for (let at = start[row] as number; at < (start[row + 1] as number); at++) {
      const id = renumbered[column[at] as number] as number
      if (id < 0) continue
      const weight = value[at] as number
      sum += weight
      column[end] = id
      value[end++] = Math.sqrt(weight)
    }
    const length = Math.sqrt(sum) || 1
    for (let at = first; at < end; at++) value[at] = (value[at] as number) / length
    starts[row + 1] = end
  }
  return { start: starts, column: column.subarray(0, end), value: value.subarray(0, end) }
}

/** Numbers features in the order of insertion, in the open-addressing hash table of the index. */
class FeatureTable {
  readonly hashes: number[] = []
  slotHash = new Uint32Array(2)
  /** `id + 1`, or 0 for a free slot. */
  slotId = new Uint32Array(2)

  add(hash: number): number {
    const slot = this.#findSlot(hash)
    const known = this.slotId[slot] as number
    if (known > 0) return known - 1
    this.slotHash[slot] = hash
    this.slotId[slot] = this.hashes.push(hash)
    if (this.hashes.length * 1.5 > this.slotId.length) this.#grow()
    return this.hashes.length - 1
  }

  /** The number of a feature, or -1. */
  find(hash: number): number {
    return (this.slotId[this.#findSlot(hash)] as number) - 1
  }

  #findSlot(hash: number): number {
    const mask = this.slotId.length - 1
    let slot = (hash >>> 1) & mask
    while (this.slotId[slot] !== 0 && this.slotHash[slot] !== hash) slot = (slot + 1) & mask
    return slot
  }

  #grow(): void {
    const slots = this.slotId.length * 2
    this.slotHash = new Uint32Array(slots)
    this.slotId = new Uint32Array(slots)
    this.hashes.forEach((hash, id) => {
      const slot = this.#findSlot(hash)
      this.slotHash[slot] = hash
      this.slotId[slot] = id + 1
    })
  }
}
