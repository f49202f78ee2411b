import { createHmac } from 'node:crypto'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { readNotice, writeNotice } from './cookies.ts'
import type { Session } from './sessions.ts'

/** Leaves a sentence about what a form has done, for the page that the browser opens next. */
export function leaveNotice(
  request: FastifyRequest,
  reply: FastifyReply,
  session: Session,
  sentence: string,
): void {
  const text = Buffer.from(sentence).toString('base64url')
  writeNotice(request, reply, `${text}.${sign(session, text)}`)
}

/** The sentence that was left for this session, once: a page that is opened again does not repeat it. */
export function takeNotice(
  request: FastifyRequest,
  reply: FastifyReply,
  session: Session,
): string | undefined {
  const left = readNotice(request)
  if (left === undefined) return undefined
  writeNotice(request, reply, '')
  const [text = '', signature] = left.split('.')
  return signature === sign(session, text) ? Buffer.from(text, 'base64url').toString() : undefined
}

/** Nobody who does not know the session can put words into a page. */
const sign = ({ token }: Session, text: string): string =>
  createHmac('sha256', token).update(`notice ${text}`).digest('base64url')
