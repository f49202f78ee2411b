import type { WeighedOwners } from './classifier.ts'
import type { SparseRows } from './sparse.ts'
import { copyRows, rowLength, VectorMemory } from './vector-kernels.ts'

/** Features and occupations as vectors: the inner product of two shows how well they fit. */
export interface Embedding {
  readonly dimensions: number
  /** One row for each of the first features, which are those that enough names have. */
  readonly features: Float32Array
  /** One row per occupation. */
  readonly occupations: Float32Array
}

/** Tuned on held-out names, as `bench/search` measures. */
const TRAINING = {
  rate: 0.1,
  epochs: 5,
  /** The most examples visited in total, which bounds the time for large catalogues. */
  examples: 250_000,
  /** Occupations drawn at random for each example, by their number of names. */
  draws: 24,
}

/** The initial value of AdaGrad's sums. */
const FIRST_SQUARE = 1e-3
/** Examples between two calls of `onStep`. */
const STEP = 1_000
/** Inner products this far below the best do not change a vector. */
const FAR = 9
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
  embedding: Embedding,
  examples: SparseRows,
  { owners, importance }: WeighedOwners,
  holders: SparseRows,
  onStep: () => void,
): void {
  const { dimensions } = embedding
  const count = embedding.occupations.length / dimensions
  const embedded = embedding.features.length / dimensions
  const longest = owners.reduce(
    (most, _, at) => Math.max(most, (examples.start[at + 1] as number) - (examples.start[at] as number)),
    0,
  )
  const vectors = new TrainedVectors(embedding, longest)
  const { name, change, rivals, moved, errors, used, factors } = vectors
  const featureSquares = new Float64Array(embedded).fill(FIRST_SQUARE)
  const occupationSquares = new Float64Array(count).fill(FIRST_SQUARE)
  const seen = new Uint32Array(count)
  const total = Math.min(TRAINING.examples, TRAINING.epochs * owners.length)
  let state = 1
  const draw = (below: number) => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0
    return Math.floor((state / 0x100000000) * below)
  }
  for (let visit = 1; visit <= total; visit++) {
    if (visit % STEP === 0) onStep()
    const example = draw(owners.length)
    const owner = owners[example] as number
    const features = vectors.readName(examples, example)
    if (features === 0) continue
    let known = 0
    const compete = (occupation: number) => {
      if (seen[occupation] === visit) return
      seen[occupation] = visit
      rivals[known++] = occupation
    }
    compete(owner)
    for (let at = 0; at < features; at++) {
      const feature = used[at] as number
      const from = holders.start[feature] as number
      compete(holders.column[from + draw((holders.start[feature + 1] as number) - from)] as number)
    }
    for (let drawn = 0; drawn < TRAINING.draws; drawn++) compete(owners[draw(owners.length)] as number)
    vectors.compare(known)
    const weight = importance[example] as number
    const moving = toErrors(vectors, known, owner, weight)
    const rate = TRAINING.rate * (1 - visit / (total + 1))
    vectors.sumErrors(moving)
    const nameSquare = meanSquare(name)
    for (let at = 0; at < moving; at++)
      errors[at] = takeStep(occupationSquares, moved[at] as number, errors[at] as number, nameSquare, rate)
    vectors.moveOccupations(moving)
    const changeSquare = meanSquare(change)
    for (let at = 0; at < features; at++)
      factors[at] = takeStep(featureSquares, used[at] as number, factors[at] as number, changeSquare, rate)
    vectors.moveFeatures(features)
  }
  vectors.finish()
}

/** AdaGrad's step for a gradient of `factor` times a vector with this mean square. */
function takeStep(
  squares: Float64Array,
  row: number,
  factor: number,
  meanSquare: number,
  rate: number,
): number {
  const square = (squares[row] as number) + factor * factor * meanSquare
  squares[row] = square
  return (-rate * factor) / Math.sqrt(square)
}

/** Lists the occupations whose probability is wrong by more than a negligible error; returns their number. */
function toErrors(
  { rivals, fits, moved, errors }: TrainedVectors,
  known: number,
  owner: number,
  weight: number,
): number {
  let best = Number.NEGATIVE_INFINITY
  for (let at = 0; at < known; at++) if ((fits[at] as number) > best) best = fits[at] as number
  const least = best - FAR
  let [count, sum] = [0, 0]
  for (let at = 0; at < known; at++) {
    const fit = fits[at] as number
    const occupation = rivals[at] as number
    if (fit < least && occupation !== owner) continue
    const part = Math.exp(fit - best)
    moved[count] = occupation
    errors[count++] = part
    sum += part
  }
  let kept = 0
  for (let at = 0; at < count; at++) {
    const occupation = moved[at] as number
    const error = weight * ((errors[at] as number) / sum - (occupation === owner ? 1 : 0))
    if (Math.abs(error) < NEGLIGIBLE) continue
    moved[kept] = occupation
    errors[kept++] = error
  }
  return kept
}

/** The vectors while they are trained, and lists of them, in the memory of the kernels. */
class TrainedVectors {
  readonly name: Float32Array
  readonly change: Float32Array
  /** The occupations that an example is compared with, and how well they fit it. */
  readonly rivals: Uint32Array
  readonly fits: Float32Array
  /** Those that move, and their errors or steps. */
  readonly moved: Uint32Array
  readonly errors: Float32Array
  /** The features of an example, and their weights or steps. */
  readonly used: Uint32Array
  readonly factors: Float32Array
  readonly #embedding: Embedding
  readonly #memory: VectorMemory
  readonly #features: Float32Array
  readonly #occupations: Float32Array
  readonly #size: number

  constructor(embedding: Embedding, longest: number) {
    const { dimensions, features, occupations } = embedding
    const count = occupations.length / dimensions
    const embedded = features.length / dimensions
    const size = rowLength(dimensions)
    const memory = new VectorMemory((embedded + count + 2) * size + 4 * count + 2 * longest)
    this.#embedding = embedding
    this.#memory = memory
    this.#size = size
    this.#features = memory.rows(features, dimensions)
    this.#occupations = memory.rows(occupations, dimensions)
    this.name = memory.floats(size)
    this.change = memory.floats(size)
    this.rivals = memory.integers(count)
    this.fits = memory.floats(count)
    this.moved = memory.integers(count)
    this.errors = memory.floats(count)
    this.used = memory.integers(longest)
    this.factors = memory.floats(longest)
  }

  /** Sets `name` to the sum of an example's features, of length 1 by their weights; returns their number. */
  readName({ start, column, value }: SparseRows, example: number): number {
    const { used, factors } = this
    const embedded = this.#features.length / this.#size
    let [count, square] = [0, 0]
    for (let at = start[example] as number; at < (start[example + 1] as number); at++) {
      const feature = column[at] as number
      if (feature >= embedded) continue
      const x = value[at] as number
      used[count] = feature
      factors[count++] = x
      square += x * x
    }
    const length = Math.sqrt(square)
    for (let at = 0; at < count; at++) factors[at] = (factors[at] as number) / length
    this.name.fill(0)
    this.#memory.run('addRows', used, factors, count, this.#features, this.name)
    return count
  }

  /** Sets how well the first rivals fit the name. */
  compare(count: number): void {
    this.#memory.run('multiply', this.rivals, this.fits, count, this.#occupations, this.name)
  }

  /** Sets `change` to the sum of the occupations that move, by their errors. */
  sumErrors(count: number): void {
    this.change.fill(0)
    this.#memory.run('addRows', this.moved, this.errors, count, this.#occupations, this.change)
  }

  moveOccupations(count: number): void {
    this.#memory.run('addToRows', this.moved, this.errors, count, this.#occupations, this.name)
  }

  moveFeatures(count: number): void {
    this.#memory.run('addToRows', this.used, this.factors, count, this.#features, this.change)
  }

  /** Writes the vectors back. */
  finish(): void {
    const { dimensions, features, occupations } = this.#embedding
    copyRows(this.#features, this.#size, features, dimensions)
    copyRows(this.#occupations, this.#size, occupations, dimensions)
  }
}

function meanSquare(vector: Float32Array): number {
  let sum = 0
  for (let at = 0; at < vector.length; at++) sum += (vector[at] as number) * (vector[at] as number)
  return sum / vector.length
}
