import type { FastifyReply, FastifyRequest } from 'fastify'
import Negotiator from 'negotiator'
import type { CommonHeaders } from '../http/common-headers.ts'
import { HeaderBlock } from '../http/headers.ts'
import { Problem } from '../http/problems.ts'
import type { ResponseLog } from '../telemetry/response-log.ts'
import { remember } from '../text/remember.ts'
import type { MaybePromise } from './maybe-promise.ts'
import { ENCODINGS, type Encoding, type Page } from './page.ts'
import type { UnreadResponses } from './unread-responses.ts'
import { writeHead } from './write-head.ts'
import { writeTogether } from './write-together.ts'

export interface SendOptions {
  readonly common: CommonHeaders
  readonly responses: ResponseLog
  readonly unread: UnreadResponses
}

/** Sends the pages of an operation. They bypass Fastify, which would process every header again. */
export class PageSender {
  readonly #options: SendOptions
  readonly #operation: string
  /** The caching headers of every page. */
  readonly #caching: HeaderBlock
  readonly #ofEveryPage: HeaderBlock
  /** The headers of a 304, by its ETag. */
  readonly #describeEtag = remember((etag) => HeaderBlock.of([...this.#caching.list, 'etag', etag]))

  /**
   * @param operation the name of the operation, in logs and metrics
   * @param varyBy the request headers besides Accept-Encoding on which its pages depend
   */
  constructor(options: SendOptions, operation: string, cacheControl: string, varyBy: readonly string[] = []) {
    this.#options = options
    this.#operation = operation
    const shared = cacheControl.startsWith('public') ? ['x-api-version'] : []
    const vary = options.common.vary(...varyBy, 'accept-encoding', ...shared) ?? ''
    this.#caching = HeaderBlock.of(['cache-control', cacheControl, 'vary', vary])
    this.#ofEveryPage = HeaderBlock.of([
      ...this.#caching.list,
      'content-type',
      'application/json; charset=utf-8',
    ])
  }

  /**
   * Sends a page, or 304 if the client already has it.
   *
   * @param onGrown called when compressed bytes have been added to the page
   */
  send(
    request: FastifyRequest,
    reply: FastifyReply,
    page: Page,
    onGrown: () => void = () => undefined,
  ): MaybePromise<void> {
    if (isFresh(request, page.etag)) return this.sendNotModified(request, reply, page.etag)

    const { unread } = this.#options
    const encoding = page.worthCompressing ? chooseEncoding(request.headers['accept-encoding']) : 'identity'
    const plain = page.ready('identity')
    const body = page.ready(encoding)
    unread.reserve(body ?? plain)
    if (encoding === 'identity' || body !== undefined) return this.#write(request, reply, page, encoding)
    return page.encode(encoding).then(
      () => {
        const encoded = page.ready(encoding)
        if (encoded === undefined) return this.#write(request, reply, page, 'identity')
        unread.exchange(plain, encoded)
        onGrown()
        return this.#write(request, reply, page, encoding)
      },
      (error: unknown) => {
        unread.release(plain)
        throw error
      },
    )
  }

  sendNotModified(request: FastifyRequest, reply: FastifyReply, etag: string): void {
    reply.hijack()
    const { common, responses } = this.#options
    const own = this.#describeEtag(etag)
    writeTogether(reply, () => {
      const { raw } = reply
      writeHead(request, raw, 304, common, own)
      raw.end()
      responses.recordPage(request, raw, this.#operation, 0)
    })
  }

  /** Writes a page whose body in this encoding is reserved. */
  #write(request: FastifyRequest, reply: FastifyReply, page: Page, encoding: Encoding): void {
    const body = page.ready(encoding) ?? page.ready('identity')
    page.headers[encoding] ??= this.#describe(page, encoding, body.length)
    const own = page.headers[encoding]
    reply.hijack()
    const { common, unread, responses } = this.#options
    writeTogether(reply, () => {
      const { raw } = reply
      try {
        writeHead(request, raw, 200, common, own)
        const last = body.parts.length - 1
        // Node hands the pieces to the socket together.
        for (let index = 0; index < last; index++) raw.write(body.parts[index])
        raw.end(body.parts[last])
      } finally {
        unread.watch(raw, body)
      }
      responses.recordPage(request, raw, this.#operation, body.length)
    })
  }

  #describe({ etag, link }: Page, encoding: Encoding, length: number): HeaderBlock {
    return this.#ofEveryPage.and([
      'etag',
      etag,
      'content-length',
      String(length),
      ...(link === undefined ? [] : ['link', link]),
      ...(encoding === 'identity' ? [] : ['content-encoding', encoding]),
    ])
  }
}

/** Whether the client has the page that the ETag identifies. */
export function isFresh(request: FastifyRequest, etag: string): boolean {
  const header = request.headers['if-none-match']
  return header !== undefined && matchesEtag(header, etag)
}

/**
 * The media type that the caller prefers (RFC 9110, section 12.5.1); the first one without a preference.
 *
 * @param types at least one
 * @throws {Problem} `not-acceptable` if the Accept header excludes them all
 */
export function assertAccepts(request: FastifyRequest, types: readonly string[]): string {
  const accept = request.headers.accept
  const [first = 'application/json'] = types
  // An empty header has no preference, like an absent one.
  if (accept === undefined || accept.trim() === '') return first
  if (types.length === 1 && first === 'application/json') {
    if (acceptsJson(accept)) return first
    throw new Problem(
      'not-acceptable',
      'The Accept header excludes application/json, the only supported media type.',
    )
  }
  const offered = types.flatMap((type) => [type, `${type}; charset=utf-8`])
  const accepted = new Negotiator({ headers: { accept } }).mediaType(offered)?.split(';', 1)[0]
  if (accepted !== undefined) return accepted
  throw new Problem(
    'not-acceptable',
    `The Accept header excludes every supported media type: ${types.join(', ')}.`,
  )
}

/** The comparison is weak: responses to GET and HEAD are equivalent in every encoding (RFC 9110, section 13.1.2). */
function matchesEtag(header: string, etag: string): boolean {
  if (header === etag || header.trim() === '*') return true
  const opaque = etag.replace(/^W\//, '')
  return header.split(',').some((each) => each.trim().replace(/^W\//, '') === opaque)
}

/** The type of every page, with and without the parameter that some clients add. */
const JSON_TYPES = ['application/json', 'application/json; charset=utf-8']
const acceptsJson = remember(
  (accept) => new Negotiator({ headers: { accept } }).mediaType(JSON_TYPES) !== undefined,
)
const negotiate = remember((accepted) => {
  // Version 1 applies the server's preference among equals; its types do not declare it yet.
  const negotiator: { encodings(available: string[], options: { preferred: string[] }): string[] } =
    new Negotiator({ headers: { 'accept-encoding': accepted } })
  return negotiator.encodings([...ENCODINGS], { preferred: [...ENCODINGS] }) as Encoding[]
})

/** The encodings that the caller accepts, the preferred one first (RFC 9110, section 12.5.3). */
export function listAccepted(accepted: string | undefined): readonly Encoding[] {
  return accepted === undefined ? [] : negotiate(accepted)
}

/** The preferred encoding: identity if the header is absent or excludes every available one. */
export function chooseEncoding(accepted: string | undefined): Encoding {
  return listAccepted(accepted)[0] ?? 'identity'
}
