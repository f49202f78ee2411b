import { hash } from 'node:crypto'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { chooseEncoding, isFresh } from './negotiate.ts'
import { Page } from './page.ts'

/** A response that does not change while the process runs, compressed once in each encoding, with a validator. */
export class StaticPage {
  readonly #page: Page
  readonly #headers: Readonly<Record<string, string>>

  /** @param headers its own headers, including its content type */
  constructor(body: string | Buffer, headers: Readonly<Record<string, string>>) {
    const bytes = Buffer.from(body)
    this.#page = new Page(bytes, `W/"${hash('sha256', bytes, 'base64url').slice(0, 16)}"`)
    const vary = [headers.vary ?? [], 'accept-encoding'].flat().join(', ')
    this.#headers = { ...headers, vary, etag: this.#page.etag }
  }

  async send(request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
    reply.headers(this.#headers)
    if (isFresh(request, this.#page.etag)) return reply.code(304).removeHeader('content-type').send()
    const encoding = this.#page.worthCompressing
      ? chooseEncoding(request.headers['accept-encoding'])
      : 'identity'
    if (encoding !== 'identity') reply.header('content-encoding', encoding)
    return reply.send(await this.#page.encode(encoding))
  }
}
