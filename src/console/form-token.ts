import { createHmac, timingSafeEqual } from 'node:crypto'
import type { FastifyRequest } from 'fastify'
import { hasForm, readFirstField, readForm } from './forms.ts'

/** The field of a form that contains the token. */
export const TOKEN_FIELD = 'form-token'

/**
 * The token of all forms of a session: another site cannot read it, and it is of no use in another session. It is
 * derived from the secret, which it does not reveal, so nothing more is stored.
 */
export function deriveToken(secret: string): string {
  return createHmac('sha256', secret).update('forms of the console').digest('base64url')
}

/**
 * Whether a request carries the token: a form as its first or any other field, a script as the header `X-Form-Token`.
 * The files of a form are not read before.
 */
export async function hasToken(request: FastifyRequest, token: string): Promise<boolean> {
  return isEqual(await readToken(request), token)
}

async function readToken(request: FastifyRequest): Promise<string> {
  if (request.isMultipart()) return await readFirstField(request, TOKEN_FIELD)
  if (hasForm(request)) return (await readForm(request)).get(TOKEN_FIELD) ?? ''
  return String(request.headers['x-form-token'] ?? '')
}

function isEqual(sent: string, token: string): boolean {
  const [one, other] = [Buffer.from(sent), Buffer.from(token)]
  return one.length === other.length && timingSafeEqual(one, other)
}
