import { type Classifier, trainClassifier } from './classifier.ts'
import { featuresOf, isGram } from './features.ts'
import { RowWriter, type SparseRows } from './sparse.ts'

/** Character n-grams that more occupations share are dropped: they say little and take most of the time. */
const COMMON_GRAM = 150

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
}

/** @param examples ordered by owner */
export function learnNames(examples: readonly Example[], occupations: number): Learnt {
  const table = new FeatureTable()
  /** By feature: the number of occupations that have it, and the last of them. */
  const holders: number[] = []
  const last: number[] = []
  const all = new RowWriter()
  for (const { text, terms, owner } of examples) {
    for (const [hash, weight] of featuresOf(text, terms)) {
      const id = table.add(hash)
      if (id === holders.length) {
        holders.push(1)
        last.push(owner)
      } else if (last[id] !== owner) {
        last[id] = owner
        holders[id] = (holders[id] ?? 0) + 1
      }
      all.add(id, weight)
    }
    all.endRow()
  }
  const kept = new FeatureTable()
  const renumbered = Int32Array.from(table.hashes, (hash, id) =>
    isGram(hash) && (holders[id] ?? 0) > COMMON_GRAM ? -1 : kept.add(hash),
  )
  const owners = Uint32Array.from(examples, ({ owner }) => owner)
  const sizes = { occupations, features: kept.hashes.length }
  const { weights, bias } = trainClassifier(normalise(all.finish(), renumbered), owners, sizes)
  return { featureHash: kept.slotHash, featureId: kept.slotId, weights, bias }
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
