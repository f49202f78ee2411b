import type { FastifyReply, FastifyRequest } from 'fastify'
import { chooseEncoding } from '../api/serving/negotiate.ts'
import { Page } from '../api/serving/page.ts'

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
  const page = new Page(Buffer.from(payload), '')
  if (!page.worthCompressing) return payload
  reply.header('vary', 'accept-encoding')
  const encoding = chooseEncoding(request.headers['accept-encoding'])
  if (encoding === 'identity') return payload
  // The length of the page as it was.
  reply.removeHeader('content-length')
  reply.header('content-encoding', encoding)
  return await page.encode(encoding)
}
