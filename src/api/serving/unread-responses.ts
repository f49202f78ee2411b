import type { ServerResponse } from 'node:http'
import type { Duplex } from 'node:stream'
import type { Budget, Holding } from '../../foundation/budget/budget.ts'
import { Link } from '../../foundation/budget/chain.ts'
import type { Body, Reader } from './page.ts'
import { abandon } from './socket-buffers.ts'

/** Bytes counted for each response besides its body: Node's objects for it and its request. */
export const OVERHEAD = 4096

/**
 * Limits the memory that responses occupy until their clients have read them. A body is reserved as soon as it is in
 * memory, before it waits to be written, so that concurrent requests are counted together. It is released when the
 * operating system has accepted the last byte or the connection has closed. When the budget is used up, the slowest
 * connections are closed; if none is slow, further requests get 503.
 */
export class UnreadResponses {
  readonly #budget: Budget
  /** A response that waits behind others on its connection gets no close event. */
  readonly #byConnection = new WeakMap<Duplex, Set<() => void>>()

  constructor(budget: Budget) {
    this.#budget = budget
  }

  /**
   * Call before reading a page, to avoid reading one without room for it.
   *
   * @throws {Exhausted}
   */
  assertRoom(owner: string): void {
    this.#budget.assertRoom(owner, 1)
  }

  /**
   * Reserves the body of a response. Every call is followed by `release` or `watch`. A body that several responses
   * share counts once, for one of their owners.
   *
   * @throws {Exhausted}
   */
  reserve(body: Body, owner: string): Reservation {
    const { first } = body.readers
    // A body that exceeds a share on its own is let in alone, so its owner has no room left for the rest of it.
    const isCounted = first?.holding.owner === owner && body.length > this.#budget.share
    const holding = this.#budget.take(
      owner,
      isCounted ? 0 : OVERHEAD + (first === undefined ? body.length : 0),
    )
    if (isCounted) holding.count(OVERHEAD)
    const reservation = new Reservation(body, holding)
    body.readers.add(reservation)
    return reservation
  }

  /**
   * Reserves bytes that are about to be written until the response ends.
   *
   * @throws {Exhausted}
   */
  hold(response: ServerResponse, bytes: number, owner: string): void {
    const holding = this.#budget.take(owner, OVERHEAD + bytes)
    this.#until(response, holding, () => holding.release())
  }

  /** Releases a reservation once its written response has been read. */
  watch(response: ServerResponse, reservation: Reservation): void {
    if (response.writableLength === 0 || response.req.socket.destroyed) reservation.release()
    else this.#until(response, reservation.holding, () => reservation.release())
  }

  #until(response: ServerResponse, holding: Holding, release: () => void): void {
    const connection = response.req.socket
    holding.end = () => abandon(connection)
    holding.progress()
    const onConnection = this.#releasesOn(connection)
    const end = () => {
      onConnection.delete(end)
      release()
    }
    onConnection.add(end)
    response.once('finish', end)
  }

  #releasesOn(connection: Duplex): Set<() => void> {
    const known = this.#byConnection.get(connection)
    if (known !== undefined) return known
    const releases = new Set<() => void>()
    this.#byConnection.set(connection, releases)
    connection.once('close', () => {
      for (const release of releases) release()
    })
    return releases
  }
}

/** The memory of a response that its client has not read yet. */
export class Reservation extends Link<Reader> {
  readonly holding: Holding
  #body: Body

  constructor(body: Body, holding: Holding) {
    super()
    this.#body = body
    this.holding = holding
  }

  /** Replaces the body with a smaller one of the same content. */
  exchange(smaller: Body): void {
    this.#leave()
    if (smaller.readers.first === undefined) this.holding.count(smaller.length)
    smaller.readers.add(this)
    this.#body = smaller
  }

  release(): void {
    this.#leave()
    this.holding.release()
  }

  /** The first reader of a body pays for it; the next one takes over. */
  #leave(): void {
    const { readers, length } = this.#body
    const payer = readers.first
    if (!readers.delete(this) || payer !== this) return
    if (readers.first === undefined) this.holding.count(-length)
    else this.holding.give(readers.first.holding, length)
  }
}

/**
 * Takes a slot for a response that is streamed, such as an export, until it ends, and returns its body. If there are
 * none left, the connection of the client that has taken nothing for the longest time is closed.
 *
 * @throws {Exhausted} if no client has stopped; the body is then closed
 */
export async function openStream<T>(
  slots: Budget,
  owner: string,
  response: ServerResponse,
  body: AsyncIterable<T>,
): Promise<AsyncIterable<T>> {
  const pieces = body[Symbol.asyncIterator]()
  try {
    const slot = slots.take(owner, 1, () => abandon(response.req.socket))
    response.once('close', () => slot.release())
    const iterator: AsyncIterator<T> = {
      // Called when the piece before is on its way to the client.
      next: () => {
        slot.progress()
        return pieces.next()
      },
      // A generator would not pass it on if the client leaves before the first piece.
      return: async () => {
        await pieces.return?.()
        return { done: true, value: undefined }
      },
    }
    return { [Symbol.asyncIterator]: () => iterator }
  } catch (error) {
    await pieces.return?.()
    throw error
  }
}
