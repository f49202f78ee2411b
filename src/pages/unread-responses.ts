import type { ServerResponse } from 'node:http'
import { Problem } from '../http/problems.ts'
import { lengthOf } from './page.ts'

/** Bytes of answers that may wait for their readers. */
const CAPACITY = 128 * 2 ** 20

/** Answers below this many bytes are not counted: the system takes them whole. */
const SMALL = 16 * 1024

/** How long a reader may take before it counts as slow, in milliseconds. */
const SLOW = 5_000

/** The bytes of an answer, in pieces. A page that is kept in memory is the same body for all who read it. */
type Body = readonly Buffer[]

/**
 * The answers on their way. What their readers have not taken yet is in memory, so that many slow readers of large
 * pages could fill it: beyond the capacity the slowest of them are cut off, and where none is slow, new ones wait.
 */
export class UnreadResponses {
  readonly #capacity: number
  readonly #waiting = new Map<ServerResponse, { readonly body: Body; readonly since: number }>()
  /** Readers of each body: a page that is kept in memory is there once, however many read it. */
  readonly #readers = new Map<Body, number>()
  #bytes = 0

  constructor(capacity = CAPACITY) {
    this.#capacity = capacity
  }

  get bytes(): number {
    return this.#bytes
  }

  /** @throws {Problem} `unavailable` if there is no room */
  assertRoomFor(body: Body): void {
    const bytes = lengthOf(body)
    if (bytes < SMALL || this.#bytes + bytes <= this.#capacity || this.#readers.has(body)) return
    this.#makeRoom(bytes)
  }

  /** Counts an answer, of which everything has been handed over, until its reader has taken it. */
  hold(response: ServerResponse, body: Body): void {
    if (response.writableLength === 0 || response.destroyed || lengthOf(body) < SMALL) return

    this.#waiting.set(response, { body, since: performance.now() })
    const readers = this.#readers.get(body) ?? 0
    if (readers === 0) this.#bytes += lengthOf(body)
    this.#readers.set(body, readers + 1)
    const release = () => this.#release(response)
    response.once('finish', release).once('close', release)
  }

  #makeRoom(bytes: number): void {
    const now = performance.now()
    // In the order in which they began.
    for (const [response, { since }] of this.#waiting) {
      if (this.#bytes + bytes <= this.#capacity) return
      if (now - since < SLOW) break
      this.#release(response)
      response.destroy()
    }
    // A page that is larger than the capacity is sent where it is the only one.
    if (this.#bytes === 0 || this.#bytes + bytes <= this.#capacity) return
    throw new Problem('unavailable', 'Too many answers wait for their readers.', {
      headers: { 'retry-after': '1' },
    })
  }

  #release(response: ServerResponse): void {
    const body = this.#waiting.get(response)?.body
    if (body === undefined) return
    this.#waiting.delete(response)
    const readers = this.#readers.get(body) ?? 0
    if (readers > 1) {
      this.#readers.set(body, readers - 1)
    } else {
      this.#readers.delete(body)
      this.#bytes -= lengthOf(body)
    }
  }
}
