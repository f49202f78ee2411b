import type { FastifyReply } from 'fastify'
import { type ComponentChildren, html } from './html.ts'
import { type Frame, renderPage } from './layout.ts'

export function sendPage(
  reply: FastifyReply,
  frame: Frame,
  content: ComponentChildren,
  status = 200,
): FastifyReply {
  return reply.code(status).type('text/html; charset=utf-8').send(renderPage(frame, content))
}

/** Sends a page without the session of anybody, with its title as the heading. */
export function sendMessage(
  reply: FastifyReply,
  title: string,
  content: ComponentChildren,
  status = 200,
): FastifyReply {
  return sendPage(reply, { title, path: '' }, html`<h1>${title}</h1>${content}`, status)
}

/**
 * Sends a page that redirects at once to another page of the console, so that the browser treats the navigation as
 * same-site.
 */
export function sendContinue(reply: FastifyReply, to: string, title: string): FastifyReply {
  reply.header('refresh', `0; url=${to}`)
  return sendMessage(reply, title, html`<p><a href=${to}>Continue</a></p>`)
}

/** Sends JSON for the script of a page. */
export function sendJson(reply: FastifyReply, data: object, status = 200): FastifyReply {
  return reply.code(status).type('application/json; charset=utf-8').send(JSON.stringify(data))
}
