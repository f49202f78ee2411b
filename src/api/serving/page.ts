import { hash } from 'node:crypto'
import { promisify } from 'node:util'
import { brotliCompress, constants, gzip } from 'node:zlib'
import { type Budget, Exhausted, type Holding } from '../../foundation/budget/budget.ts'
import { Chain, type Link } from '../../foundation/budget/chain.ts'
import type { HeaderBlock } from './headers.ts'

/** A response that holds a body in memory. */
export interface Reader extends Link<Reader> {
  readonly holding: Holding
}

/** The bytes of a page in one encoding. All readers of a cached page share its bodies. */
export class Body {
  /** The responses that hold it in memory; the first one pays for it. */
  readonly readers = new Chain<Reader>()
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

/** Encodings that a page is sent in, the preferred one first. */
export const ENCODINGS = ['br', 'gzip', 'identity'] as const
export type Encoding = (typeof ENCODINGS)[number]

/** Bodies below this many bytes are not compressed: they fit in one packet either way. */
const WORTH_COMPRESSING = 1024

const compress = {
  br: (body: Buffer) =>
    promisify(brotliCompress)(body, {
      params: { [constants.BROTLI_PARAM_QUALITY]: 5, [constants.BROTLI_PARAM_SIZE_HINT]: body.length },
    }),
  gzip: (body: Buffer) => promisify(gzip)(body, { level: 6 }),
}

/** A complete 200 response: its headers, its bytes, and its compressed bytes once a client has accepted them. */
export class Page {
  readonly etag: string
  /** The URL of the next page (RFC 8288). */
  readonly link: string | undefined
  /** The page's own headers for each encoding, rendered once by the sender. */
  readonly headers: Partial<Record<Encoding, HeaderBlock>> = {}
  readonly #bodies: Partial<Record<Encoding, Body>> & { identity: Body }
  readonly #pending = new Map<Encoding, Promise<void>>()

  /** @param parts the bytes, in pieces */
  constructor(parts: readonly Buffer[], etag: string, { link }: { readonly link?: string | undefined } = {}) {
    this.#bodies = { identity: new Body(parts) }
    this.etag = etag
    this.link = link
  }

  /** The bytes in memory. */
  get weight(): number {
    return ENCODINGS.reduce((sum, encoding) => sum + (this.#bodies[encoding]?.length ?? 0), 1000)
  }

  get worthCompressing(): boolean {
    return this.#bodies.identity.length >= WORTH_COMPRESSING
  }

  /** The bytes in an encoding, if they have been made. */
  ready(encoding: 'identity'): Body
  ready(encoding: Encoding): Body | undefined
  ready(encoding: Encoding): Body | undefined {
    return this.#bodies[encoding]
  }

  /** Joins the bytes of a cached page into one piece, because it is sent many times. */
  join(): void {
    this.#bodies.identity.join()
  }

  /**
   * Compresses the page off the main thread, once for all its readers. Does nothing if too many pages are already
   * being compressed.
   */
  async encode(encoding: Exclude<Encoding, 'identity'>, slots: Budget, caller: string): Promise<void> {
    if (this.#bodies[encoding] !== undefined) return
    let pending = this.#pending.get(encoding)
    if (pending === undefined) {
      pending = this.#compress(encoding, slots, caller).finally(() => this.#pending.delete(encoding))
      this.#pending.set(encoding, pending)
    }
    await pending
  }

  async #compress(encoding: Exclude<Encoding, 'identity'>, slots: Budget, caller: string): Promise<void> {
    const slot = await slots.enter(caller).catch((error: unknown) => {
      // The page is sent uncompressed.
      if (error instanceof Exhausted) return undefined
      throw error
    })
    if (slot === undefined) return
    try {
      this.#bodies[encoding] = new Body([await compress[encoding](this.#bodies.identity.join())])
    } finally {
      slot.release()
    }
  }
}

/** The pieces of a page: the documents, if any, between a head and a tail. */
export function surround(head: string, documents: Buffer | undefined, tail: string): Buffer[] {
  if (documents === undefined) return [Buffer.from(head + tail)]
  return [Buffer.from(head), documents, Buffer.from(tail)]
}

/**
 * Creates a weak validator for the result of a query in one state of the data (RFC 9110, section 8.8.3).
 *
 * @param queryDigest from `digestQuery`
 */
export function makeEtag(state: string, queryDigest: string): string {
  return `W/"${state}-${queryDigest}"`
}

export function digestQuery(query: string): string {
  return hash('sha256', query, 'base64url').slice(0, 16)
}
