import { hash } from 'node:crypto'
import { promisify } from 'node:util'
import { brotliCompress, constants, gzip } from 'node:zlib'

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
  readonly #bodies: Partial<Record<Encoding, Buffer>> & { identity: Buffer }
  readonly #pending = new Map<Encoding, Promise<Buffer>>()
  /** The headers of each of them, as names and values in turn: written once, by whoever sends the page. */
  readonly headers: Partial<Record<Encoding, readonly string[]>> = {}

  constructor(body: Buffer, etag: string, link?: string) {
    this.#bodies = { identity: body }
    this.etag = etag
    this.link = link
  }

  /** Bytes held. */
  get weight(): number {
    return ENCODINGS.reduce((sum, encoding) => sum + (this.#bodies[encoding]?.length ?? 0), 1000)
  }

  get worthCompressing(): boolean {
    return this.#bodies.identity.length >= WORTH_COMPRESSING
  }

  /** The bytes as they are, not compressed. */
  get plain(): Buffer {
    return this.#bodies.identity
  }

  /** The bytes in an encoding, where they are at hand. */
  ready(encoding: Encoding): Buffer | undefined {
    return this.#bodies[encoding]
  }

  /**
   * Compresses the page, once however many callers wait for it, off the main thread. Answers `undefined` where too
   * many are being compressed already.
   */
  async encode(encoding: Exclude<Encoding, 'identity'>): Promise<Buffer | undefined> {
    let pending = this.#pending.get(encoding)
    if (pending === undefined) {
      if (compressing >= MOST_COMPRESSING) return undefined
      compressing++
      pending = compress[encoding](this.#bodies.identity).finally(() => {
        compressing--
        this.#pending.delete(encoding)
      })
      this.#pending.set(encoding, pending)
    }
    const body = await pending
    this.#bodies[encoding] = body
    return body
  }
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
