/** Counters, a power of two. Collisions only make a value look more popular than it is. */
const SIZE = 2 ** 16
/** A larger count says no more about what will be asked for next. */
const MOST = 15
/** Requests after which all counts are halved, so that what was popular long ago makes room. */
const PERIOD = 10 * SIZE

/** About how often each key was asked for lately, in a fixed amount of memory: a count-min sketch of two rows. */
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

/** A counter in each row, from FNV-1a and its high half. */
function placesOf(key: string): [number, number] {
  let hash = 0x811c9dc5
  for (let index = 0; index < key.length; index++) hash = Math.imul(hash ^ key.charCodeAt(index), 0x01000193)
  // The low bits of FNV-1a alone are the same for many similar keys.
  hash = Math.imul(hash ^ (hash >>> 15), 0x2c1b3c6d)
  return [hash & (SIZE - 1), SIZE + (hash >>> 16)]
}
