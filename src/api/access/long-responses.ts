import type { ServerResponse } from 'node:http'

/** How often it is checked who may still read, in milliseconds. */
const INTERVAL = 1_000

/** Ends responses that can take hours, such as downloads, once their callers may no longer read them. */
export class LongResponses {
  readonly #open = new Map<ServerResponse, () => void>()
  readonly #timer = setInterval(() => this.#check(), INTERVAL).unref()

  /** @param assertAllowed throws once the response must end */
  watch(response: ServerResponse, assertAllowed: () => void): void {
    this.#open.set(response, assertAllowed)
    response.once('close', () => this.#open.delete(response))
  }

  stop(): void {
    clearInterval(this.#timer)
  }

  #check(): void {
    for (const [response, assertAllowed] of this.#open) {
      try {
        assertAllowed()
      } catch {
        this.#open.delete(response)
        response.destroy()
      }
    }
  }
}
