import { LRUCache } from 'lru-cache'
import type { Page } from './page.ts'

interface Weighed {
  /** The bytes in memory. */
  readonly weight: number
}

/** A cache of values up to so many bytes: what was not used for the longest time makes room. */
export function cacheUpTo<Value extends Weighed>(bytes: number): LRUCache<string, Value> {
  return new LRUCache({
    // Without a capacity, nothing is small enough to be kept.
    maxSize: Math.max(1, Math.floor(bytes)),
    sizeCalculation: ({ weight }, key) => Math.ceil(weight) + 2 * key.length,
  })
}

/**
 * How many requests later a page still counts as requested before. Measured: pages that are kept and never asked for
 * again make V8 collect its garbage more often, which costs a walk through all pages more than the cache could save.
 */
const REMEMBERED = 128

/** Keeps a page when it is requested for the second time, so callers that read everything once evict nothing. */
export class PageCache<Value extends Weighed = Page> {
  readonly #kept: LRUCache<string, Value>
  readonly #requested = new LRUCache<string, true>({ max: REMEMBERED })

  constructor(bytes: number) {
    this.#kept = cacheUpTo(bytes)
  }

  /** The total weight in bytes. */
  get weight(): number {
    return this.#kept.calculatedSize
  }

  get(key: string): Value | undefined {
    return this.#kept.get(key)
  }

  /** Offers a page that was just made. */
  set(key: string, page: Value): void {
    if (this.#kept.has(key) || this.#requested.delete(key)) this.#kept.set(key, page)
    else this.#requested.set(key, true)
  }

  clear(): void {
    this.#kept.clear()
  }
}

/** Shares each read of a page between all who ask for it meanwhile. */
export class SharedReads<Value> {
  readonly #pending = new Map<string, Promise<Value>>()

  async get(key: string, read: () => Promise<Value>): Promise<Value> {
    let pending = this.#pending.get(key)
    if (pending === undefined) {
      pending = read().finally(() => this.#pending.delete(key))
      this.#pending.set(key, pending)
    }
    return await pending
  }
}
