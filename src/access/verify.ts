import type { Verify } from './principal.ts'

/** Three base64url parts, the last of which is empty in a token that is not signed. A key has no dot. */
const JWT = /^[\w-]+\.[\w-]+\.[\w-]*$/

/** Verifies what was sent as `Authorization: Bearer`: a JWT where an issuer of them is known, or else a key. */
export function createBearerVerifier(keys: Verify, jwts: Verify | undefined): Verify {
  if (jwts === undefined) return keys
  return (credential, client) => (JWT.test(credential) ? jwts(credential, client) : keys(credential, client))
}
