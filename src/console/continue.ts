import type { FastifyReply } from 'fastify'
import { html } from './html.ts'
import { renderPage } from './layout.ts'

/** A page that leads to another one of ours at once: the browser then knows that the navigation began here. */
export function sendContinue(reply: FastifyReply, to: string, title: string): FastifyReply {
  return reply
    .header('refresh', `0; url=${to}`)
    .type('text/html; charset=utf-8')
    .send(renderPage({ title, path: '' }, html`<h1>${title}</h1><p><a href=${to}>Continue</a></p>`))
}
