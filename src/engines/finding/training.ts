import { type Embedding, trainEmbedding } from './embedding.ts'
import { featuresOf, findFeature, findSlot, hashText, isGram, KIND } from './features.ts'
import type { LatentSemantics } from './latent-semantics.ts'
import { findLeast, integers, NumberList } from './number-list.ts'
import { RowWriter, type SparseRows } from './sparse.ts'

/** Character n-grams that more occupations share are dropped: they say little and take most of the time. */
const COMMON_GRAM = 150

/** Other features that more occupations share are dropped: they say little. */
const COMMON_FEATURE = 20_000

/** Features of fewer names have no vector. */
const FREQUENT = 5
/** The most features with a vector: the most frequent ones. */
const MAX_FEATURES = 65_536

/** The initial length of the vectors of occupations. Those of words have length 1. */
const OCCUPATION_LENGTH = 6

/** The names of a catalogue, in the order of their owners. */
export interface Names {
  readonly owners: Uint32Array
  /** How much each name counts. */
  readonly importance: Float32Array
  text(name: number): string
  /** Its words, folded and singular. */
  terms(name: number): readonly string[]
}

export interface TrainedVectors {
  readonly featureHash: Uint32Array
  readonly featureId: Uint32Array
  readonly featureVectors: Float32Array
  readonly occupationVectors: Float32Array
}

/** The vectors with which the embedding starts, and the words that its rows belong to. */
type TermSemantics = LatentSemantics & { term(word: number): string }

/** Names between two calls of `onStep`. */
const STEP = 1_000

/** @param onStep called often; what it throws ends the training */
export function trainOnNames(names: Names, semantics: TermSemantics, onStep: () => void): TrainedVectors {
  const { owners, importance } = names
  const table = chooseFeatures(names, onStep)
  const embedding = startEmbedding(table, semantics)
  trainEmbedding(embedding, { features: listFeatures(names, table, onStep), owners, importance }, onStep)
  return {
    featureHash: table.slotHash,
    featureId: table.slotId,
    featureVectors: embedding.features,
    occupationVectors: embedding.occupations,
  }
}

/** The features that are worth a vector. */
function chooseFeatures({ owners, text, terms }: Names, onStep: () => void): FeatureTable {
  const table = new FeatureTable()
  /** By feature: the number of occupations that have it, the last of them, and its uses. */
  const [holders, last, uses] = [new NumberList(integers), new NumberList(integers), new NumberList(integers)]
  owners.forEach((owner, name) => {
    if (name % STEP === 0) onStep()
    for (const hash of featuresOf(text(name), terms(name)).keys()) {
      const id = table.add(hash)
      if (id === holders.length) {
        holders.push(1)
        last.push(owner)
        uses.push(0)
      } else if (last.at(id) !== owner) {
        last.set(id, owner)
        holders.add(id, 1)
      }
      uses.add(id, 1)
    }
  })
  const hashes = table.hashes.finish()
  const isKept = (hash: number, id: number) => holders.at(id) <= (isGram(hash) ? COMMON_GRAM : COMMON_FEATURE)
  const least = findLeast(
    uses.finish().filter((_, id) => isKept(hashes[id] as number, id)),
    FREQUENT,
    MAX_FEATURES,
  )
  const kept = new FeatureTable()
  hashes.forEach((hash, id) => {
    if (uses.at(id) >= least && isKept(hash, id)) kept.add(hash)
  })
  return kept
}

/** The kept features of each name with the square roots of their weights, normalised to length 1. */
function listFeatures({ owners, text, terms }: Names, kept: FeatureTable, onStep: () => void): SparseRows {
  const rows = new RowWriter()
  owners.forEach((_, name) => {
    if (name % STEP === 0) onStep()
    const features: [number, number][] = []
    let sum = 0
    for (const [hash, weight] of featuresOf(text(name), terms(name))) {
      const id = kept.find(hash)
      if (id < 0) continue
      features.push([id, weight])
      sum += weight
    }
    const length = Math.sqrt(sum) || 1
    for (const [id, weight] of features) rows.add(id, Math.sqrt(weight) / length)
    rows.endRow()
  })
  return rows.finish()
}

/** An embedding in which words and occupations have the vectors of latent semantic analysis. */
function startEmbedding(
  table: FeatureTable,
  { dimensions, words, rows, occupations, term }: TermSemantics,
): Embedding {
  const features = new Float32Array(table.hashes.length * dimensions)
  words.forEach((word, at) => {
    const feature = table.find(hashText(term(word), KIND.word))
    if (feature < 0) return
    const row = rows.subarray(at * dimensions, (at + 1) * dimensions)
    const length = Math.sqrt(row.reduce((sum, value) => sum + value * value, 0)) || 1
    row.forEach((value, d) => {
      features[feature * dimensions + d] = value / length
    })
  })
  for (let at = 0; at < occupations.length; at++)
    occupations[at] = (occupations[at] as number) * OCCUPATION_LENGTH
  return { dimensions, features, occupations }
}

/** Numbers features in the order of insertion, in the open-addressing hash table of the index. */
class FeatureTable {
  readonly hashes = new NumberList(integers)
  slotHash = new Uint32Array(2)
  /** `id + 1`, or 0 for a free slot. */
  slotId = new Uint32Array(2)

  add(hash: number): number {
    const slot = findSlot(this.slotHash, this.slotId, hash)
    const known = this.slotId[slot] as number
    if (known > 0) return known - 1
    this.slotHash[slot] = hash
    this.hashes.push(hash)
    this.slotId[slot] = this.hashes.length
    if (this.hashes.length * 1.5 > this.slotId.length) this.#grow()
    return this.hashes.length - 1
  }

  /** The number of a feature, or -1. */
  find(hash: number): number {
    return findFeature(this.slotHash, this.slotId, hash)
  }

  #grow(): void {
    const slots = this.slotId.length * 2
    this.slotHash = new Uint32Array(slots)
    this.slotId = new Uint32Array(slots)
    this.hashes.finish().forEach((hash, id) => {
      const slot = findSlot(this.slotHash, this.slotId, hash)
      this.slotHash[slot] = hash
      this.slotId[slot] = id + 1
    })
  }
}
