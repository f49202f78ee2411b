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

/** One counter per row, from FNV-1a and its high half. */
function placesOf(key: string): [number, number] {
  let hash = 0x811c9dc5
  for (let index = 0; index < key.length; index++) hash = Math.imul(hash ^ key.charCodeAt(index), 0x01000193)
  // The low bits of FNV-1a are the same for many similar keys.
  hash = Math.imul(hash ^ (hash >>> 15), 0x2c1b3c6d)
  return [hash & (SIZE - 1), SIZE + (hash >>> 16)]
}
