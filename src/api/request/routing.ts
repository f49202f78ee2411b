import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { dropEnd } from '../../foundation/text/drop-end.ts'
import { preflightHeaders } from './cors.ts'
import { Problem } from './problems.ts'

interface Route {
  readonly pattern: RegExp
  /** The number of path parameters: of two matching routes, the one with fewer applies. */
  readonly parameters: number
  readonly methods: Set<string>
}

/**
 * Responds to requests that have no route: unknown paths (404), unsupported methods (405, with Allow), and OPTIONS,
 * which lists the methods of a path, also for a CORS preflight.
 */
export class Unrouted {
  readonly #routes = new Map<string, Route>()
  /** The methods of the whole service, for `OPTIONS *` (RFC 9110, section 9.3.7). */
  readonly #methods = new Set(['GET', 'HEAD', 'OPTIONS'])

  /** Records the routes that are registered after this call. */
  constructor(app: FastifyInstance) {
    app.addHook('onRoute', ({ url, method }) => {
      const route = this.#routes.get(url) ?? {
        pattern: toPattern(url),
        parameters: url.split(':').length - 1,
        methods: new Set(['OPTIONS']),
      }
      for (const each of [method].flat()) {
        route.methods.add(each)
        this.#methods.add(each)
      }
      this.#routes.set(url, route)
    })
    app.setNotFoundHandler((request, reply) => this.answer(request, reply))
  }

  /**
   * Responds to a preflight at any path with success, so that the page can read the error of the request itself.
   *
   * @throws {Problem} unless it is a preflight, or OPTIONS at a known path
   */
  answer(request: FastifyRequest, reply: FastifyReply): FastifyReply {
    const path = request.url.split('?', 1)[0] ?? ''
    const isOptions = request.method === 'OPTIONS'
    const isPreflight = isOptions && request.headers['access-control-request-method'] !== undefined
    const found = path === '*' ? this.#methods : this.#findMethods(path)
    const methods = found ?? (isPreflight ? this.#methods : undefined)
    // A route that finds no resource calls this as well.
    if (methods === undefined || (methods.has(request.method) && !isOptions)) {
      const meant = dropEnd(path, (character) => character === '/')
      const hint =
        meant !== path && meant !== '' && this.#findMethods(meant) !== undefined
          ? ` Did you mean ${meant.slice(0, 200)}?`
          : ''
      throw new Problem(
        'not-found',
        `Nothing is available at this URL.${hint} See /docs or /openapi.json for the available endpoints.`,
      )
    }
    const allow = [...methods].sort().join(', ')
    if (isOptions) {
      const requested = request.headers['access-control-request-headers']
      return reply
        .code(204)
        .headers({ allow, ...preflightHeaders(requested, methods) })
        .send()
    }
    throw new Problem(
      'method-not-allowed',
      `This endpoint does not support ${request.method}. Supported methods: ${allow}.`,
      {
        headers: { allow },
      },
    )
  }

  /** Whether the last path parameter is empty: the router matches the route, but for callers it is another URL. */
  static endsEmpty({ url, routeOptions }: FastifyRequest): boolean {
    return /:[A-Za-z]+$/.test(routeOptions.url ?? '') && /^[^?]*\/(?:\?|$)/.test(url)
  }

  #findMethods(path: string): ReadonlySet<string> | undefined {
    const matching = [...this.#routes.values()].filter(({ pattern }) => pattern.test(path))
    const fewest = Math.min(...matching.map(({ parameters }) => parameters))
    const methods = matching
      .filter(({ parameters }) => parameters === fewest)
      .flatMap((route) => [...route.methods])
    return methods.length === 0 ? undefined : new Set(methods)
  }
}

function toPattern(url: string): RegExp {
  const escaped = url.replace(/[.+?^${}()|[\]\\]/g, '\\$&')
  const pattern = escaped
    .replaceAll('*', '.*')
    // A path that ends with a slash has no parameter there.
    .replace(/:[A-Za-z]+$/, '[^/]+')
    .replace(/:[A-Za-z]+/g, '[^/]*')
  return new RegExp(`^${pattern}$`)
}

/** A host and a port (RFC 3986, section 3.2); empty where the URL has no host. */
const HOST = /^(?:\[[\w:.%~-]+\]|[\w.~!$&'()*+,;=%-]*)(?::\d*)?$/

/** @throws {Problem} for requests that Node's parser accepts, or would refuse without a problem body */
export function assertWellFormed({ url, raw: { headers, rawHeaders, httpVersion } }: FastifyRequest): void {
  if (url.includes('#')) {
    throw new Problem(
      'malformed-request',
      'The URL must not include a fragment, which begins with # (RFC 9112, section 3.2.1).',
    )
  }
  if (httpVersion !== '1.1' && httpVersion !== '1.0') {
    throw new Problem('malformed-request', `The HTTP version must be 1.1 or 1.0, not ${httpVersion}.`)
  }
  if (headers.host === undefined && httpVersion === '1.1') {
    throw new Problem('malformed-request', 'The Host header is missing (RFC 9112, section 3.2).')
  }
  if (headers.host !== undefined && !HOST.test(headers.host)) {
    throw new Problem(
      'malformed-request',
      'The Host header must be a host and an optional port (RFC 9112, section 3.2).',
    )
  }
  if (countHosts(rawHeaders) > 1) {
    throw new Problem('malformed-request', 'The Host header must be given only once (RFC 9112, section 3.2).')
  }
  const coding = headers['transfer-encoding']
  if (coding !== undefined && !/\bchunked *$/i.test(coding)) {
    throw new Problem(
      'malformed-request',
      'The last Transfer-Encoding must be chunked (RFC 9112, section 6.3).',
    )
  }
  if (headers.expect !== undefined && headers.expect.toLowerCase() !== '100-continue') {
    throw new Problem('expectation-failed', 'The only supported expectation is 100-continue.')
  }
}

/** Node keeps only the first one. */
function countHosts(rawHeaders: readonly string[]): number {
  let hosts = 0
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = rawHeaders[index]
    if (name?.length === 4 && name.toLowerCase() === 'host') hosts++
  }
  return hosts
}
