/**
 * What a process has started, and how to stop it. Whoever starts something registers its end here, so that an orderly
 * stop and a failed start end the same things: the last one first.
 */
export class Lifecycle {
  readonly #ends: (() => unknown)[] = []

  /** Registers how to end what has just been started, and returns it. */
  own<T>(started: T, end: (started: T) => unknown): T {
    this.#ends.push(() => end(started))
    return started
  }

  /** Ends everything that was registered, the newest first, each once the one before has ended. */
  async end(): Promise<void> {
    for (let end = this.#ends.pop(); end !== undefined; end = this.#ends.pop()) await end()
  }
}
