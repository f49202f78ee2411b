import type { Budget } from '../../foundation/budget/budget.ts'
import type { Page } from './page.ts'
import type { UnreadResponses } from './unread-responses.ts'

/**
 * How many values the cache remembers to have been offered. Measured: pages that are kept and never asked for again make
 * V8 collect its garbage more often, which costs a walk through all pages more than the cache could save.
 */
const OFFERS = 128

/**
 * Caches values up to a total weight. One that is offered while there is no room is kept only if it was offered not
 * long before, so callers that read everything once evict nothing. What was not used for long makes room (CLOCK).
 */
export class PageCache<Value extends { readonly weight: number }> {
  readonly #kept = new Map<string, Entry<Value>>()
  /** The keys of values that were offered and not kept, the oldest first. */
  readonly #offered = new Set<string>()
  readonly #capacity: number
  readonly #always: boolean
  #weight = 0

  /**
   * @param capacity in bytes; 0 keeps nothing
   * @param always whether a value is kept when it is first offered, as long as there is room
   */
  constructor(capacity: number, always = true) {
    this.#capacity = capacity
    this.#always = always
  }

  /** The total weight in bytes. */
  get weight(): number {
    return this.#weight
  }

  /** The value, if it is cached. */
  get(key: string): Value | undefined {
    const entry = this.#kept.get(key)
    if (entry === undefined) return undefined
    entry.used = true
    return entry.value
  }

  /** Offers a new value. */
  set(key: string, value: Value): void {
    const weight = value.weight + 2 * key.length
    const wasKept = this.delete(key)
    if (weight > this.#capacity) return
    const hasRoom = this.#always && this.#weight + weight <= this.#capacity
    if (!wasKept && !hasRoom && !this.#offered.delete(key)) {
      this.#remember(key)
      return
    }
    this.#kept.set(key, { value, weight, used: true })
    this.#weight += weight
    if (this.#weight > this.#capacity) this.#makeRoom()
  }

  /** Weighs a value again that has changed, if it is cached. */
  reweigh(key: string, value: Value): void {
    if (this.get(key) === value) this.set(key, value)
  }

  /** Returns whether the value was cached. */
  delete(key: string): boolean {
    const entry = this.#kept.get(key)
    if (entry === undefined) return false
    this.#weight -= entry.weight
    return this.#kept.delete(key)
  }

  clear(): void {
    this.#kept.clear()
    this.#weight = 0
  }

  #remember(key: string): void {
    this.#offered.add(key)
    if (this.#offered.size <= OFFERS) return
    for (const oldest of this.#offered) {
      this.#offered.delete(oldest)
      break
    }
  }

  /** Deletes values that were not used since they were last passed over. */
  #makeRoom(): void {
    // A Map lists its keys in the order of their insertion, and those that are added meanwhile as well.
    for (const [key, entry] of this.#kept) {
      if (this.#weight <= this.#capacity) return
      this.#kept.delete(key)
      if (entry.used) {
        entry.used = false
        this.#kept.set(key, entry)
      } else this.#weight -= entry.weight
    }
  }
}

interface Entry<Value> {
  readonly value: Value
  readonly weight: number
  used: boolean
}

/**
 * Reads pages from a database. Concurrent callers that ask for the same page share one read. A page counts as unread
 * as soon as it is in memory, and is not read if there is no room for it.
 */
export class SharedReads<Value extends Page | undefined> {
  readonly #unread: UnreadResponses
  readonly #slots: Budget
  readonly #pending = new Map<string, Promise<Value>>()

  /** @param slots of concurrent reads; further ones wait without holding a page */
  constructor(unread: UnreadResponses, slots: Budget) {
    this.#unread = unread
    this.#slots = slots
  }

  /**
   * Returns the result of `read` to all concurrent callers with the same key.
   *
   * @param caller in whose turn the page is read
   * @throws {Exhausted} if too many responses wait for their clients
   */
  get(key: string, caller: string, read: () => Promise<Value>): Promise<Value> {
    let pending = this.#pending.get(key)
    if (pending === undefined) {
      pending = this.#read(caller, read).finally(() => this.#pending.delete(key))
      this.#pending.set(key, pending)
    }
    return pending
  }

  async #read(caller: string, read: () => Promise<Value>): Promise<Value> {
    const slot = await this.#slots.enter(caller)
    try {
      this.#unread.assertRoom(caller)
      const page = await read()
      if (page !== undefined) this.#holdForCallers(page, caller)
      return page
    } finally {
      slot.release()
    }
  }

  /** Holds the page until its callers, which run in this turn of the event loop, have reserved it themselves. */
  #holdForCallers(page: Page, caller: string): void {
    const reservation = this.#unread.reserve(page.ready('identity'), caller)
    setImmediate(() => reservation.release())
  }
}
