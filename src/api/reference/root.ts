import type { FastifyInstance } from 'fastify'
import { prefersHtml } from './html.ts'

/**
 * Serves `/`, which redirects people to a page and tells programs where to go.
 *
 * @param home the path of the first page for people
 */
export function registerRoot(app: FastifyInstance, home: string): void {
  app.get('/', { schema: { hide: true }, config: { operation: 'root' } }, async (request, reply) => {
    reply.headers({ vary: 'accept', 'cache-control': 'no-cache' })
    if (prefersHtml(request)) return reply.redirect(home, 302)
    return {
      name: 'Mahi',
      home,
      documentation: '/docs',
      openapi: '/openapi.json',
      problems: '/problems',
      health: '/readyz',
    }
  })
}
