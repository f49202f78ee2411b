import { createHmac } from 'node:crypto'
import type { FastifyBaseLogger } from 'fastify'
import { errors, type JWTPayload, jwtVerify } from 'jose'
import { LRUCache } from 'lru-cache'
import { Problem } from '../request/problems.ts'
import { IssuerKeys } from './issuer-keys.ts'
import { hashCredential } from './keys.ts'
import { isClient, isRefused, type Principal, type Refused, type Verifier } from './principal.ts'

/** The requirements that tokens must meet. */
export interface JwtOptions {
  /** The exact `iss` of the token. */
  readonly issuer: string
  /** The `aud` of the token, or one of them. */
  readonly audience: string
  /** The URL of the issuer's public keys (RFC 7517, section 5). */
  readonly jwksUrl: string
  /** The claim that names the organisations: a string or a list of strings. */
  readonly eidClaim: string
}

/**
 * A keyed hash, which replaces a text in logs and in Redis. Unlike a plain hash, it cannot be guessed by trying out
 * e-mail addresses.
 */
export type KeyedHash = (text: string) => string

/** @param key a secret shared by all processes of the service */
export function createKeyedHash(key: string): KeyedHash {
  return (text) => createHmac('sha256', key).update(text).digest('base64url')
}

/** Only public-key signatures: the published keys cannot be used to sign, and `none` is excluded. */
const ALGORITHMS = ['RS256', 'ES256', 'EdDSA']
/**
 * Other kinds of tokens, such as logout tokens, name their own type (RFC 8725, section 3.11); this one is from RFC
 * 9068.
 */
const ACCESS_TOKEN = /^(?:application\/)?(?:at\+)?jwt$/i
/** Tolerated clock difference to the issuer, in seconds. */
const CLOCK_SKEW = 60

/** The end of the last year that RFC 3339 can write, in milliseconds since 1970. */
const LATEST = Date.UTC(9999, 11, 31, 23, 59, 59, 999)

/**
 * Creates the verifier of an issuer's JSON Web Tokens (RFC 7519, checked as RFC 8725 recommends). A token is invalid
 * whether the fault is in the token, its key or the JWKS URL; the debug log has the reason.
 *
 * A valid token is cached until it expires, because verifying it again costs more than the rest of a request. If the
 * issuer withdraws its key, the token is refused within two minutes while the JWKS URL responds: the keys are fetched
 * every minute, and a change empties the cache.
 */
export function createJwtVerifier(
  { issuer, audience, jwksUrl, eidClaim }: JwtOptions,
  keyedHash: KeyedHash,
  log: Pick<FastifyBaseLogger, 'warn' | 'debug'>,
): Verifier {
  let known = cacheTokens()
  const keys = new IssuerKeys(
    jwksUrl,
    (message, reason) => log.warn({ reason }, message),
    () => {
      known = cacheTokens()
    },
  )
  const expected = {
    issuer,
    audience,
    algorithms: ALGORITHMS,
    requiredClaims: ['sub', 'exp'],
    clockTolerance: CLOCK_SKEW,
  }
  const check = async (token: string): Promise<Principal | Refused> => {
    try {
      const { payload, protectedHeader } = await jwtVerify(token, keys.find, expected)
      if (!ACCESS_TOKEN.test(protectedHeader.typ ?? 'JWT'))
        throw new TokenRefused('"typ" names no access token')
      return readPrincipal(payload, eidClaim, keyedHash)
    } catch (error) {
      if (error instanceof Problem) throw error
      log.debug({ reason: describeFault(error) }, 'a JWT is not valid')
      return { refused: 'jwt' }
    }
  }
  const find = (token: string, client: string | undefined): Principal | undefined => {
    const principal = known.get(hashCredential(token))
    if (principal === undefined || principal.expires <= Date.now()) return undefined
    return isClient(principal, client) ? principal : undefined
  }
  return {
    recall: (token, client) => (keys.areRecent() ? find(token, client) : undefined),
    knows: (token, client) => find(token, client) !== undefined,
    async verify(token, client) {
      await keys.refresh()
      // A token whose key is withdrawn meanwhile is cached in vain.
      const before = known
      const verified = await check(token)
      if (isRefused(verified)) return verified
      before.set(hashCredential(token), verified)
      const { id } = verified
      return isClient(verified, client) ? verified : { refused: 'client', id, client: verified.client }
    },
  }
}

/** The most characters of cached principals: an evicted one is only verified again. */
const CAPACITY = 4_000_000

/** Characters counted for each principal besides its organisations, which a token may list in great number. */
const EACH = 400

/** The holders of valid tokens, by the hash of the token, so that no credential is kept in memory. */
export function cacheTokens(): LRUCache<string, Principal> {
  return new LRUCache({ maxSize: CAPACITY, sizeCalculation: weigh })
}

function weigh({ client, alias = '', eids }: Principal): number {
  let characters = EACH + client.length + alias.length
  for (const eid of eids) characters += EACH / 10 + eid.length
  return characters
}

/** A fault of a token, in our own words. */
class TokenRefused extends Error {}

/**
 * Describes a token's fault without repeating its content: the library's messages quote its header, which the caller
 * chooses.
 */
function describeFault(error: unknown): string {
  if (error instanceof TokenRefused) return error.message
  if (error instanceof errors.JWTExpired || error instanceof errors.JWTClaimValidationFailed)
    return `${error.code}: "${error.claim}" ${error.reason}`
  return error instanceof errors.JOSEError ? error.code : 'its key or its signature cannot be read'
}

/** @throws {TokenRefused} unless the token identifies its subject */
function readPrincipal(claims: JWTPayload, eidClaim: string, keyedHash: KeyedHash): Principal {
  const { iss, sub, exp } = claims
  if (!isText(sub) || exp === undefined) throw new TokenRefused('"sub" claim must be a string')
  if ((exp + CLOCK_SKEW) * 1000 > LATEST) throw new TokenRefused('"exp" claim must be a date')
  const client = [claims.client_id, claims.azp].find(isText)
  const subject = keyedHash(JSON.stringify([iss, sub]))
  return {
    // A hash, because logs and Redis contain it, and a subject can be long or an e-mail address.
    id: `jwt_${keyedHash(JSON.stringify([iss, sub, client ?? sub]))}`,
    client: client ?? `sub_${subject}`,
    // The caller may send its subject as X-Client-ID.
    ...(client === undefined && { alias: sub }),
    ...(isText(claims.name) && { name: claims.name }),
    scopes: new Set(readTexts(claims.scope ?? claims.scp).flatMap((text) => text.split(' '))),
    eids: new Set(readTexts(claims[eidClaim])),
    expires: (exp + CLOCK_SKEW) * 1000,
  }
}

/**
 * A claim that is a string or a list of strings. Some providers issue numeric identifiers as numbers, which are read
 * as decimal text. All other values are ignored.
 */
function readTexts(claim: unknown): string[] {
  return (Array.isArray(claim) ? claim : [claim])
    .map((value: unknown) => (Number.isSafeInteger(value) ? String(value) : value))
    .filter(isText)
}

function isText(value: unknown): value is string {
  return typeof value === 'string' && value !== ''
}
