import type { FastifyInstance, FastifyRequest } from 'fastify'
import { Problem } from './problems.ts'

/**
 * Tells an address that does not exist (404) from one that exists for other methods (405, with Allow). Routes that
 * are registered earlier, as that of CORS for OPTIONS anywhere, are no addresses.
 */
export function registerNotFound(app: FastifyInstance): void {
  const known = new Map<string, { pattern: RegExp; methods: Set<string> }>()
  app.addHook('onRoute', ({ url, method }) => {
    const route = known.get(url) ?? { pattern: toPattern(url), methods: new Set() }
    for (const each of [method].flat()) route.methods.add(each)
    known.set(url, route)
  })

  const refuse = (request: FastifyRequest): never => {
    const path = request.url.split('?', 1)[0] ?? ''
    const route = [...known.values()].find(({ pattern }) => pattern.test(path))
    if (route !== undefined && !route.methods.has(request.method)) {
      const allow = [...route.methods, 'OPTIONS'].sort().join(', ')
      throw new Problem('method-not-allowed', `${request.method} is not taken here. Taken: ${allow}.`, {
        headers: { allow },
      })
    }
    throw new Problem(
      'not-found',
      'There is nothing at this address. What there is: /docs and /openapi.json tell.',
    )
  }
  // Before anything is read of a body, which no address takes.
  app.addHook('onRequest', (request, _reply, done) => {
    if (request.is404) refuse(request)
    done()
  })
  app.setNotFoundHandler({}, async (request: FastifyRequest) => refuse(request))
}

function toPattern(url: string): RegExp {
  const escaped = url.replace(/[.+?^${}()|[\]\\]/g, '\\$&')
  return new RegExp(`^${escaped.replace(/:[A-Za-z]+/g, '[^/]*').replaceAll('*', '.*')}$`)
}
