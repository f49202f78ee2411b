import type { FastifyReply, FastifyRequest } from 'fastify'
import { callerOf } from '../api/request/caller.ts'
import { Page } from '../api/serving/page.ts'
import { chooseEncoding } from '../api/serving/send.ts'

/**
 * Compresses a page, if its browser accepts that. Other sites learn nothing from its length: the cookie is
 * SameSite=Strict, so they cannot make a browser request the page.
 */
export async function compressPage(
  request: FastifyRequest,
  reply: FastifyReply,
  payload: unknown,
): Promise<unknown> {
  if (typeof payload !== 'string') return payload
  const page = new Page([Buffer.from(payload)], '')
  if (!page.worthCompressing) return payload
  reply.header('vary', 'accept-encoding')
  const encoding = chooseEncoding(request.headers['accept-encoding'])
  if (encoding === 'identity') return payload
  await page.encode(encoding, request.server.budgets.compressions, callerOf(request))
  const body = page.ready(encoding)
  if (body === undefined) return payload
  // The length of the page as it was.
  reply.removeHeader('content-length')
  reply.header('content-encoding', encoding)
  return body.join()
}
