import type { FastifyRequest } from 'fastify'
import Negotiator from 'negotiator'

/** Headers of an HTML page, which may use inline styles and nothing else. */
export const HTML_HEADERS = {
  'content-type': 'text/html; charset=utf-8',
  'content-security-policy':
    "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  vary: 'accept',
}

/** Whether the client is a browser that displays a page, rather than a program. */
export function prefersHtml(request: FastifyRequest): boolean {
  return new Negotiator(request.raw).mediaType(['application/json', 'text/html']) === 'text/html'
}

const STYLE = `:root{color-scheme:light dark;--text:#1b2430;--back:#fff;--link:#0b57a4;--line:#c9d1da}
@media(prefers-color-scheme:dark){:root{--text:#e3e8ee;--back:#12161c;--link:#8ab4f8;--line:#3a4452}}
body{font:1rem/1.6 system-ui,sans-serif;max-width:44rem;margin:3rem auto;padding:0 1rem;color:var(--text);background:var(--back)}
a{color:var(--link)}dt{margin-top:1rem;font-weight:600}dd{margin-left:0}
nav{margin-top:2rem;padding-top:1rem;border-top:1px solid var(--line)}`

/** @param body HTML, in which every text has been escaped */
export function renderHtml(title: string, body: string): string {
  return `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>${escapeHtml(title)}</title>
<style>${STYLE}</style>
<main>
<h1>${escapeHtml(title)}</h1>
${body}
</main>
<nav><a href="/problems">All problems</a> · <a href="/docs">API reference</a></nav>
</html>
`
}

/** Escapes text for element content and double-quoted attributes. */
export function escapeHtml(text: string): string {
  return text
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;')
}
