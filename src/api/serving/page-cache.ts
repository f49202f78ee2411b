import { RequestCounts } from './request-counts.ts'

/**
 * Caches the most requested values up to a total weight. Once it is full, a new value replaces the least recently
 * used ones only if it was requested more often than each of them. Callers that read everything once therefore evict
 * nothing (TinyLFU, https://arxiv.org/abs/1512.00727).
 */
export class PageCache<Value extends { readonly weight: number }> {
  readonly #entries = new Map<string, { readonly value: Value; readonly weight: number }>()
  readonly #counts = new RequestCounts()
  readonly #capacity: number
  #weight = 0

  /** @param capacity in bytes; 0 keeps nothing */
  constructor(capacity: number) {
    this.#capacity = capacity
  }

  /** The total weight in bytes. */
  get weight(): number {
    return this.#weight
  }

  /** Counts a request for a value, and returns it if it is cached. */
  get(key: string): Value | undefined {
    if (this.#capacity === 0) return undefined
    this.#counts.add(key)
    const entry = this.#entries.get(key)
    if (entry === undefined) return undefined
    // A Map lists its keys in the order of their insertion, so the least recently used is the first.
    this.#entries.delete(key)
    this.#entries.set(key, entry)
    return entry.value
  }

  /** Offers a new value, or a cached one whose weight has changed. */
  set(key: string, value: Value): void {
    const weight = value.weight + 2 * key.length
    const wasKept = this.delete(key)
    if (weight > this.#capacity) return
    if (!wasKept && !this.#deservesRoom(key, weight)) return
    this.#entries.set(key, { value, weight })
    this.#weight += weight
    for (const oldest of this.#entries.keys()) {
      if (this.#weight <= this.#capacity) break
      this.delete(oldest)
    }
  }

  /** Returns whether the value was cached. */
  delete(key: string): boolean {
    const entry = this.#entries.get(key)
    if (entry === undefined) return false
    this.#entries.delete(key)
    this.#weight -= entry.weight
    return true
  }

  /** Keeps the counts, because the same pages are popular after an import. */
  clear(): void {
    this.#entries.clear()
    this.#weight = 0
  }

  /** Whether a value was requested more often than every value that it would replace. */
  #deservesRoom(key: string, weight: number): boolean {
    let missing = this.#weight + weight - this.#capacity
    if (missing <= 0) return true
    const count = this.#counts.of(key)
    for (const [oldest, entry] of this.#entries) {
      if (this.#counts.of(oldest) >= count) return false
      missing -= entry.weight
      if (missing <= 0) break
    }
    return true
  }
}
