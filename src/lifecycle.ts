/**
 * Stops everything that a process has started. Whoever starts something registers its end here, so that an orderly
 * stop and a failed start end the same things, in reverse order.
 */
export class Lifecycle {
  readonly #ends: (() => unknown)[] = []

  /** Registers how to end what was just started, and returns it. */
  own<T>(started: T, end: (started: T) => unknown): T {
    this.#ends.push(() => end(started))
    return started
  }

  /** Ends everything that was registered, in reverse order, one after the other. */
  async end(): Promise<void> {
    for (let end = this.#ends.pop(); end !== undefined; end = this.#ends.pop()) await end()
  }
}
