import { invert, type SparseRows } from './sparse.ts'

/** Features and occupations as vectors: the inner product of two shows how well they fit. */
export interface Embedding {
  readonly dimensions: number
  /** One row for each feature. */
  readonly features: Float32Array
  /** One row for each occupation. */
  readonly occupations: Float32Array
}

/** Names to learn from, ordered by their occupation. */
export interface Examples {
  /** The weights of each name's features, of length 1. */
  readonly features: SparseRows
  /** The occupation of each name. */
  readonly owners: Uint32Array
  /** How much each name counts. */
  readonly importance: Float32Array
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
 * @param onStep called often; what it throws ends the training
 */
export function trainEmbedding(embedding: Embedding, examples: Examples, onStep: () => void): void {
  const { dimensions: size, features, occupations } = embedding
  const { start, column, value } = examples.features
  const { owners, importance } = examples
  const sharers = invert(examples.features, features.length / size)
  const featureSquares = new Float64Array(features.length / size).fill(FIRST_SQUARE)
  const occupationSquares = new Float64Array(occupations.length / size).fill(FIRST_SQUARE)
  const seen = new Uint32Array(occupations.length / size)
  const [name, change] = [new Float32Array(size), new Float32Array(size)]
  /** The occupations that an example is compared with, its own first, and by how much their probability is wrong. */
  const [rivals, errors] = [new Uint32Array(seen.length), new Float64Array(seen.length)]
  const total = Math.min(TRAINING.examples, TRAINING.epochs * owners.length)
  let state = 1
  const draw = (below: number) => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0
    return Math.floor((state / 0x100000000) * below)
  }
  for (let visit = 1; visit <= total; visit++) {
    if (visit % STEP === 0) onStep()
    const example = draw(owners.length)
    const [from, to] = [start[example] as number, start[example + 1] as number]
    if (from === to) continue
    let known = 0
    const compete = (occupation: number) => {
      if (seen[occupation] === visit) return
      seen[occupation] = visit
      rivals[known++] = occupation
    }
    compete(owners[example] as number)
    name.fill(0)
    for (let at = from; at < to; at++) {
      const feature = column[at] as number
      addRow(name, 0, value[at] as number, features, feature * size, size)
      const first = sharers.start[feature] as number
      const sharer = sharers.column[first + draw((sharers.start[feature + 1] as number) - first)] as number
      compete(owners[sharer] as number)
    }
    for (let drawn = 0; drawn < TRAINING.draws; drawn++) compete(owners[draw(owners.length)] as number)
    for (let at = 0; at < known; at++) errors[at] = multiply(occupations, (rivals[at] as number) * size, name)
    toErrors(errors, known, importance[example] as number)
    const rate = TRAINING.rate * (1 - visit / (total + 1))
    const nameSquare = meanSquare(name)
    change.fill(0)
    for (let at = 0; at < known; at++) {
      const [occupation, error] = [rivals[at] as number, errors[at] as number]
      if (Math.abs(error) < NEGLIGIBLE) continue
      addRow(change, 0, error, occupations, occupation * size, size)
      const step = takeStep(occupationSquares, occupation, error, nameSquare, rate)
      addRow(occupations, occupation * size, step, name, 0, size)
    }
    const changeSquare = meanSquare(change)
    for (let at = from; at < to; at++) {
      const feature = column[at] as number
      const step = takeStep(featureSquares, feature, value[at] as number, changeSquare, rate)
      addRow(features, feature * size, step, change, 0, size)
    }
  }
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

/** Replaces how well occupations fit, of which the first is right, by the errors of their probabilities. */
function toErrors(fits: Float64Array, known: number, weight: number): void {
  let best = Number.NEGATIVE_INFINITY
  for (let at = 0; at < known; at++) best = Math.max(best, fits[at] as number)
  let sum = 0
  for (let at = 0; at < known; at++) {
    const fit = fits[at] as number
    const part = fit < best - FAR && at > 0 ? 0 : Math.exp(fit - best)
    fits[at] = part
    sum += part
  }
  for (let at = 0; at < known; at++) fits[at] = weight * ((fits[at] as number) / sum - (at === 0 ? 1 : 0))
}

/** The inner product of a row and a vector: four sums, because each addition to one waits for the one before. */
export function multiply(rows: Float32Array, from: number, vector: Float32Array): number {
  let [one, two, three, four] = [0, 0, 0, 0]
  const whole = vector.length & ~3
  for (let d = 0; d < whole; d += 4) {
    const at = from + d
    one += (rows[at] as number) * (vector[d] as number)
    two += (rows[at + 1] as number) * (vector[d + 1] as number)
    three += (rows[at + 2] as number) * (vector[d + 2] as number)
    four += (rows[at + 3] as number) * (vector[d + 3] as number)
  }
  for (let d = whole; d < vector.length; d++) one += (rows[from + d] as number) * (vector[d] as number)
  return one + two + (three + four)
}

/** Adds a multiple of one row to another: two numbers at a time, which takes three quarters of the time. */
export function addRow(
  to: Float32Array,
  toAt: number,
  factor: number,
  from: Float32Array,
  fromAt: number,
  size: number,
): void {
  let d = 0
  for (; d + 1 < size; d += 2) {
    to[toAt + d] = (to[toAt + d] as number) + factor * (from[fromAt + d] as number)
    to[toAt + d + 1] = (to[toAt + d + 1] as number) + factor * (from[fromAt + d + 1] as number)
  }
  if (d < size) to[toAt + d] = (to[toAt + d] as number) + factor * (from[fromAt + d] as number)
}

function meanSquare(vector: Float32Array): number {
  return multiply(vector, 0, vector) / vector.length
}
