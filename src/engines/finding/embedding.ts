import type { WeighedOwners } from './classifier.ts'
import type { SparseRows } from './sparse.ts'

/** Features and occupations as vectors: the inner product of two shows how well they fit. */
export interface Embedding {
  readonly dimensions: number
  /** One row for each of the first features, which are those that enough names have. */
  readonly features: Float32Array
  /** One row per occupation. */
  readonly occupations: Float32Array
}

export interface EmbeddingTraining {
  readonly rate: number
  readonly epochs: number
  /** The most examples visited in total, which bounds the time for large catalogues. */
  readonly examples: number
  /** Occupations drawn at random for each example, by their number of names. */
  readonly draws: number
}

/** Tuned on held-out names, as `bench/search` measures. */
const TRAINING: EmbeddingTraining = { rate: 0.1, epochs: 5, examples: 250_000, draws: 24 }

/** The initial value of AdaGrad's sums. */
const FIRST_SQUARE = 1e-3
/** Examples between two calls of `onStep`. */
const STEP = 1_000
/** Smaller errors of a probability do not change a vector. */
const NEGLIGIBLE = 1e-3

/**
 * Improves an embedding in place by stochastic gradient descent with AdaGrad, so that the vector of a name, which is
 * the sum of its features, fits its occupation better than others. The others are sampled: for each feature of the
 * name an occupation that shares it, and some more. The samples are pseudo-random but fixed: the same names give the
 * same embedding on every machine.
 *
 * @param examples the features of each name
 * @param owners the occupation of each name, and how much the name counts
 * @param holders the occupations that have each feature
 * @param onStep called often; what it throws ends the training
 */
export function trainEmbedding(
  { dimensions, features, occupations }: Embedding,
  examples: SparseRows,
  { owners, importance }: WeighedOwners,
  holders: SparseRows,
  onStep: () => void,
  training: EmbeddingTraining = TRAINING,
): void {
  const count = occupations.length / dimensions
  const embedded = features.length / dimensions
  const featureSquares = new Float64Array(embedded).fill(FIRST_SQUARE)
  const occupationSquares = new Float64Array(count).fill(FIRST_SQUARE)
  const [name, change] = [new Float64Array(dimensions), new Float64Array(dimensions)]
  const [rivals, seen] = [new Uint32Array(count), new Uint32Array(count)]
  const parts = new Float64Array(count)
  const total = Math.min(training.examples, training.epochs * owners.length)
  let state = 1
  const draw = (below: number) => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0
    return Math.floor((state / 0x100000000) * below)
  }
  for (let visit = 1; visit <= total; visit++) {
    if (visit % STEP === 0) onStep()
    const example = draw(owners.length)
    const [first, end] = [examples.start[example] as number, examples.start[example + 1] as number]
    const weight = importance[example] as number
    const length = addFeatures(name.fill(0), features, examples, first, end)
    if (length === 0) continue
    let known = 0
    const compete = (occupation: number) => {
      if (seen[occupation] === visit) return
      seen[occupation] = visit
      rivals[known++] = occupation
    }
    compete(owners[example] as number)
    for (let at = first; at < end; at++) {
      const feature = examples.column[at] as number
      if (feature >= embedded) continue
      const from = holders.start[feature] as number
      compete(holders.column[from + draw((holders.start[feature + 1] as number) - from)] as number)
    }
    for (let drawn = 0; drawn < training.draws; drawn++) compete(owners[draw(owners.length)] as number)
    let best = Number.NEGATIVE_INFINITY
    for (let index = 0; index < known; index++) {
      parts[index] = multiply(name, occupations, (rivals[index] as number) * dimensions)
      best = Math.max(best, parts[index] as number)
    }
    let sum = 0
    for (let index = 0; index < known; index++) {
      parts[index] = Math.exp((parts[index] as number) - best)
      sum += parts[index] as number
    }
    const rate = training.rate * (1 - visit / (total + 1))
    const nameSquare = multiply(name, name, 0) / dimensions
    change.fill(0)
    for (let index = 0; index < known; index++) {
      const error = weight * ((parts[index] as number) / sum - (index === 0 ? 1 : 0))
      if (Math.abs(error) < NEGLIGIBLE) continue
      const occupation = rivals[index] as number
      const square = (occupationSquares[occupation] as number) + error * error * nameSquare
      occupationSquares[occupation] = square
      const step = (rate * error) / Math.sqrt(square)
      for (let d = 0, at = occupation * dimensions; d < dimensions; d++, at++) {
        const value = occupations[at] as number
        change[d] = (change[d] as number) + error * value
        occupations[at] = value - step * (name[d] as number)
      }
    }
    const changeSquare = multiply(change, change, 0) / dimensions
    for (let at = first; at < end; at++) {
      const feature = examples.column[at] as number
      if (feature >= embedded) continue
      const x = (examples.value[at] as number) / length
      const square = (featureSquares[feature] as number) + x * x * changeSquare
      featureSquares[feature] = square
      const step = (rate * x) / Math.sqrt(square)
      for (let d = 0, to = feature * dimensions; d < dimensions; d++, to++) {
        features[to] = (features[to] as number) - step * (change[d] as number)
      }
    }
  }
}

/** Adds the vectors of a name's features, and divides by the length of their weights, which is returned. */
function addFeatures(
  name: Float64Array,
  features: Float32Array,
  examples: SparseRows,
  first: number,
  end: number,
): number {
  const size = name.length
  let square = 0
  for (let at = first; at < end; at++) {
    const from = (examples.column[at] as number) * size
    if (from >= features.length) continue
    const x = examples.value[at] as number
    square += x * x
    for (let d = 0; d < size; d++) name[d] = (name[d] as number) + x * (features[from + d] as number)
  }
  const length = Math.sqrt(square)
  if (length > 0) for (let d = 0; d < size; d++) name[d] = (name[d] as number) / length
  return length
}

/** The inner product with a row. Four sums, because each addition to one would wait for the one before. */
function multiply(one: Float64Array, rows: Float32Array | Float64Array, from: number): number {
  let [a, b, c, d] = [0, 0, 0, 0]
  const whole = one.length & ~3
  for (let at = 0, other = from; at < whole; at += 4, other += 4) {
    a += (one[at] as number) * (rows[other] as number)
    b += (one[at + 1] as number) * (rows[other + 1] as number)
    c += (one[at + 2] as number) * (rows[other + 2] as number)
    d += (one[at + 3] as number) * (rows[other + 3] as number)
  }
  for (let at = whole; at < one.length; at++) a += (one[at] as number) * (rows[from + at] as number)
  return a + b + (c + d)
}
