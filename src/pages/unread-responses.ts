import type { ServerResponse } from 'node:http'
import type { Duplex } from 'node:stream'
import { Problem } from '../http/problems.ts'
import type { Body } from './body.ts'

/** The most bytes that unread responses may occupy. */
const CAPACITY = 32 * 2 ** 20

/** Bytes counted for each response besides its body: Node's objects for it and its request. */
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
 * memory, before it waits to be written, so that concurrent requests are counted together. It is released when the
 * operating system has accepted the last byte or the connection has closed. Above the capacity, the slowest
 * connections are closed; if none is slow, further requests get 503.
 */
export class UnreadResponses {
  readonly #capacity: number
  /** Responses that are written but not yet read, in the order of writing. */
  readonly #unread = new Map<ServerResponse, Unread>()
  /** The same by connection: a response that waits behind others on its connection gets no close event. */
  readonly #byConnection = new WeakMap<Duplex, Set<ServerResponse>>()
  #bytes = 0

  constructor(capacity = CAPACITY) {
    this.#capacity = capacity
  }

  /** The reserved bytes. */
  get bytes(): number {
    return this.#bytes
  }

  /**
   * Call before reading a page, to avoid reading one without room for it.
   *
   * @throws {Problem} `unavailable`
   */
  assertRoom(): void {
    this.#makeRoom(1)
  }

  /**
   * Reserves the body of a response. Every call is followed by either `release` or `watch`.
   *
   * @throws {Problem} `unavailable` if there is no room
   */
  reserve(body: Body): void {
    const bytes = OVERHEAD + (body.readers === 0 ? body.length : 0)
    this.#makeRoom(bytes)
    this.#bytes += bytes
    body.readers++
  }

  /** Releases a reserved body that will not be written. */
  release(body: Body): void {
    body.readers--
    this.#bytes -= OVERHEAD + (body.readers === 0 ? body.length : 0)
  }

  /** Replaces a reserved body with a smaller one of the same content. */
  exchange(body: Body, smaller: Body): void {
    this.release(body)
    this.#bytes += OVERHEAD + (smaller.readers === 0 ? smaller.length : 0)
    smaller.readers++
  }

  /** Releases a reserved body once its written response has been read. */
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
    // A page that exceeds the capacity is sent if it is the only one.
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
