import type { FastifyInstance } from 'fastify'
import Negotiator from 'negotiator'
import { PROBLEMS, Problem, type ProblemSlug } from './problems.ts'

/** The address that a problem's `type` names answers with what the problem means and what to do about it. */
export function registerProblemPages(app: FastifyInstance): void {
  app.get<{ Params: { slug: string } }>(
    '/problems/:slug',
    { schema: { hide: true }, config: { operation: 'problems' } },
    async (request, reply) => {
      const slug = request.params.slug
      if (!Object.hasOwn(PROBLEMS, slug)) {
        throw new Problem(
          'not-found',
          `There is no such kind of problem. There are: ${Object.keys(PROBLEMS).join(', ')}.`,
        )
      }
      const description = { type: `/problems/${slug}`, ...PROBLEMS[slug as ProblemSlug] }
      reply.headers({ vary: 'accept', 'cache-control': 'public, max-age=3600' })
      if (new Negotiator(request.raw).mediaType(['application/json', 'text/html']) !== 'text/html')
        return description
      return reply
        .header('content-type', 'text/html; charset=utf-8')
        .header(
          'content-security-policy',
          "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; frame-ancestors 'none'",
        )
        .send(renderPage(description))
    },
  )
}

function renderPage({ status, title, advice }: { status: number; title: string; advice: string }): string {
  return `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>${title}</title>
<style>body{font:1rem/1.6 system-ui,sans-serif;max-width:40rem;margin:4rem auto;padding:0 1rem;color:#1b2430;background:#fff}</style>
<main>
<p>HTTP status ${status}</p>
<h1>${title}</h1>
<p>${advice}</p>
<p><a href="/docs">The reference</a></p>
</main>
</html>
`
}
