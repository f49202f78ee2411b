import type { FastifyInstance } from 'fastify'
import { PROBLEMS, Problem, type ProblemSlug } from '../request/problems.ts'
import { StaticPage } from '../serving/static-page.ts'
import { escapeHtml, HTML_HEADERS, prefersHtml, renderHtml } from './html.ts'

const CACHING = { 'cache-control': 'public, max-age=3600' }

/** Serves `/problems`, the list of problem types, and a page for each type, to which its `type` URL leads. */
export function registerProblemPages(app: FastifyInstance): void {
  const slugs = Object.keys(PROBLEMS) as ProblemSlug[]
  const list = new StaticPage(renderList(slugs), { ...HTML_HEADERS, ...CACHING })
  const pages = new Map(
    slugs.map((slug) => [slug as string, new StaticPage(renderKind(slug), { ...HTML_HEADERS, ...CACHING })]),
  )
  const options = { schema: { hide: true }, config: { operation: 'problems' } }

  app.get('/problems', options, async (request, reply) => {
    if (prefersHtml(request)) return await list.send(request, reply)
    reply.headers({ vary: 'accept', ...CACHING })
    return { problems: slugs.map(describe) }
  })
  app.get<{ Params: { slug: string } }>('/problems/:slug', options, async (request, reply) => {
    const { slug } = request.params
    const page = pages.get(slug)
    if (page === undefined) {
      const problem = new Problem(
        'not-found',
        `No problem has this name. The problems are ${slugs.join(', ')}.`,
      )
      if (!prefersHtml(request)) throw problem
      reply.code(404).headers({ ...HTML_HEADERS, 'cache-control': 'no-store' })
      return reply.send(renderUnknown(slug))
    }
    if (prefersHtml(request)) return await page.send(request, reply)
    reply.headers({ vary: 'accept', ...CACHING })
    return describe(slug as ProblemSlug)
  })
}

function describe(slug: ProblemSlug) {
  return { type: `/problems/${slug}`, ...PROBLEMS[slug] }
}

function renderKind(slug: ProblemSlug): string {
  const { status, title, advice } = PROBLEMS[slug]
  return renderHtml(title, `<p>HTTP status ${status}</p>\n<p>${escapeHtml(advice)}</p>`)
}

function renderList(slugs: readonly ProblemSlug[]): string {
  const items = slugs.map((slug) => {
    const { status, title } = PROBLEMS[slug]
    return `<dt><a href="/problems/${slug}">${escapeHtml(title)}</a></dt>\n<dd>HTTP status ${status}, <code>/problems/${slug}</code></dd>`
  })
  return renderHtml(
    'Problems',
    `<p>Every error response has one of these types.</p>\n<dl>\n${items.join('\n')}\n</dl>`,
  )
}

function renderUnknown(slug: string): string {
  const name = escapeHtml(slug.slice(0, 60))
  return renderHtml(
    'Unknown problem',
    `<p>No problem is called <code>${name}</code>. See <a href="/problems">the list of all problems</a>.</p>`,
  )
}
