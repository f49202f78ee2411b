import type { FastifyReply, FastifyRequest } from 'fastify'
import { remember } from '../../foundation/cache/remember.ts'
import type { Life } from '../../foundation/lifecycle.ts'
import type { Cors } from '../request/cors.ts'
import { VERSION_HEADERS } from '../request/versions.ts'

/**
 * Security headers of every response. Browsers must not guess its type, execute or frame it, or pass on its URL,
 * which may contain a token; other origins can read it only through CORS. The proxy is responsible for TLS, and
 * therefore for Strict-Transport-Security.
 */
export const SECURITY_HEADERS: Readonly<Record<string, string>> = {
  'x-content-type-options': 'nosniff',
  'content-security-policy': "default-src 'none'; base-uri 'none'; frame-ancestors 'none'",
  'referrer-policy': 'no-referrer',
  'cross-origin-resource-policy': 'same-origin',
}

declare module 'fastify' {
  interface FastifyRequest {
    /** The headers with the state of the rate limit after the request. */
    limitHeaders: Readonly<Record<string, string>> | undefined
  }
}

/** The headers of every response. */
export class CommonHeaders {
  readonly #life: Life
  readonly #cors: Cors
  /** Those that depend only on the origin of the request. */
  readonly #fixed: (origin: string) => Readonly<Record<string, string>>

  constructor(life: Life, cors: Cors) {
    this.#life = life
    this.#cors = cors
    this.#fixed = remember((origin) => ({
      ...VERSION_HEADERS,
      ...SECURITY_HEADERS,
      ...cors.headersFor(origin),
    }))
  }

  /** Sets them before a request is handled: a page may have its own policy. */
  begin(request: FastifyRequest, reply: FastifyReply): void {
    reply.headers(this.#fixed(request.headers.origin ?? '')).header('x-request-id', request.id)
  }

  /** Sets those that are not known before. */
  complete(request: FastifyRequest, reply: FastifyReply): void {
    reply.headers(request.limitHeaders ?? {})
    if (this.#cors.dependsOnOrigin) {
      const own = reply.getHeader('vary')
      reply.header('vary', own === undefined ? 'origin' : `origin, ${own}`)
    }
    // While the process stops, so that a load balancer switches to another one; and Node drops what follows Upgrade.
    if (this.#life.stopping || request.headers.upgrade !== undefined) reply.header('connection', 'close')
  }
}
