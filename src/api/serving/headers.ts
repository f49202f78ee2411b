import { ServerResponse, STATUS_CODES, validateHeaderName, validateHeaderValue } from 'node:http'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { remember } from '../../foundation/cache/remember.ts'
import type { Life } from '../../foundation/lifecycle.ts'
import type { Cors } from '../request/cors.ts'
import { VERSION_HEADERS } from '../request/versions.ts'
import { keepsAlive, prepareHead, sendsPreparedHead } from './node-internals.ts'

/** Header fields that many responses share, rendered once. */
export class HeaderBlock {
  /** Alternating names and values, as `writeHead` accepts them. */
  readonly list: readonly string[]
  /** In wire format (RFC 9112, section 5). */
  readonly text: string

  private constructor(list: readonly string[], text: string) {
    this.list = list
    this.text = text
  }

  /** @throws {TypeError} if a name or a value is not a valid header field */
  static of(list: readonly string[]): HeaderBlock {
    for (let index = 0; index < list.length; index += 2) {
      const [name = '', value = ''] = list.slice(index, index + 2)
      validateHeaderName(name)
      validateHeaderValue(name, value)
    }
    return new HeaderBlock(list, renderFields(list))
  }

  /** Appends further fields without validation: callers of the API must not be able to influence the values. */
  and(list: readonly string[]): HeaderBlock {
    return new HeaderBlock([...this.list, ...list], this.text + renderFields(list))
  }
}

/** Renders fields in wire format, each with its line break, without validation. */
export function renderFields(list: readonly string[]): string {
  let text = ''
  for (let index = 0; index < list.length; index += 2) text += `${list[index]}: ${list[index + 1]}\r\n`
  return text
}

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

/**
 * Writes the head of a response, like `response.writeHead`. That function validates and merges all headers again for
 * every response, which takes longer than the rest of the work for a page in memory. Node sends a prepared head
 * unchanged.
 */
export function writeHead(
  request: FastifyRequest,
  response: ServerResponse,
  status: number,
  common: CommonHeaders,
  own: HeaderBlock,
): void {
  if (!acceptsPrepared(response) || common.endsConnections) {
    response.writeHead(status, [...common.of(request, response), ...own.list])
    return
  }
  response.statusCode = status
  const line = `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n`
  prepareHead(response, `${line}${common.render(request)}${own.text}date: ${nameDate()}\r\n\r\n`)
}

/** Node has to know whether the connection closes, and a replaced `writeHead` has to be called. */
function acceptsPrepared(response: ServerResponse): boolean {
  return (
    sendsPreparedHead() &&
    keepsAlive(response) &&
    response.req.httpVersion === '1.1' &&
    response.writeHead === ServerResponse.prototype.writeHead
  )
}

let second = 0
let date = ''

/** The time in HTTP's format (RFC 9110, section 5.6.7), rendered once a second. */
function nameDate(): string {
  const now = Math.floor(Date.now() / 1000)
  if (now !== second) {
    second = now
    date = new Date(now * 1000).toUTCString()
  }
  return date
}
