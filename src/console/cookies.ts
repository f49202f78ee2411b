import type { FastifyReply, FastifyRequest } from 'fastify'
import { isLoopbackHost } from '../foundation/is-loopback-host.ts'

/** Whether the browser considers the connection secure: TLS, here or at a trusted proxy, or loopback. */
export function isSecure(request: FastifyRequest): boolean {
  return request.protocol === 'https'
}

/** Browsers do not send `Secure` cookies over plain HTTP, so the session can only be used without TLS on loopback. */
export function isLoopback(request: FastifyRequest): boolean {
  return isLoopbackHost(request.hostname)
}

const SESSION = { secure: '__Host-mahi', plain: 'mahi-session' }
const SIGNING_IN = { secure: '__Host-mahi-signing-in', plain: 'mahi-signing-in' }
const NOTICE = { secure: '__Host-mahi-notice', plain: 'mahi-notice' }

/** The secret of the session that the browser sends. */
export const readSession = (request: FastifyRequest): string | undefined => read(request, SESSION)

/** The cookie of RFC 6265bis, section 4.1.3.2, without a domain, and therefore for this host only. */
export function writeSession(request: FastifyRequest, reply: FastifyReply, secret: string): void {
  write(request, reply, SESSION, secret, 'Strict')
}

export function endSession(request: FastifyRequest, reply: FastifyReply): void {
  write(request, reply, SESSION, '', 'Strict', 0)
}

/** Data needed when the identity provider sends the browser back, when `Strict` cookies are not sent. */
export const readSigningIn = (request: FastifyRequest): string | undefined => read(request, SIGNING_IN)

export function writeSigningIn(request: FastifyRequest, reply: FastifyReply, value: string): void {
  write(request, reply, SIGNING_IN, value, 'Lax', value === '' ? 0 : 600)
}

/** What a form has done, for the page after it. */
export const readNotice = (request: FastifyRequest): string | undefined => read(request, NOTICE)

export function writeNotice(request: FastifyRequest, reply: FastifyReply, value: string): void {
  write(request, reply, NOTICE, value, 'Strict', value === '' ? 0 : 60)
}

function read(request: FastifyRequest, names: typeof SESSION): string | undefined {
  const name = isSecure(request) ? names.secure : names.plain
  for (const pair of (request.headers.cookie ?? '').split(';')) {
    const [key, ...value] = pair.trim().split('=')
    if (key === name) return value.join('=') || undefined
  }
  return undefined
}

function write(
  request: FastifyRequest,
  reply: FastifyReply,
  names: typeof SESSION,
  value: string,
  sameSite: 'Strict' | 'Lax',
  maxAge?: number,
): void {
  const secure = isSecure(request)
  const attributes = [
    `${secure ? names.secure : names.plain}=${value}`,
    'Path=/',
    'HttpOnly',
    `SameSite=${sameSite}`,
    ...(secure ? ['Secure'] : []),
    ...(maxAge === undefined ? [] : [`Max-Age=${maxAge}`]),
  ]
  reply.header('set-cookie', [
    ...[reply.getHeader('set-cookie') ?? []].flat().map(String),
    attributes.join('; '),
  ])
}
