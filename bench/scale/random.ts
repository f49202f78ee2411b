import { seeded } from '../data.ts'

export { seeded }

/** Numbers in [0, 1). */
export type Random = () => number

/** Draws places 0, 1, … of which place k comes up in proportion to 1 / (k + 1)^exponent. */
export function zipf(random: Random, places: number, exponent: number): () => number {
  const sums = new Float64Array(places)
  let sum = 0
  for (let place = 0; place < places; place++) {
    sum += 1 / (place + 1) ** exponent
    sums[place] = sum
  }
  return () => {
    const drawn = random() * sum
    let [low, high] = [0, places - 1]
    while (low < high) {
      const middle = (low + high) >>> 1
      if ((sums[middle] ?? sum) > drawn) high = middle
      else low = middle + 1
    }
    return low
  }
}

/** Time until the next event of a Poisson process. */
export function exponential(random: Random, mean: number): number {
  return -Math.log(1 - random()) * mean
}

/** A positive number whose logarithm is normal: most are small, and a few are very large. */
export function logNormal(random: Random, middle: number, sigma: number): number {
  const normal = Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random())
  return middle * Math.exp(sigma * normal)
}

/** The value below which a part of the sorted values lies; 0 where there are none. */
export function quantile(sorted: readonly number[], part: number): number {
  return sorted[Math.min(sorted.length - 1, Math.floor(part * sorted.length))] ?? 0
}
