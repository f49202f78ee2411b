import { hashText } from '../../foundation/text/seeded-hash.ts'

/** The number of counters, a power of two. Collisions only make a value look more popular than it is. */
const SIZE = 2 ** 16
/** The highest count: larger ones would not predict future requests any better. */
const MOST = 15
/** All counts are halved after this many requests, so that formerly popular values lose their place. */
const PERIOD = 10 * SIZE

/** Estimates how often each key was requested recently, in constant memory: a count-min sketch with two rows. */
export class RequestCounts {
  readonly #counts = new Uint8Array(2 * SIZE)
  #added = 0

  add(key: string): void {
    const [first, second] = placesOf(key)
    this.#increment(first)
    this.#increment(second)
    this.#added++
    if (this.#added < PERIOD) return
    this.#added = 0
    for (let index = 0; index < this.#counts.length; index++)
      this.#counts[index] = (this.#counts[index] ?? 0) >> 1
  }

  of(key: string): number {
    const [first, second] = placesOf(key)
    return Math.min(this.#counts[first] ?? 0, this.#counts[second] ?? 0)
  }

  #increment(place: number): void {
    const count = this.#counts[place] ?? 0
    if (count < MOST) this.#counts[place] = count + 1
  }
}

/** One counter per row, from the halves of a hash. */
function placesOf(key: string): [number, number] {
  const hash = hashText(key)
  return [hash & (SIZE - 1), SIZE + (hash >>> 16)]
}
