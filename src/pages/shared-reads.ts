/** Lets callers that ask for the same thing at the same time wait for one reading of it. */
export class SharedReads<Value> {
  readonly #pending = new Map<string, Promise<Value>>()

  /** What `read` answers, or what it is about to answer to somebody who asked for the same key a moment ago. */
  get(key: string, read: () => Promise<Value>): Promise<Value> {
    let pending = this.#pending.get(key)
    if (pending === undefined) {
      pending = read().finally(() => this.#pending.delete(key))
      this.#pending.set(key, pending)
    }
    return pending
  }
}
