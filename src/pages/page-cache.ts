import { RequestCounts } from './request-counts.ts'

/**
 * Keeps the values used most, up to a total weight. While there is room, it keeps every value. Once it is full, a new
 * value replaces the least recently used ones only if it has been asked for more often than each of them: callers that
 * walk through everything once evict nothing (TinyLFU, https://arxiv.org/abs/1512.00727).
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

  /** Bytes kept. */
  get weight(): number {
    return this.#weight
  }

  /** Counts a request for a value, and returns it if it is kept. */
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

  /** Offers a value, or a kept one whose weight has changed. */
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

  /** Returns whether there was one to delete. */
  delete(key: string): boolean {
    const entry = this.#entries.get(key)
    if (entry === undefined) return false
    this.#entries.delete(key)
    this.#weight -= entry.weight
    return true
  }

  /** Keeps the counts: after an import the same pages are asked for. */
  clear(): void {
    this.#entries.clear()
    this.#weight = 0
  }

  /** Whether a value has been asked for more often than everything that would have to go for it. */
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
