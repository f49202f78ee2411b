import { pipeline, Readable } from 'node:stream'
import { createGzip } from 'node:zlib'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { callerOf } from '../request/caller.ts'
import { markTransfer } from '../request/transfers.ts'
import { chooseEncoding, isFresh, prefersGzip } from '../serving/negotiate.ts'
import type { Encoding, Page } from '../serving/page.ts'
import type { Result } from './results.ts'

const JSON_TYPE = 'application/json; charset=utf-8'

/** Sends the results of an operation. */
export class Sender {
  /** The caching headers of every page. */
  readonly #caching: Readonly<Record<string, string>>

  /** @param varyBy the request headers besides Accept-Encoding on which its pages depend */
  constructor(cacheControl: string, varyBy: readonly string[] = []) {
    const shared = cacheControl.startsWith('public') ? ['x-api-version'] : []
    this.#caching = {
      'cache-control': cacheControl,
      vary: [...varyBy, 'accept-encoding', ...shared].join(', '),
    }
  }

  async send(request: FastifyRequest, reply: FastifyReply, result: Result): Promise<void> {
    switch (result.kind) {
      case 'page':
        await this.#sendPage(request, reply, result.page)
        break
      case 'not-modified':
        this.#sendNotModified(reply, result.etag)
        break
      case 'document':
        reply.code(result.status).headers({ 'cache-control': 'no-store', ...result.headers })
        reply.type(JSON_TYPE).send(JSON.stringify(result.body))
        break
      case 'stream': {
        markTransfer(request.raw)
        const { downloads } = request.server.slots
        const isCompressed = result.compressible && prefersGzip(request)
        const content = isCompressed ? compress(result.body) : result.body
        const body = Readable.from(countBytes(content, request), { objectMode: false })
        try {
          const slot = downloads.take(callerOf(request))
          body.once('close', () => slot.release())
        } catch (error) {
          body.destroy()
          throw error
        }
        reply.headers({ 'cache-control': 'private, no-store', ...result.headers })
        if (result.compressible) reply.header('vary', this.#caching.vary)
        if (isCompressed) reply.header('content-encoding', 'gzip')
        reply.type(result.type).send(body)
      }
    }
  }

  /** Sends a page, or 304 if the client already has it. */
  async #sendPage(request: FastifyRequest, reply: FastifyReply, page: Page): Promise<void> {
    if (isFresh(request, page.etag)) return this.#sendNotModified(reply, page.etag)
    const encoding = page.worthCompressing ? chooseEncoding(request.headers['accept-encoding']) : 'identity'
    let body = page.ready(encoding)
    if (body === undefined) {
      request.server.inFlight.hold(request, page.ready('identity'))
      body = await page.encode(encoding)
    }
    page.headers[encoding] ??= this.#describe(page, encoding)
    reply.headers(page.headers[encoding]).send(body)
  }

  #sendNotModified(reply: FastifyReply, etag: string): void {
    reply.code(304).headers(this.#caching).header('etag', etag).send()
  }

  #describe({ etag, link }: Page, encoding: Encoding): Readonly<Record<string, string>> {
    return {
      ...this.#caching,
      'content-type': JSON_TYPE,
      etag,
      ...(link === undefined ? {} : { link }),
      ...(encoding === 'identity' ? {} : { 'content-encoding': encoding }),
    }
  }
}

/** An error of either end reaches the other: a partial body is never ended as if it were complete. */
function compress(body: AsyncIterable<Buffer | string>): AsyncIterable<Buffer> {
  const compressed = createGzip()
  pipeline(Readable.from(body, { objectMode: false }), compressed, () => undefined)
  return compressed
}

/** Counts what has been handed over to the connection. */
function countBytes(
  body: AsyncIterable<Buffer | string>,
  request: FastifyRequest,
): AsyncIterable<Buffer | string> {
  const pieces = body[Symbol.asyncIterator]()
  const counted: AsyncIterator<Buffer | string> = {
    async next() {
      const piece = await pieces.next()
      if (piece.done !== true) request.streamed += Buffer.byteLength(piece.value)
      return piece
    },
    // A generator would not pass it on if the client leaves before the first piece.
    async return() {
      await pieces.return?.()
      return { done: true, value: undefined }
    },
  }
  return { [Symbol.asyncIterator]: () => counted }
}
