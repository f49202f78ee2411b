import type { FastifyReply, FastifyRequest } from 'fastify'
import type { ProblemShown } from './api.ts'
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

/** Whether a script of a page asks, which cannot show a page. */
export const asksForData = ({ headers }: FastifyRequest): boolean => headers.accept === 'application/json'

/**
 * Says why a request is refused: to a script as JSON, and to a person as a page.
 *
 * @param next what the person can do now
 */
export function sendRefusal(
  request: FastifyRequest,
  reply: FastifyReply,
  refusal: ProblemShown,
  next: ComponentChildren,
  frame: Partial<Frame> = {},
): FastifyReply {
  const { title, detail, status } = refusal
  if (asksForData(request)) return sendJson(reply, refusal, status)
  const content = html`<h1>${title}</h1><p class="problem">${detail}</p><p>${next}</p>`
  return sendPage(reply, { path: request.url, ...frame, title }, content, status)
}

/**
 * Sends a page that redirects at once to another page of the console, so that the browser treats the navigation as
 * same-site.
 */
export function sendContinue(reply: FastifyReply, to: string, title: string): FastifyReply {
  reply.header('refresh', `0; url=${to}`)
  return sendPage(reply, { title, path: '' }, html`<h1>${title}</h1><p><a href=${to}>Continue</a></p>`)
}

/** Sends JSON for the script of a page. */
export function sendJson(reply: FastifyReply, data: object, status = 200): FastifyReply {
  return reply.code(status).type('application/json; charset=utf-8').send(JSON.stringify(data))
}
