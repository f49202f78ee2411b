import type { Verify } from './principal.ts'

/** Three base64url parts, the last of which is empty in an unsigned token. A key has no dot. */
const JWT = /^[\w-]+\.[\w-]+\.[\w-]*$/

/**
 * Verifies an `Authorization: Bearer`: as a JWT if it looks like one and an issuer is configured, otherwise as a key.
 */
export function createBearerVerifier(keys: Verify, jwts: Verify | undefined): Verify {
  if (jwts === undefined) return keys
  return (credential, client) => (JWT.test(credential) ? jwts(credential, client) : keys(credential, client))
}
