import type { IncomingMessage } from 'node:http'
import { Problem } from './problems.ts'

/** The most bytes that bodies and their values may occupy. */
const CAPACITY = 48 * 2 ** 20

/** The first bytes of each body do not count, so that small bodies find room beside large ones. */
const FREE = 8 * 1024

/** How long a body may take to arrive before it counts as slow, in milliseconds. */
const SLOW = 5_000

/** Bytes counted for each value of a parsed body: measured for objects that have different names. */
const VALUE = 96

interface Held {
  readonly request: IncomingMessage
  readonly since: number
  bytes: number
  arriving: boolean
  readonly end: (problem: Problem) => void
}

/**
 * Limits the memory of bodies that are read as a whole, from their first byte until their request has its response.
 * Above the capacity, the slowest bodies that are still arriving are refused; if none is slow, the new bytes are.
 */
class BodyMemory {
  /** Oldest first. */
  readonly #held = new Map<IncomingMessage, Held>()
  #bytes = 0

  /** @param end called if the body is refused to make room for others */
  open(request: IncomingMessage, end: (problem: Problem) => void): void {
    this.#held.set(request, { request, since: performance.now(), bytes: -FREE, arriving: true, end })
  }

  /**
   * Counts bytes that have arrived.
   *
   * @throws {Problem} `unavailable`
   */
  add(request: IncomingMessage, bytes: number): void {
    const held = this.#held.get(request)
    // It was refused meanwhile.
    if (held === undefined) throw unavailable()
    const counted = Math.max(0, held.bytes + bytes) - Math.max(0, held.bytes)
    if (this.#bytes + counted > CAPACITY) this.#makeRoom(held, counted)
    held.bytes += bytes
    this.#bytes += counted
  }

  /** Counts the values of a body that has arrived, before they are parsed. */
  parse(request: IncomingMessage, values: number): void {
    const held = this.#held.get(request)
    if (held !== undefined) held.arriving = false
    this.add(request, values * VALUE)
  }

  release(request: IncomingMessage): void {
    const held = this.#held.get(request)
    if (held === undefined) return
    this.#held.delete(request)
    this.#bytes -= Math.max(0, held.bytes)
  }

  #makeRoom(own: Held, bytes: number): void {
    const now = performance.now()
    for (const held of this.#held.values()) {
      if (now - held.since < SLOW) break
      if (held === own || !held.arriving || held.bytes <= 0) continue
      this.release(held.request)
      held.end(unavailable())
      if (this.#bytes + bytes <= CAPACITY) return
    }
    throw unavailable()
  }
}

export const bodyMemory = new BodyMemory()

function unavailable(): Problem {
  return new Problem('unavailable', 'Too many large bodies are arriving at once.', {
    // The rest of the body is not read.
    headers: { 'retry-after': '1', connection: 'close' },
  })
}
