/** How long nothing must fail until an outage counts as over, in milliseconds. */
const QUIET = 60_000

/**
 * Reports a failure that repeats itself once when it begins, and once when it has ended. Something that works does not
 * end it: a full disk is still read, and one of several processes may get through.
 */
export class Outage {
  readonly #began: (error: unknown) => void
  readonly #ended: (failures: number) => void
  #failures = 0
  #timer: NodeJS.Timeout | undefined

  constructor(began: (error: unknown) => void, ended: (failures: number) => void) {
    this.#began = began
    this.#ended = ended
  }

  failed(error: unknown): void {
    if (this.#failures++ === 0) this.#began(error)
    clearTimeout(this.#timer)
    this.#timer = setTimeout(() => {
      const failures = this.#failures
      this.#failures = 0
      this.#ended(failures)
    }, QUIET).unref()
  }
}
