import { createHmac } from 'node:crypto'
import type { FastifyBaseLogger } from 'fastify'
import { errors, type JWTPayload, jwtVerify } from 'jose'
import { Problem } from '../http/problems.ts'
import { IssuerKeys } from './issuer-keys.ts'
import type { Principal, Refused, Verify } from './principal.ts'
import { isClient, RememberedPrincipals } from './remembered.ts'

/** What a token is checked against. */
export interface JwtOptions {
  /** Exactly the token's `iss`. */
  readonly issuer: string
  /** The token's `aud`, or one of them. */
  readonly audience: string
  /** Address of the issuer's public keys (RFC 7517, section 5). */
  readonly jwksUrl: string
  /** The claim that names the organisations, a string or a list of strings. */
  readonly eidClaim: string
}

/**
 * Stands for a text in logs and in Redis. Without the key nobody can try out which e-mail address it stands for, as
 * anybody could with a plain hash.
 */
export type KeyedHash = (text: string) => string

/** @param key a secret that all processes of a service share */
export function createKeyedHash(key: string): KeyedHash {
  return (text) => createHmac('sha256', key).update(text).digest('base64url')
}

/** Public-key signatures only: nobody can sign with what the JWKS address gives away, and `none` is none of them. */
const ALGORITHMS = ['RS256', 'ES256', 'EdDSA']
/** Tokens of other kinds, such as those of a logout, name their kind (RFC 8725, section 3.11); RFC 9068 has this one. */
const ACCESS_TOKEN = /^(?:application\/)?(?:at\+)?jwt$/i
/** Seconds by which the issuer's clock may differ from this one. */
const CLOCK_SKEW = 60

/**
 * Makes the verifier of an issuer's JSON Web Tokens (RFC 7519, checked as RFC 8725 advises). Whatever is wrong with
 * a token, a key or the JWKS address, the token is not valid; the debug log has the reason.
 *
 * A valid token is remembered until it expires, because verifying it again costs more than the rest of a request.
 * A token whose key the issuer has withdrawn is refused within two minutes, as long as the JWKS address answers: its
 * keys are asked for every minute, and when they change every remembered token is forgotten.
 */
export function createJwtVerifier(
  { issuer, audience, jwksUrl, eidClaim }: JwtOptions,
  keyedHash: KeyedHash,
  log: Pick<FastifyBaseLogger, 'warn' | 'debug'>,
): Verify {
  const remembered = new RememberedPrincipals()
  const keys = new IssuerKeys(
    jwksUrl,
    (message, reason) => log.warn({ reason }, message),
    () => remembered.forget(),
  )
  const expected = {
    issuer,
    audience,
    algorithms: ALGORITHMS,
    requiredClaims: ['sub', 'exp'],
    clockTolerance: CLOCK_SKEW,
  }
  const check = async (token: string, client: string | undefined): Promise<Principal | Refused> => {
    try {
      const { payload, protectedHeader } = await jwtVerify(token, keys.find, expected)
      if (!ACCESS_TOKEN.test(protectedHeader.typ ?? 'JWT'))
        throw new TokenRefused('"typ" names no access token')
      const principal = readPrincipal(payload, eidClaim, keyedHash)
      return isClient(principal, client)
        ? principal
        : { refused: 'client', id: principal.id, client: principal.client }
    } catch (error) {
      if (error instanceof Problem) throw error
      log.debug({ reason: describeFault(error) }, 'a JWT is not valid')
      return { refused: 'jwt' }
    }
  }
  return async (token, client) => {
    await keys.refresh()
    return await remembered.recall(token, client, () => check(token, client))
  }
}

/** What is wrong with a token, in words of our own. */
class TokenRefused extends Error {}

/**
 * What is wrong with a token, without what it says: the messages of the library repeat parts of its header, which is
 * the caller's text.
 */
function describeFault(error: unknown): string {
  if (error instanceof TokenRefused) return error.message
  if (error instanceof errors.JWTExpired || error instanceof errors.JWTClaimValidationFailed)
    return `${error.code}: "${error.claim}" ${error.reason}`
  return error instanceof errors.JOSEError ? error.code : 'its key or its signature cannot be read'
}

/** @throws {TokenRefused} unless the token says whose it is */
function readPrincipal(claims: JWTPayload, eidClaim: string, keyedHash: KeyedHash): Principal {
  const { iss, sub, exp } = claims
  if (!isText(sub) || exp === undefined) throw new TokenRefused('"sub" claim must be a string')
  const client = [claims.client_id, claims.azp].find(isText)
  const subject = keyedHash(JSON.stringify([iss, sub]))
  return {
    // A hash, because it goes into logs and Redis, and a subject can be of any length and somebody's e-mail address.
    id: `jwt_${keyedHash(JSON.stringify([iss, sub, client ?? sub]))}`,
    client: client ?? `sub_${subject}`,
    // Its caller may name itself by the subject.
    ...(client === undefined && { alias: sub }),
    scopes: new Set(readTexts(claims.scope ?? claims.scp).flatMap((text) => text.split(' '))),
    eids: new Set(readTexts(claims[eidClaim])),
    expires: (exp + CLOCK_SKEW) * 1000,
  }
}

/**
 * A claim that is a string or a list of them. Some providers issue an identifier that consists of digits as a number:
 * it stands for its decimal text. Anything else is no organisation and no scope.
 */
function readTexts(claim: unknown): string[] {
  return (Array.isArray(claim) ? claim : [claim])
    .map((value: unknown) => (Number.isSafeInteger(value) ? String(value) : value))
    .filter(isText)
}

function isText(value: unknown): value is string {
  return typeof value === 'string' && value !== ''
}
