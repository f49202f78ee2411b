import type { FastifyRequest } from 'fastify'
import type { Delegations } from './delegation.ts'
import type { Verifier } from './principal.ts'

export interface Credential {
  readonly text: string
  readonly kind: 'key' | 'bearer'
  /** The client that the caller names. */
  readonly client: string | undefined
}

/** `X-API-Key: <key>`, or `Authorization: Bearer <key or JWT>` (RFC 6750, section 2.1), each with `X-Client-ID`. */
export function readCredential({ headers }: FastifyRequest): Credential | undefined {
  const named = headers['x-client-id']
  const client = named === undefined ? undefined : readHeaderText(String(named))
  const key = headers['x-api-key']
  if (key !== undefined) return { text: String(key), kind: 'key', client }
  if (headers.authorization === undefined) return undefined
  return { text: /^bearer +(\S+) *$/i.exec(headers.authorization)?.[1] ?? '', kind: 'bearer', client }
}

/**
 * The text of a header that may contain non-ASCII letters. Node reads headers as Latin-1, but callers send names such
 * as "Te Pūkenga" as UTF-8.
 */
function readHeaderText(value: string): string {
  if (!/[\u0080-\u00ff]/.test(value)) return value
  const text = Buffer.from(value, 'latin1').toString('utf8')
  return (text.includes('\ufffd') ? value : text).normalize('NFC')
}

/** Three base64url parts, the last of which is empty in an unsigned token. A key has no dot. */
const JWT = /^[\w-]+\.[\w-]+\.[\w-]*$/

/**
 * Verifies an `Authorization: Bearer`: a delegated credential, a JWT if it looks like one and an issuer is configured,
 * or else a key.
 */
export function createBearerVerifier(
  keys: Verifier,
  jwts: Verifier | undefined,
  delegations: Delegations,
): Verifier {
  const verifierOf = (credential: string) => (jwts !== undefined && JWT.test(credential) ? jwts : keys)
  return {
    recall: (credential, client) =>
      delegations.take(credential) ?? verifierOf(credential).recall(credential, client),
    knows: (credential, client) => verifierOf(credential).knows(credential, client),
    verify: (credential, client) => verifierOf(credential).verify(credential, client),
  }
}
