import type { FastifyRequest } from 'fastify'
import { type Slot, Slots } from '../../foundation/slots.ts'
import { callerOf } from '../request/caller.ts'

/** The most bytes of requests and responses that are in memory, and half of that for one caller. */
const CAPACITY = 64 * 2 ** 20

/** Bytes counted for each response besides its body: Node's objects for it and its request. */
const OVERHEAD = 4096

/** What a request holds until its response has been sent, or its connection has closed. */
interface Held {
  readonly slot: Slot
  readonly bodies: Buffer[]
}

interface SharedBody {
  readonly slot: Slot
  readers: number
}

declare module 'fastify' {
  interface FastifyRequest {
    held: Held | 'ended' | undefined
  }
}

/**
 * Counts the bytes of requests in progress: bodies that are read as a whole, and responses that their clients have not
 * read. Without it, clients that stop reading would fill the memory.
 */
export class InFlight {
  readonly slots: Slots
  /** A page in memory has many readers, of which the first counts it. */
  readonly #bodies = new Map<Buffer, SharedBody>()

  constructor(capacity = CAPACITY) {
    this.slots = new Slots({
      capacity,
      share: capacity / 2,
      detail: 'Too many large bodies are arriving, or too many responses are waiting for their clients.',
      retryAfter: 1,
    })
  }

  /**
   * Counts what a request needs in memory until its end.
   *
   * @param bytes a number, or a body that other requests may share
   * @throws {Exhausted}
   */
  hold(request: FastifyRequest, bytes: number | Buffer): void {
    const held = this.#of(request)
    if (held === undefined) return
    if (typeof bytes === 'number') held.slot.add(bytes)
    else this.#share(held, bytes, callerOf(request))
  }

  /**
   * Counts a response that is about to be sent.
   *
   * @throws {Exhausted} unless it is a refusal, which needs little
   */
  holdResponse(request: FastifyRequest, status: number, payload: unknown): void {
    const held = this.#of(request)
    if (held === undefined) return
    if (status >= 400) {
      held.slot.count(OVERHEAD)
      return
    }
    this.hold(request, OVERHEAD + (typeof payload === 'string' ? payload.length : 0))
    if (Buffer.isBuffer(payload)) this.hold(request, payload)
  }

  /** Called at the end of a request. */
  release(request: FastifyRequest): void {
    const { held } = request
    request.held = 'ended'
    if (held === undefined || held === 'ended') return
    held.slot.release()
    for (const body of held.bodies) {
      const shared = this.#bodies.get(body)
      if (shared === undefined || --shared.readers > 0) continue
      shared.slot.release()
      this.#bodies.delete(body)
    }
  }

  /** Nothing of a request that has ended: its client has left, and its handler may not know. */
  #of(request: FastifyRequest): Held | undefined {
    if (request.held === 'ended') return undefined
    request.held ??= { slot: this.slots.take(callerOf(request), 0), bodies: [] }
    return request.held
  }

  #share({ bodies }: Held, body: Buffer, owner: string): void {
    let shared = this.#bodies.get(body)
    if (shared === undefined) {
      shared = { slot: this.slots.take(owner, body.length), readers: 0 }
      this.#bodies.set(body, shared)
    }
    shared.readers++
    bodies.push(body)
  }
}
