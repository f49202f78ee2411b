import type { ServerResponse } from 'node:http'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { remember } from '../../foundation/cache/remember.ts'
import type { Life } from '../../foundation/lifecycle.ts'
import type { Cors } from '../request/cors.ts'
import { VERSION_HEADERS } from '../request/versions.ts'
import { HeaderBlock, renderFields } from './headers.ts'
import { keepsAlive } from './node-internals.ts'
import { SECURITY_HEADERS } from './security-headers.ts'

/** The headers of a response to a rate-limited request. */
export interface LimitHeaders {
  /** Alternating names and values. */
  readonly list: readonly string[]
  /** The same in wire format. */
  readonly text: string
}

declare module 'fastify' {
  interface FastifyRequest {
    /** The state of the rate limit after the request. */
    limitHeaders: LimitHeaders | undefined
  }
}

/** Idle timeout of a connection, in milliseconds. */
export const IDLE_TIMEOUT = 65_000

/** Announces the idle timeout to the client (RFC 2068, section 19.7.1.1). */
const KEEP_ALIVE = ['keep-alive', `timeout=${IDLE_TIMEOUT / 1000}`]

const OPEN = renderFields(['connection', 'keep-alive', ...KEEP_ALIVE])

/** The headers of every response. */
export class CommonHeaders {
  readonly #life: Life
  readonly #cors: Cors
  /** Those that depend only on the origin of the request. */
  readonly #fixed: (origin: string) => HeaderBlock

  constructor(life: Life, cors: Cors) {
    this.#life = life
    this.#cors = cors
    const fixed = [...Object.entries(VERSION_HEADERS), ...Object.entries(SECURITY_HEADERS)].flat()
    this.#fixed = remember((origin) => HeaderBlock.of([...fixed, ...cors.headersFor(origin)]))
  }

  /** Whether every connection closes after its response, so that a load balancer switches to another process. */
  get endsConnections(): boolean {
    return this.#life.stopping
  }

  /** Alternating names and values, as `writeHead` accepts them, without `Vary`. */
  of(request: FastifyRequest, response: ServerResponse): string[] {
    const headers = ['x-request-id', request.id, ...this.#fixed(request.headers.origin ?? '').list]
    if (request.limitHeaders !== undefined) headers.push(...request.limitHeaders.list)
    if (this.endsConnections) headers.push('connection', 'close')
    else if (keepsAlive(response)) headers.push(...KEEP_ALIVE)
    return headers
  }

  /** The same in wire format, for a connection that stays open. */
  render(request: FastifyRequest): string {
    const { text } = this.#fixed(request.headers.origin ?? '')
    return `${OPEN}x-request-id: ${request.id}\r\n${text}${request.limitHeaders?.text ?? ''}`
  }

  /** The `Vary` header of a response that depends on `own` headers. */
  vary(...own: string[]): string | undefined {
    const names = this.#cors.dependsOnOrigin ? ['origin', ...own] : own
    return names.length === 0 ? undefined : names.join(', ')
  }

  /**
   * Adds the common headers that a response sent by Fastify does not set itself: HTML pages have their own policy.
   */
  addTo(request: FastifyRequest, reply: FastifyReply): void {
    const headers = this.of(request, reply.raw)
    for (let index = 0; index < headers.length; index += 2) {
      const name = headers[index] as string
      if (!reply.hasHeader(name)) reply.header(name, headers[index + 1])
    }
    const own = reply.getHeader('vary')
    const vary = this.vary(...(own === undefined ? [] : [String(own)]))
    if (vary !== undefined) reply.header('vary', vary)
  }
}
