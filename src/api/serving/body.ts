import type { Holding } from '../../foundation/budget/budget.ts'

/** The bytes of a page in one encoding. All readers of a cached page share its bodies. */
export class Body {
  /** The responses that hold it in memory; the first one pays for it. */
  readonly readers = new Set<Holding>()
  readonly length: number
  #parts: readonly Buffer[]

  /** @param parts the bytes, in the pieces in which they arrived: a page that is sent once is not joined */
  constructor(parts: readonly Buffer[]) {
    this.#parts = parts
    let length = 0
    for (const part of parts) length += part.length
    this.length = length
  }

  get parts(): readonly Buffer[] {
    return this.#parts
  }

  /** Joins the bytes into one piece, for a page that is sent many times. */
  join(): Buffer {
    const [first] = this.#parts
    if (first !== undefined && this.#parts.length === 1) return first
    const joined = Buffer.concat(this.#parts)
    this.#parts = [joined]
    return joined
  }
}
