/** Runs work one at a time for each name, in the order of the calls. Whoever waits needs no connection for it. */
export class KeyedMutex {
  readonly #last = new Map<string, Promise<unknown>>()

  /** @param onWait called if other work of this name must end first */
  run<T>(name: string, work: () => Promise<T>, onWait: () => void): Promise<T> {
    const before = this.#last.get(name)
    if (before !== undefined) onWait()
    const result = before === undefined ? work() : before.then(work)
    const ended = result.then(
      () => undefined,
      () => undefined,
    )
    this.#last.set(name, ended)
    void ended.then(() => {
      if (this.#last.get(name) === ended) this.#last.delete(name)
    })
    return result
  }
}
