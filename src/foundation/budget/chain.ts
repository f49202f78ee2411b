/** What can have a place in one `Chain` at a time. */
export class Link<Item> {
  /** Set by the chain alone. */
  chain: object | undefined
  before: Item | undefined
  after: Item | undefined
}

/**
 * Items in the order in which they were added. Whatever comes and goes with each request is in a chain and not in a
 * `Set`: V8 copies the table of a long-lived `Set` after every few changes into memory that it cleans rarely, and what
 * the old table names stays there as well (`docs/decisions/0006`).
 */
export class Chain<Item extends Link<Item>> {
  #first: Item | undefined
  #last: Item | undefined

  get first(): Item | undefined {
    return this.#first
  }

  has(item: Item): boolean {
    return item.chain === this
  }

  /** Adds an item that is in no chain. */
  add(item: Item): void {
    item.chain = this
    item.before = this.#last
    if (this.#last === undefined) this.#first = item
    else this.#last.after = item
    this.#last = item
  }

  /** Returns whether the item was in the chain. */
  delete(item: Item): boolean {
    if (!this.has(item)) return false
    const { before, after } = item
    if (before === undefined) this.#first = after
    else before.after = after
    if (after === undefined) this.#last = before
    else after.before = before
    item.chain = undefined
    item.before = undefined
    item.after = undefined
    return true
  }
}
