import { hash } from 'node:crypto'
import { promisify } from 'node:util'
import { brotliCompress, constants, gzip } from 'node:zlib'
import type { HeaderBlock } from '../http/headers.ts'

/** Encodings that a page is sent in, the preferred one first. */
export const ENCODINGS = ['br', 'gzip', 'identity'] as const
export type Encoding = (typeof ENCODINGS)[number]

/** Most pages that are compressed at a time: each takes megabytes, and more of them would only wait for each other. */
const MOST_COMPRESSING = 16
let compressing = 0

/** Bodies below this many bytes are not compressed: they fit in one packet either way. */
const WORTH_COMPRESSING = 1024

const compress = {
  br: (body: Buffer) =>
    promisify(brotliCompress)(body, {
      params: { [constants.BROTLI_PARAM_QUALITY]: 5, [constants.BROTLI_PARAM_SIZE_HINT]: body.length },
    }),
  gzip: (body: Buffer) => promisify(gzip)(body, { level: 6 }),
}

/** A finished 200: its bytes, also compressed once somebody has asked for that, and its headers. */
export class Page {
  readonly etag: string
  /** RFC 8288: where the next page is. */
  readonly link: string | undefined
  /** The headers of its own in each encoding: made once, by whoever sends the page. */
  readonly headers: Partial<Record<Encoding, HeaderBlock>> = {}
  readonly #bodies: Partial<Record<Encoding, readonly Buffer[]>> & { identity: readonly Buffer[] }
  readonly #pending = new Map<Encoding, Promise<boolean>>()

  /** @param parts the bytes, in the pieces in which they are at hand: a page that is sent once is not joined */
  constructor(parts: readonly Buffer[], etag: string, link?: string) {
    this.#bodies = { identity: parts }
    this.etag = etag
    this.link = link
  }

  /** Bytes held. */
  get weight(): number {
    return ENCODINGS.reduce((sum, encoding) => sum + lengthOf(this.#bodies[encoding] ?? []), 1000)
  }

  get worthCompressing(): boolean {
    return lengthOf(this.#bodies.identity) >= WORTH_COMPRESSING
  }

  /** The bytes in an encoding, where they are at hand, in pieces. */
  ready(encoding: 'identity'): readonly Buffer[]
  ready(encoding: Encoding): readonly Buffer[] | undefined
  ready(encoding: Encoding): readonly Buffer[] | undefined {
    return this.#bodies[encoding]
  }

  /** Makes the bytes one piece, for a page that is kept: it is sent many times. */
  join(): Buffer {
    const { identity } = this.#bodies
    const [first] = identity
    if (first !== undefined && identity.length === 1) return first
    const body = Buffer.concat(identity)
    this.#bodies.identity = [body]
    return body
  }

  /**
   * Compresses the page, once however many callers wait for it, off the main thread. Answers `false` where too many
   * are being compressed already.
   */
  async encode(encoding: Exclude<Encoding, 'identity'>): Promise<boolean> {
    let pending = this.#pending.get(encoding)
    if (pending === undefined) {
      if (compressing >= MOST_COMPRESSING) return false
      pending = this.#compress(encoding).finally(() => this.#pending.delete(encoding))
      this.#pending.set(encoding, pending)
    }
    return await pending
  }

  async #compress(encoding: Exclude<Encoding, 'identity'>): Promise<boolean> {
    compressing++
    try {
      this.#bodies[encoding] = [await compress[encoding](this.join())]
      return true
    } finally {
      compressing--
    }
  }
}

/** The pieces of a page: documents, if there are any, between two other texts. */
export function surround(head: string, documents: Buffer | undefined, tail: string): Buffer[] {
  if (documents === undefined) return [Buffer.from(head + tail)]
  return [Buffer.from(head), documents, Buffer.from(tail)]
}

/** Bytes of a body. */
export function lengthOf(parts: readonly Buffer[]): number {
  let length = 0
  for (const part of parts) length += part.length
  return length
}

/**
 * A weak validator for what a query answers in one state of the data (RFC 9110, section 8.8.3).
 *
 * @param queryDigest the query, from `digestQuery`
 */
export function makeEtag(state: string, queryDigest: string): string {
  return `W/"${state}-${queryDigest}"`
}

export function digestQuery(query: string): string {
  return hash('sha256', query, 'base64url').slice(0, 16)
}
