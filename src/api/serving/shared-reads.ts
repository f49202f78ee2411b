import type { Budget } from '../../foundation/budget/budget.ts'
import type { Page } from './page.ts'
import type { UnreadResponses } from './unread-responses.ts'

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
