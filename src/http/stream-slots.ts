import type { ServerResponse } from 'node:http'
import { Problem } from './problems.ts'

/** The most responses that a process streams at once. Each keeps up to half a megabyte in memory. */
const MOST = 64

/** A stream counts as stopped when its client has taken nothing for this long, in milliseconds. */
const STOPPED = 5_000

/**
 * Limits how many responses are streamed at once, such as exports and snapshots. Beyond the limit, the connection of
 * the client that has taken nothing for the longest time is closed; if none has stopped, the new request gets 503.
 */
export class StreamSlots {
  readonly #most: number
  /** When each client last took a piece, the longest ago first. */
  readonly #taken = new Map<ServerResponse, number>()

  constructor(most = MOST) {
    this.#most = most
  }

  /**
   * Takes a slot for a response until it ends, and returns its body.
   *
   * @throws {Problem} `unavailable`; the body is then closed
   */
  async open<T>(response: ServerResponse, body: AsyncIterable<T>): Promise<AsyncIterable<T>> {
    const pieces = body[Symbol.asyncIterator]()
    if (this.#taken.size >= this.#most && !this.#closeStopped()) {
      await pieces.return?.()
      throw new Problem('unavailable', 'Too many downloads are in progress.', {
        headers: { 'retry-after': '5' },
      })
    }
    this.#taken.set(response, performance.now())
    response.once('close', () => this.#taken.delete(response))
    const iterator: AsyncIterator<T> = {
      // Called when the piece before is on its way to the client.
      next: () => {
        if (this.#taken.delete(response)) this.#taken.set(response, performance.now())
        return pieces.next()
      },
      // A generator would not pass it on if the client leaves before the first piece.
      return: async () => {
        await pieces.return?.()
        return { done: true, value: undefined }
      },
    }
    return { [Symbol.asyncIterator]: () => iterator }
  }

  #closeStopped(): boolean {
    const [longest] = this.#taken
    if (longest === undefined) return false
    const [response, since] = longest
    if (performance.now() - since < STOPPED) return false
    this.#taken.delete(response)
    response.destroy()
    return true
  }
}

export const streamSlots = new StreamSlots()
