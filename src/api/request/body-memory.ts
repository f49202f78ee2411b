import type { IncomingMessage } from 'node:http'
import { type Budget, Exhausted, type Holding } from '../../foundation/budget/budget.ts'
import { Problem } from '../contract/problems.ts'

/** The first bytes of each body do not count, so that small bodies find room beside large ones. */
const FREE = 8 * 1024

/** Bytes counted for each value of a parsed body: measured for objects that have different names. */
const VALUE = 96

/** The memory of a body that is read as a whole, and of its values, until its request has its response. */
export class BodyMemory {
  readonly #holding: Holding
  #free = FREE

  /** @param end called if the body is refused to make room for others, while it arrives */
  constructor(budget: Budget, owner: string, end: (problem: Problem) => void) {
    this.#holding = budget.take(owner, 0, () => end(unavailable()))
  }

  /**
   * Counts bytes that have arrived.
   *
   * @throws {Problem} `unavailable`
   */
  add(bytes: number): void {
    const counted = Math.max(0, bytes - this.#free)
    this.#free -= bytes - counted
    try {
      this.#holding.add(counted)
    } catch (error) {
      throw error instanceof Exhausted ? unavailable() : error
    }
  }

  /** Counts the values of a body that has arrived, before they are parsed. */
  parse(values: number): void {
    this.#holding.end = undefined
    this.add(values * VALUE)
  }

  release(): void {
    this.#holding.release()
  }
}

/** The memory of the bodies of requests in progress. */
const memories = new WeakMap<IncomingMessage, BodyMemory>()

/** Counts the body of a request until `releaseBody`. */
export function holdBody(request: IncomingMessage, memory: BodyMemory): void {
  memories.set(request, memory)
}

/**
 * Counts more bytes with the body of a request, for what is made of it.
 *
 * @throws {Problem} `unavailable`
 */
export function holdMore(request: IncomingMessage, bytes: number): void {
  memories.get(request)?.add(bytes)
}

export function releaseBody(request: IncomingMessage): void {
  memories.get(request)?.release()
}

function unavailable(): Problem {
  return new Problem('unavailable', 'Too many large bodies are arriving at once.', {
    // The rest of the body is not read.
    headers: { 'retry-after': '1', connection: 'close' },
  })
}
