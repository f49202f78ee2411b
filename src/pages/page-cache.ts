/** Keeps the values used last, up to a total weight. */
export class PageCache<Value extends { readonly weight: number }> {
  readonly #entries = new Map<string, { readonly value: Value; readonly weight: number }>()
  readonly #capacity: number
  #weight = 0

  /** @param capacity in bytes; 0 keeps nothing */
  constructor(capacity: number) {
    this.#capacity = capacity
  }

  /** Bytes kept. */
  get weight(): number {
    return this.#weight
  }

  get(key: string): Value | undefined {
    const entry = this.#entries.get(key)
    if (entry === undefined) return undefined
    // A Map lists its keys in the order of their insertion, so the least recently used is the first.
    this.#entries.delete(key)
    this.#entries.set(key, entry)
    return entry.value
  }

  /** Keeps a value, or weighs it anew, and lets go of what was not used for longest. */
  set(key: string, value: Value): void {
    this.delete(key)
    const weight = value.weight + 2 * key.length
    if (weight > this.#capacity) return
    this.#entries.set(key, { value, weight })
    this.#weight += weight
    for (const oldest of this.#entries.keys()) {
      if (this.#weight <= this.#capacity) break
      this.delete(oldest)
    }
  }

  delete(key: string): void {
    const entry = this.#entries.get(key)
    if (entry === undefined) return
    this.#entries.delete(key)
    this.#weight -= entry.weight
  }

  clear(): void {
    this.#entries.clear()
    this.#weight = 0
  }
}
