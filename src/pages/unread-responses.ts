import type { ServerResponse } from 'node:http'
import type { Duplex } from 'node:stream'
import { Problem } from '../http/problems.ts'
import type { Body } from './body.ts'

/** Bytes that responses on their way may occupy. */
const CAPACITY = 32 * 2 ** 20

/** Bytes that a response counts for besides its body: Node's objects for it and for its request. */
export const OVERHEAD = 4096

/** How long a client may take to read a response before it counts as slow, in milliseconds. */
const SLOW = 5_000

interface Unread {
  readonly body: Body
  readonly since: number
  readonly connection: Duplex
}

/**
 * Limits the memory that responses occupy until their clients have read them. A body is reserved as soon as it is in
 * memory, before it waits for its turn to be written, so that requests that arrive together are counted together. It
 * is released once the system has accepted the last byte, or the connection has closed. Beyond the capacity the
 * slowest connections are closed; where none is slow, further requests get 503.
 */
export class UnreadResponses {
  readonly #capacity: number
  /** Written and not read yet, in the order in which they were written. */
  readonly #unread = new Map<ServerResponse, Unread>()
  /** The same by connection. A response that waits behind others on its connection does not learn that it closed. */
  readonly #byConnection = new WeakMap<Duplex, Set<ServerResponse>>()
  #bytes = 0

  constructor(capacity = CAPACITY) {
    this.#capacity = capacity
  }

  /** Bytes reserved. */
  get bytes(): number {
    return this.#bytes
  }

  /**
   * Call before reading a page, which would be wasted if there is no room for it.
   *
   * @throws {Problem} `unavailable`
   */
  assertRoom(): void {
    this.#makeRoom(1)
  }

  /**
   * Counts a response that is about to hold a body. Every call is followed by one of `release` or of `watch`.
   *
   * @throws {Problem} `unavailable` if there is no room
   */
  reserve(body: Body): void {
    const bytes = OVERHEAD + (body.readers === 0 ? body.length : 0)
    this.#makeRoom(bytes)
    this.#bytes += bytes
    body.readers++
  }

  /** Releases a reserved body that is not going to be written. */
  release(body: Body): void {
    body.readers--
    this.#bytes -= OVERHEAD + (body.readers === 0 ? body.length : 0)
  }

  /** Replaces a reserved body by a smaller one with the same content. */
  exchange(body: Body, smaller: Body): void {
    this.release(body)
    this.#bytes += OVERHEAD + (smaller.readers === 0 ? smaller.length : 0)
    smaller.readers++
  }

  /** Releases a reserved body once its response, which has been written, has been read. */
  watch(response: ServerResponse, body: Body): void {
    const connection = response.req.socket
    if (response.writableLength === 0 || connection.destroyed) {
      this.release(body)
      return
    }
    this.#unread.set(response, { body, since: performance.now(), connection })
    this.#responsesOn(connection).add(response)
    response.once('finish', () => this.#forget(response))
  }

  #responsesOn(connection: Duplex): Set<ServerResponse> {
    const known = this.#byConnection.get(connection)
    if (known !== undefined) return known
    const responses = new Set<ServerResponse>()
    this.#byConnection.set(connection, responses)
    connection.once('close', () => {
      for (const response of responses) this.#forget(response)
    })
    return responses
  }

  #makeRoom(bytes: number): void {
    if (this.#bytes + bytes <= this.#capacity) return
    const now = performance.now()
    for (const { since, connection } of this.#unread.values()) {
      if (now - since < SLOW) break
      connection.destroy()
      for (const response of this.#responsesOn(connection)) this.#forget(response)
      if (this.#bytes + bytes <= this.#capacity) return
    }
    // A page that is larger than the capacity is sent if it is the only one.
    if (this.#bytes === 0) return
    throw new Problem('unavailable', 'Too many responses are waiting for their clients to read them.', {
      headers: { 'retry-after': '1' },
    })
  }

  #forget(response: ServerResponse): void {
    const unread = this.#unread.get(response)
    if (unread === undefined) return
    this.#unread.delete(response)
    this.#byConnection.get(unread.connection)?.delete(response)
    this.release(unread.body)
  }
}
