/** Reports a failure that repeats itself once when it begins, and once when it has ended. */
export class Outage {
  readonly #began: (error: unknown) => void
  readonly #ended: (failures: number) => void
  /** Milliseconds without a failure after which the outage counts as over; without it, only `worked` ends it. */
  readonly #quiet: number | undefined
  #failures = 0
  #timer: NodeJS.Timeout | undefined

  constructor(began: (error: unknown) => void, ended: (failures: number) => void, quiet?: number) {
    this.#began = began
    this.#ended = ended
    this.#quiet = quiet
  }

  failed(error: unknown): void {
    if (this.#failures++ === 0) this.#began(error)
    if (this.#quiet === undefined) return
    clearTimeout(this.#timer)
    this.#timer = setTimeout(() => this.worked(), this.#quiet).unref()
  }

  worked(): void {
    if (this.#failures === 0) return
    const failures = this.#failures
    this.#failures = 0
    clearTimeout(this.#timer)
    this.#ended(failures)
  }
}
