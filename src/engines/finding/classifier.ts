import type { SparseRows } from './sparse.ts'

/** The trained classifier of names: for each feature, its weight for each occupation with a name that has it. */
export interface Classifier {
  readonly weights: SparseRows
  /** The prior of each occupation, as a logit. */
  readonly bias: Float32Array
}

/** Tuned on held-out names, as `bench/search` measures. The embedding corrects more than further epochs do. */
const TRAINING = {
  rate: 2.2,
  biasRate: 0.02,
  epochs: 1,
  /** The most weights visited in total. Unlike a time limit, this gives the same index on every machine. */
  visits: 1.5e8,
}

/** The initial trust in weights from counts, and the smoothing of small counts. */
const TRUST = 0.8
const SMOOTHING = 0.5

/**
 * The initial value of AdaGrad's sums, so that the first steps of a rare feature are no larger than those of a common
 * one.
 */
const FIRST_SQUARE = 0.3

/** Examples between two calls of `onStep`: each may visit the weights of many occupations. */
const STEP = 100

/** Logits this far below the best do not change a weight. */
const NEGLIGIBLE = 12

/** The occupation of each name, and how much the name counts beside the others. */
export interface WeighedOwners {
  readonly owners: Uint32Array
  readonly importance: Float32Array
}

/**
 * Learns which occupation a name belongs to: a softmax over the occupations that share a feature with the name,
 * trained by stochastic gradient descent with AdaGrad. A weight exists only if a name of the occupation has the
 * feature, which keeps the matrix as small as an inverted index. Training starts from weights by counts, as in naive
 * Bayes, so a large catalogue needs only part of an epoch. The order of the examples is pseudo-random but fixed: the
 * same names give the same classifier on every machine.
 *
 * @param examples the features of each name, normalised to length 1, ordered by owner
 * @param owners the occupation of each name, ascending, and how much the name counts
 * @param onStep called often; what it throws ends the training
 */
export function trainClassifier(
  examples: SparseRows,
  { owners, importance }: WeighedOwners,
  sizes: { occupations: number; features: number },
  onStep: () => void,
): Classifier {
  const weights = layOut(examples, owners, sizes.features)
  weighByCounts(weights, examples, owners, sizes.occupations)
  const bias = new Float32Array(sizes.occupations)
  const { start, column, value } = weights
  const epochs = affordableEpochs(examples, start)
  const [sums, seen] = [
    new Float64Array(sizes.features).fill(FIRST_SQUARE),
    new Uint32Array(sizes.occupations),
  ]
  const [logits, touched] = [new Float32Array(sizes.occupations), new Uint32Array(sizes.occupations)]
  let stamp = 0
  const learnFrom = (example: number) => {
    const [first, end] = [examples.start[example] as number, examples.start[example + 1] as number]
    let count = 0
    stamp++
    for (let at = first; at < end; at++) {
      const feature = examples.column[at] as number
      const x = examples.value[at] as number
      for (let p = start[feature] as number, stop = start[feature + 1] as number; p < stop; p++) {
        const occupation = column[p] as number
        if (seen[occupation] !== stamp) {
          seen[occupation] = stamp
          logits[occupation] = bias[occupation] as number
          touched[count++] = occupation
        }
        logits[occupation] = (logits[occupation] as number) + x * (value[p] as number)
      }
    }
    const weight = importance[example] as number
    const square = toErrors(logits, touched, count, owners[example] as number, weight)
    for (let at = first; at < end; at++) {
      const feature = examples.column[at] as number
      const x = examples.value[at] as number
      const sum = (sums[feature] as number) + square * x * x
      sums[feature] = sum
      const step = (TRAINING.rate * x) / Math.sqrt(sum)
      for (let p = start[feature] as number, stop = start[feature + 1] as number; p < stop; p++) {
        const error = logits[column[p] as number] as number
        if (error !== 0) value[p] = (value[p] as number) - step * error
      }
    }
    for (let index = 0; index < count; index++) {
      const occupation = touched[index] as number
      bias[occupation] = (bias[occupation] as number) - TRAINING.biasRate * (logits[occupation] as number)
    }
  }
  const numbers = Uint32Array.from({ length: owners.length }, (_, index) => index)
  for (let epoch = 0; epoch < epochs; epoch++) {
    shuffle(numbers, epoch)
    const part = Math.ceil(numbers.length * Math.min(1, epochs - epoch))
    for (let at = 0; at < part; at++) {
      if (at % STEP === 0) onStep()
      learnFrom(numbers[at] as number)
    }
  }
  return { weights, bias }
}

/** Replaces the logits by the errors of their softmax, and returns the sum of their squares. */
function toErrors(
  logits: Float32Array,
  touched: Uint32Array,
  count: number,
  owner: number,
  weight: number,
): number {
  let best = Number.NEGATIVE_INFINITY
  for (let index = 0; index < count; index++)
    best = Math.max(best, logits[touched[index] as number] as number)
  let total = 0
  for (let index = 0; index < count; index++) {
    const occupation = touched[index] as number
    const below = (logits[occupation] as number) - best
    const part = below < -NEGLIGIBLE ? 0 : Math.exp(below)
    logits[occupation] = part
    total += part
  }
  let square = 0
  for (let index = 0; index < count; index++) {
    const occupation = touched[index] as number
    const error = weight * ((logits[occupation] as number) / total - (occupation === owner ? 1 : 0))
    logits[occupation] = Math.abs(error) < 1e-5 ? 0 : error
    square += error * error
  }
  return square
}

/** A row for each feature, with a zero weight for every occupation that has it. */
function layOut(examples: SparseRows, owners: Uint32Array, features: number): SparseRows {
  const start = new Uint32Array(features + 1)
  const last = new Int32Array(features).fill(-1)
  const visit = (each: (feature: number, owner: number) => void) => {
    last.fill(-1)
    for (let example = 0; example < owners.length; example++) {
      const owner = owners[example] as number
      for (let at = examples.start[example] as number; at < (examples.start[example + 1] as number); at++) {
        const feature = examples.column[at] as number
        if (last[feature] === owner) continue
        last[feature] = owner
        each(feature, owner)
      }
    }
  }
  visit((feature) => {
    start[feature + 1] = (start[feature + 1] as number) + 1
  })
  for (let each = 0; each < features; each++)
    start[each + 1] = (start[each + 1] as number) + (start[each] as number)
  const next = start.slice()
  const column = new Uint32Array(start[features] as number)
  visit((feature, owner) => {
    const place = next[feature] as number
    next[feature] = place + 1
    column[place] = owner
  })
  return { start, column, value: new Float32Array(column.length) }
}

/**
 * Sets each weight to the logarithm of how much more often names of the occupation have the feature than all names
 * do.
 */
function weighByCounts(
  weights: SparseRows,
  examples: SparseRows,
  owners: Uint32Array,
  occupations: number,
): void {
  const { start, column, value } = weights
  const place = start.slice(0, -1)
  const last = new Int32Array(place.length).fill(-1)
  const uses = new Uint32Array(place.length)
  const names = new Uint32Array(occupations)
  for (let example = 0; example < owners.length; example++) {
    const owner = owners[example] as number
    names[owner] = (names[owner] as number) + 1
    for (let at = examples.start[example] as number; at < (examples.start[example + 1] as number); at++) {
      const feature = examples.column[at] as number
      if (last[feature] !== -1 && last[feature] !== owner) place[feature] = (place[feature] as number) + 1
      last[feature] = owner
      uses[feature] = (uses[feature] as number) + 1
      value[place[feature] as number] = (value[place[feature] as number] as number) + 1
    }
  }
  for (let feature = 0; feature < uses.length; feature++) {
    const share = (uses[feature] as number) / owners.length
    for (let p = start[feature] as number; p < (start[feature + 1] as number); p++) {
      const expected = share * (names[column[p] as number] as number)
      value[p] = TRUST * Math.log(((value[p] as number) + SMOOTHING) / (expected + SMOOTHING))
    }
  }
}

function affordableEpochs(examples: SparseRows, start: Uint32Array): number {
  let epoch = 0
  for (const feature of examples.column)
    epoch += 2 * ((start[feature + 1] as number) - (start[feature] as number))
  return Math.min(TRAINING.epochs, TRAINING.visits / Math.max(1, epoch))
}

/** A different order in each epoch, the same on every machine. */
function shuffle(numbers: Uint32Array, epoch: number): void {
  let state = Math.imul(0x9e3779b9, epoch + 1) >>> 0
  for (let index = numbers.length - 1; index > 0; index--) {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0
    const other = Math.floor((state / 0x100000000) * (index + 1))
    const moved = numbers[index] as number
    numbers[index] = numbers[other] as number
    numbers[other] = moved
  }
}
