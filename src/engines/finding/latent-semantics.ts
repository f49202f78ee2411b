import { findLeast, integers, NumberList } from './number-list.ts'
import { RowWriter, type SparseRows } from './sparse.ts'

/** Words and occupations in one space of few dimensions, in which words used for the same occupations are close. */
export interface LatentSemantics {
  readonly dimensions: number
  /** The words with a row: those of several occupations, and of those the most frequent. */
  readonly words: Uint32Array
  /** One row for each of them. */
  readonly rows: Float32Array
  /** One row of length 1 per occupation. */
  readonly occupations: Float32Array
}

const ITERATIONS = 4
/** The dimensions are computed from about this many occupations, spread over the catalogue. */
const SAMPLE = 3000
/** The most words with a row. */
const MAX_WORDS = 50_000

/**
 * Latent semantic analysis of the catalogue: a truncated singular value decomposition of the occupation-by-word
 * matrix by subspace iteration. Both sides are scaled by the square roots of the singular values, because the first
 * dimensions say little. It starts from fixed pseudo-random numbers.
 *
 * @param texts the weights of words by occupation
 * @param words the number of words
 */
export function analyseLatentSemantics(
  texts: SparseRows,
  words: number,
  dimensions: number,
  onStep: () => void,
): LatentSemantics {
  const weigher = new Weigher(texts, words)
  const count = texts.start.length - 1
  const known = weigher.words.length
  const size = Math.max(1, Math.min(dimensions, count, known))
  const sample = weigher.weigh(Math.max(1, Math.round(count / SAMPLE)))
  const sampled = sample.start.length - 1
  let right = drawNumbers(weigher.words, words, size)
  for (let iteration = 0; iteration < ITERATIONS; iteration++) {
    onStep()
    const left = multiply(sample, right, sampled, size)
    orthonormalise(left, sampled, size)
    right = multiply(sample, left, known, size, true)
  }
  // The columns of `right` have the lengths of the singular values.
  const scale = lengths(right, known, size)
  const rows = Float32Array.from(right, (value, at) => value / Math.sqrt(scale[at % size] as number))
  for (let at = 0; at < right.length; at++)
    right[at] = (right[at] as number) / (scale[at % size] as number) ** 1.5
  return { dimensions: size, words: weigher.words, rows, occupations: weigher.place(right, size, onStep) }
}

/** Pseudo-random but fixed numbers for each of some words: those of a word do not depend on which others there are. */
function drawNumbers(chosen: Uint32Array, words: number, size: number): Float64Array {
  const drawn = new Float64Array(chosen.length * size)
  let state = 1
  for (let word = 0, place = 0; word < words; word++) {
    const row = chosen[place] === word ? place++ * size : -1
    for (let d = 0; d < size; d++) {
      state = (Math.imul(state, 1103515245) + 12345) | 0
      if (row >= 0) drawn[row + d] = (state >>> 8) / 16777216 - 0.5
    }
  }
  return drawn
}

/** Weighs the words of occupations by their frequency there, and by how few occupations share them. */
class Weigher {
  readonly words: Uint32Array
  readonly #texts: SparseRows
  /** By word: its place in `words`, or -1, and the weight of its rarity. */
  readonly #place: Int32Array
  readonly #rarity: Float64Array

  constructor(texts: SparseRows, words: number) {
    const occupations = texts.start.length - 1
    const holders = new Uint32Array(words)
    for (const word of texts.column) holders[word] = (holders[word] as number) + 1
    const least = findLeast(holders, 2, MAX_WORDS)
    const known = new NumberList(integers)
    this.#texts = texts
    this.#place = new Int32Array(words).fill(-1)
    this.#rarity = Float64Array.from(holders, (shared) => Math.log(1 + occupations / shared))
    holders.forEach((shared, word) => {
      if (shared < least) return
      this.#place[word] = known.length
      known.push(word)
    })
    this.words = known.finish()
  }

  /** The weights of every `step`-th occupation, as rows of length 1. */
  weigh(step: number): SparseRows {
    const rows = new RowWriter()
    for (let row = 0; row + 1 < this.#texts.start.length; row += step) {
      const length = this.#read(row, (_place, weight) => weight * weight)
      this.#read(row, (place, weight) => {
        rows.add(place, weight / (Math.sqrt(length) || 1))
        return 0
      })
      rows.endRow()
    }
    return rows.finish()
  }

  /** The place of each occupation: the sum of those of its words, of length 1. */
  place(words: Float64Array, size: number, onStep: () => void): Float32Array {
    const count = this.#texts.start.length - 1
    const occupations = new Float32Array(count * size)
    const sum = new Float64Array(size)
    for (let row = 0; row < count; row++) {
      if (row % STEP === 0) onStep()
      sum.fill(0)
      this.#read(row, (place, weight) => {
        for (let d = 0; d < size; d++)
          sum[d] = (sum[d] as number) + weight * (words[place * size + d] as number)
        return 0
      })
      const length = Math.sqrt(sum.reduce((total, value) => total + value * value, 0)) || 1
      for (let d = 0; d < size; d++) occupations[row * size + d] = (sum[d] as number) / length
    }
    return occupations
  }

  /** Calls a function with the place and the weight of each known word, and returns the sum of its results. */
  #read(row: number, each: (place: number, weight: number) => number): number {
    const { start, column, value } = this.#texts
    let sum = 0
    for (let at = start[row] as number; at < (start[row + 1] as number); at++) {
      const word = column[at] as number
      const place = this.#place[word] as number
      if (place >= 0) sum += each(place, Math.log(1 + (value[at] as number)) * (this.#rarity[word] as number))
    }
    return sum
  }
}

/** Occupations between two calls of `onStep`. */
const STEP = 1_000

/**
 * Multiplies a sparse matrix, or its transpose, by a dense one of this width.
 *
 * @param count the rows of the product
 */
function multiply(
  { start, column, value }: SparseRows,
  dense: Float64Array,
  count: number,
  size: number,
  isTransposed = false,
): Float64Array<ArrayBuffer> {
  const product = new Float64Array(count * size)
  for (let row = 0; row < start.length - 1; row++) {
    for (let at = start[row] as number; at < (start[row + 1] as number); at++) {
      const places = [row * size, (column[at] as number) * size] as const
      const [to, from] = isTransposed ? [places[1], places[0]] : places
      const factor = value[at] as number
      for (let d = 0; d < size; d++)
        product[to + d] = (product[to + d] as number) + factor * (dense[from + d] as number)
    }
  }
  return product
}

/** Gram-Schmidt, twice, along the rows: columns of a row-major matrix are far apart in memory. */
function orthonormalise(matrix: Float64Array, count: number, size: number): void {
  for (let pass = 0; pass < 2; pass++) {
    const gram = new Float64Array(size * size)
    for (let row = 0; row < count; row++) {
      for (let i = 0; i < size; i++) {
        const value = matrix[row * size + i] as number
        for (let j = 0; j <= i; j++) {
          gram[i * size + j] = (gram[i * size + j] as number) + value * (matrix[row * size + j] as number)
        }
      }
    }
    const factor = cholesky(gram, size)
    for (let row = 0; row < count; row++) {
      for (let i = 0; i < size; i++) {
        let value = matrix[row * size + i] as number
        for (let j = 0; j < i; j++)
          value -= (factor[i * size + j] as number) * (matrix[row * size + j] as number)
        const pivot = factor[i * size + i] as number
        matrix[row * size + i] = pivot === 0 ? 0 : value / pivot
      }
    }
  }
}

/** The lower triangle L with L·Lᵀ = A. A dimension that the others already span gets a pivot of 0. */
function cholesky(matrix: Float64Array, size: number): Float64Array {
  const lower = new Float64Array(size * size)
  for (let i = 0; i < size; i++) {
    for (let j = 0; j <= i; j++) {
      let value = matrix[i * size + j] as number
      for (let k = 0; k < j; k++) value -= (lower[i * size + k] as number) * (lower[j * size + k] as number)
      if (i === j) lower[i * size + i] = value > 1e-12 ? Math.sqrt(value) : 0
      else {
        const pivot = lower[j * size + j] as number
        lower[i * size + j] = pivot === 0 ? 0 : value / pivot
      }
    }
  }
  return lower
}

function lengths(matrix: Float64Array, count: number, size: number): Float64Array {
  const sums = new Float64Array(size)
  for (let at = 0; at < count * size; at++) {
    sums[at % size] = (sums[at % size] as number) + (matrix[at] as number) ** 2
  }
  return sums.map((sum) => Math.sqrt(sum) || 1)
}
