import type { FastifyReply } from 'fastify'
import { html } from './html.ts'
import { renderPage } from './layout.ts'

/**
 * Sends a page that redirects at once to another page of the console, so that the browser treats the navigation as
 * same-site.
 */
export function sendContinue(reply: FastifyReply, to: string, title: string): FastifyReply {
  return reply
    .header('refresh', `0; url=${to}`)
    .type('text/html; charset=utf-8')
    .send(renderPage({ title, path: '' }, html`<h1>${title}</h1><p><a href=${to}>Continue</a></p>`))
}
