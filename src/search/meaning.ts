import { RowWriter, type SparseRows } from './sparse.ts'

/** Words and occupations in one space of few dimensions, in which words used for the same occupations are close. */
export interface Meaning {
  readonly dimensions: number
  /** One row per word. */
  readonly words: Float32Array
  /** One row of length 1 per occupation. */
  readonly occupations: Float32Array
}

const ITERATIONS = 4
/** The dimensions are computed from about this many occupations, spread over the catalogue. */
const SAMPLE = 3000

/**
 * Latent semantic analysis of the catalogue: a truncated singular value decomposition of the occupation-by-word
 * matrix by subspace iteration. Both sides are scaled by the square roots of the singular values, because the first
 * dimensions say little. It starts from fixed pseudo-random numbers.
 */
export function analyseMeaning(rows: SparseRows, words: number, dimensions: number): Meaning {
  const count = rows.start.length - 1
  const size = Math.max(1, Math.min(dimensions, count, words))
  const sample = takeRows(rows, Math.max(1, Math.round(count / SAMPLE)))
  const sampled = sample.start.length - 1
  let state = 1
  let right = Float64Array.from({ length: words * size }, () => {
    state = (Math.imul(state, 1103515245) + 12345) | 0
    return (state >>> 8) / 16777216 - 0.5
  })
  for (let iteration = 0; iteration < ITERATIONS; iteration++) {
    const left = multiply(sample, right, sampled, size)
    orthonormalise(left, sampled, size)
    right = multiplyTransposed(sample, left, words, size)
  }
  // The columns of `right` have the lengths of the singular values.
  const scale = lengths(right, words, size)
  const turned = right.map((value, at) => value / (scale[at % size] as number) ** 1.5)
  const occupations = multiply(rows, turned, count, size)
  normaliseRows(occupations, count, size)
  return {
    dimensions: size,
    words: Float32Array.from(right, (value, at) => value / Math.sqrt(scale[at % size] as number)),
    occupations: Float32Array.from(occupations),
  }
}

/** Every `step`-th row of a matrix. */
function takeRows(rows: SparseRows, step: number): SparseRows {
  if (step === 1) return rows
  const taken = new RowWriter()
  for (let row = 0; row + 1 < rows.start.length; row += step) {
    for (let at = rows.start[row] as number; at < (rows.start[row + 1] as number); at++) {
      taken.add(rows.column[at] as number, rows.value[at] as number)
    }
    taken.endRow()
  }
  return taken.finish()
}

function multiply(
  rows: SparseRows,
  right: Float64Array,
  count: number,
  size: number,
): Float64Array<ArrayBuffer> {
  const left = new Float64Array(count * size)
  for (let row = 0; row < count; row++) {
    for (let at = rows.start[row] as number; at < (rows.start[row + 1] as number); at++) {
      const [value, from, to] = [rows.value[at] as number, (rows.column[at] as number) * size, row * size]
      for (let d = 0; d < size; d++)
        left[to + d] = (left[to + d] as number) + value * (right[from + d] as number)
    }
  }
  return left
}

function multiplyTransposed(
  rows: SparseRows,
  left: Float64Array,
  words: number,
  size: number,
): Float64Array<ArrayBuffer> {
  const right = new Float64Array(words * size)
  for (let row = 0; row < rows.start.length - 1; row++) {
    for (let at = rows.start[row] as number; at < (rows.start[row + 1] as number); at++) {
      const [value, to, from] = [rows.value[at] as number, (rows.column[at] as number) * size, row * size]
      for (let d = 0; d < size; d++)
        right[to + d] = (right[to + d] as number) + value * (left[from + d] as number)
    }
  }
  return right
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

function normaliseRows(matrix: Float64Array, count: number, size: number): void {
  for (let row = 0; row < count; row++) {
    const part = matrix.subarray(row * size, (row + 1) * size)
    const length = Math.sqrt(part.reduce((sum, value) => sum + value * value, 0)) || 1
    for (let d = 0; d < size; d++) part[d] = (part[d] as number) / length
  }
}
