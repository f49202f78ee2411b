import type { Page } from './page.ts'
import type { UnreadResponses } from './unread-responses.ts'

/**
 * Reads pages from a database. Concurrent callers that ask for the same page share one read. A page counts as unread
 * as soon as it is in memory, and is not read if there is no room for it.
 */
export class SharedReads<Value extends Page | undefined> {
  readonly #unread: UnreadResponses
  readonly #most: number
  readonly #pending = new Map<string, Promise<Value>>()
  readonly #queue: (() => void)[] = []
  #running = 0

  /** @param most the most concurrent reads; further ones wait without holding a page */
  constructor(unread: UnreadResponses, most: number) {
    this.#unread = unread
    this.#most = most
  }

  /**
   * Returns the result of `read` to all concurrent callers with the same key.
   *
   * @throws {Problem} `unavailable` if too many responses wait for their clients
   */
  get(key: string, read: () => Promise<Value>): Promise<Value> {
    let pending = this.#pending.get(key)
    if (pending === undefined) {
      pending = this.#read(read).finally(() => this.#pending.delete(key))
      this.#pending.set(key, pending)
    }
    return pending
  }

  async #read(read: () => Promise<Value>): Promise<Value> {
    if (this.#running < this.#most) this.#running++
    else await new Promise<void>((resolve) => this.#queue.push(resolve))
    try {
      this.#unread.assertRoom()
      const page = await read()
      if (page !== undefined) this.#holdForCallers(page)
      return page
    } finally {
      const next = this.#queue.shift()
      if (next === undefined) this.#running--
      else next()
    }
  }

  /** Holds the page until its callers, which run in this turn of the event loop, have reserved it themselves. */
  #holdForCallers(page: Page): void {
    const body = page.ready('identity')
    this.#unread.reserve(body)
    setImmediate(() => this.#unread.release(body))
  }
}
