import { Readable } from 'node:stream'
import type { FastifyReply, FastifyRequest } from 'fastify'
import Negotiator from 'negotiator'
import type { MaybePromise } from '../../foundation/cache/maybe-promise.ts'
import { remember } from '../../foundation/cache/remember.ts'
import { Problem } from '../contract/problems.ts'
import type { DocumentResult, Result } from '../contract/results.ts'
import { callerOf } from '../request/caller.ts'
import type { ResponseLog } from '../telemetry/response-log.ts'
import { type CommonHeaders, HeaderBlock, writeHead } from './headers.ts'
import { markTransfer } from './last-response.ts'
import { ENCODINGS, type Encoding, type Page } from './page.ts'
import { SMALL, type SocketBuffers } from './socket-buffers.ts'
import { openStream, type Reservation, type UnreadResponses } from './unread-responses.ts'

export interface SendOptions {
  readonly common: CommonHeaders
  readonly responses: ResponseLog
  readonly unread: UnreadResponses
  readonly buffers: SocketBuffers
}

/**
 * Sends the results of an operation. Pages, small documents and 304 bypass Fastify, which would process every header
 * again.
 */
export class Sender {
  readonly #options: SendOptions
  readonly #operation: string
  /** The caching headers of every page. */
  readonly #caching: HeaderBlock
  readonly #ofEveryPage: HeaderBlock
  readonly #ofEveryDocument: HeaderBlock
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
    const type = ['content-type', 'application/json; charset=utf-8']
    this.#ofEveryPage = HeaderBlock.of([...this.#caching.list, ...type])
    const varies = options.common.vary()
    this.#ofEveryDocument = HeaderBlock.of([
      'cache-control',
      'no-store',
      ...(varies === undefined ? [] : ['vary', varies]),
      ...type,
    ])
  }

  send(request: FastifyRequest, reply: FastifyReply, result: Result): MaybePromise<unknown> {
    switch (result.kind) {
      case 'page':
        return this.#sendPage(request, reply, result.page, result.onGrown)
      case 'not-modified':
        return this.#sendNotModified(request, reply, result.etag)
      case 'document':
        return this.#sendDocument(request, reply, result)
      case 'empty':
        return reply
          .code(204)
          .headers({ 'cache-control': 'no-store', ...result.headers })
          .send()
      case 'stream':
        markTransfer(request.raw)
        reply.headers({ 'cache-control': 'private, no-store', ...result.headers })
        return openStream(request.server.budgets.streams, callerOf(request), reply.raw, result.body).then(
          (body) => reply.type(result.type).send(Readable.from(body, { objectMode: false })),
        )
    }
  }

  /**
   * Sends a page, or 304 if the client already has it.
   *
   * @param onGrown called when compressed bytes have been added to the page
   */
  #sendPage(
    request: FastifyRequest,
    reply: FastifyReply,
    page: Page,
    onGrown: () => void = () => undefined,
  ): MaybePromise<void> {
    if (isFresh(request, page.etag)) return this.#sendNotModified(request, reply, page.etag)

    const { unread } = this.#options
    const { compressions } = request.server.budgets
    const caller = callerOf(request)
    const encoding = page.worthCompressing ? chooseEncoding(request.headers['accept-encoding']) : 'identity'
    const plain = page.ready('identity')
    const body = page.ready(encoding)
    const reservation = unread.reserve(body ?? plain, caller)
    if (encoding === 'identity' || body !== undefined)
      return this.#writeWithRoom(request, reply, page, encoding, reservation)
    return page.encode(encoding, compressions, caller).then(
      () => {
        const encoded = page.ready(encoding)
        if (encoded === undefined) return this.#writeWithRoom(request, reply, page, 'identity', reservation)
        reservation.exchange(encoded)
        onGrown()
        return this.#writeWithRoom(request, reply, page, encoding, reservation)
      },
      (error: unknown) => {
        reservation.release()
        throw error
      },
    )
  }

  /** Sends an object in one piece: a large one through Fastify, whose hooks find room for it. */
  #sendDocument(
    request: FastifyRequest,
    reply: FastifyReply,
    { status, body, headers }: DocumentResult,
  ): unknown {
    const text = JSON.stringify(body)
    const length = Buffer.byteLength(text)
    if (length > SMALL) {
      reply.code(status).headers({ 'cache-control': 'no-store', ...headers })
      return reply.type('application/json; charset=utf-8').send(text)
    }
    const { common, responses } = this.#options
    // Validated, because they name what callers have sent.
    const own = HeaderBlock.of([...Object.entries(headers).flat(), 'content-length', String(length)])
    reply.hijack()
    writeTogether(reply, () => {
      const { raw } = reply
      writeHead(request, raw, status, common, this.#ofEveryDocument.and(own.list))
      raw.end(text)
      responses.recordPage(request, raw, this.#operation, length)
    })
    return undefined
  }

  #sendNotModified(request: FastifyRequest, reply: FastifyReply, etag: string): void {
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

  /** Writes a page, and releases its reservation if the system has no room for it. */
  #writeWithRoom(
    request: FastifyRequest,
    reply: FastifyReply,
    page: Page,
    encoding: Encoding,
    reservation: Reservation,
  ): MaybePromise<void> {
    const write = () => this.#write(request, reply, page, encoding, reservation)
    const release = (error: unknown) => {
      reservation.release()
      throw error
    }
    const { length } = page.ready(encoding) ?? page.ready('identity')
    const bytes = request.method === 'HEAD' ? 0 : length
    try {
      const held = this.#options.buffers.hold(request.raw.socket, bytes, callerOf(request))
      return held === undefined ? write() : held.then(write, release)
    } catch (error) {
      return release(error)
    }
  }

  /** Writes a page whose body in this encoding is reserved. */
  #write(
    request: FastifyRequest,
    reply: FastifyReply,
    page: Page,
    encoding: Encoding,
    reservation: Reservation,
  ): void {
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
        unread.watch(raw, reservation)
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

interface Waiting {
  readonly reply: FastifyReply
  readonly write: () => void
}

let waiting: Waiting[] = []

/**
 * Writes a response together with those to all other requests that arrived in this turn of the event loop. A separate
 * write wakes its client separately, which on a busy machine takes longer than finding the page.
 */
function writeTogether(reply: FastifyReply, write: () => void): void {
  waiting.push({ reply, write })
  if (waiting.length === 1) setImmediate(writeAll)
}

function writeAll(): void {
  const now = waiting
  waiting = []
  for (const { reply, write } of now) {
    try {
      write()
    } catch (err) {
      // No caller would catch it.
      reply.log.error({ id: reply.request.id, err }, 'the response could not be written')
      reply.raw.destroy()
    }
  }
}
