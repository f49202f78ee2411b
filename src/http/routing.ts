import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { preflightHeaders } from './cors.ts'
import { Problem } from './problems.ts'

interface Route {
  readonly pattern: RegExp
  /** Path parameters: of two routes that match, the one with fewer is meant. */
  readonly parameters: number
  readonly methods: Set<string>
}

/**
 * Answers what no route takes: an address that does not exist (404), one that exists for other methods (405, with
 * Allow), and OPTIONS, which tells those methods, also to a browser that asks before a page of another origin may.
 */
export class Unrouted {
  readonly #routes = new Map<string, Route>()
  /** The methods of the service as a whole, which `OPTIONS *` asks for (RFC 9110, section 9.3.7). */
  readonly #methods = new Set(['GET', 'HEAD', 'OPTIONS'])

  /** Knows the routes that are registered after this. */
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
   * A browser that asks beforehand is answered at any address: its page is to see how the request itself is refused.
   *
   * @throws {Problem} unless it is that, or OPTIONS at an address that exists
   */
  answer(request: FastifyRequest, reply: FastifyReply): FastifyReply {
    const path = request.url.split('?', 1)[0] ?? ''
    const isOptions = request.method === 'OPTIONS'
    const isPreflight = isOptions && request.headers['access-control-request-method'] !== undefined
    const found = path === '*' ? this.#methods : this.#findMethods(path)
    const methods = found ?? (isPreflight ? this.#methods : undefined)
    // A route that finds nothing under its own address asks here, too.
    if (methods === undefined || (methods.has(request.method) && !isOptions)) {
      const meant = path.replace(/\/+$/, '')
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
    throw new Problem('method-not-allowed', `${request.method} is not taken here. Taken: ${allow}.`, {
      headers: { allow },
    })
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
  return new RegExp(`^${escaped.replaceAll('*', '.*').replace(/:[A-Za-z]+/g, '[^/]*')}$`)
}
