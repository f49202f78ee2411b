import * as openid from 'openid-client'
import type { KeyedHash } from '../api/access/jwt.ts'
import { SESSION_LIFETIME } from '../api/access/keys.ts'
import { DEFAULT_SCOPES, type Principal, SCOPES, type Scope } from '../api/access/principal.ts'
import { createBoundedFetch } from '../foundation/bounded-fetch.ts'

export interface OidcOptions {
  readonly issuer: string
  readonly clientId: string
  readonly clientSecret: string | undefined
  /** The URL of the service for browsers, such as `https://mahi.example.nz`. */
  readonly publicUrl: string
  /** The claim that lists the organisations. */
  readonly eidClaim: string
  readonly keyedHash: KeyedHash
}

/** Timeout of a request to the provider, in seconds. */
const TIMEOUT = 10
/** The longest response of the provider, in bytes: its documents, keys and tokens have some KB. */
const MOST_BYTES = 1024 * 1024

/** Data kept while the browser is at the identity provider. */
interface SigningIn {
  readonly verifier: string
  readonly state: string
  readonly nonce: string
  readonly to: string
}

/** Sign-in with an identity provider: the authorization code flow of OpenID Connect Core with PKCE (RFC 7636). */
export class Oidc {
  readonly #options: OidcOptions
  #configuration: Promise<openid.Configuration> | undefined

  constructor(options: OidcOptions) {
    this.#options = options
  }

  /** Returns the URL to redirect the browser to, and the content of the cookie to send back. */
  async begin(to: string): Promise<{ url: string; remember: string }> {
    const configuration = await this.#discover()
    const verifier = openid.randomPKCECodeVerifier()
    const signingIn: SigningIn = { verifier, state: openid.randomState(), nonce: openid.randomNonce(), to }
    const url = openid.buildAuthorizationUrl(configuration, {
      redirect_uri: this.#callback(),
      scope: 'openid profile',
      code_challenge: await openid.calculatePKCECodeChallenge(verifier),
      code_challenge_method: 'S256',
      state: signingIn.state,
      nonce: signingIn.nonce,
    })
    return { url: url.href, remember: Buffer.from(JSON.stringify(signingIn)).toString('base64url') }
  }

  /**
   * Identifies the user who has come back.
   *
   * @param target the path and query of the callback
   * @throws {Error} if the callback is invalid
   */
  async finish(target: string, remembered: string): Promise<{ principal: Principal; to: string }> {
    const signingIn = JSON.parse(Buffer.from(remembered, 'base64url').toString()) as SigningIn
    const configuration = await this.#discover()
    const tokens = await openid.authorizationCodeGrant(
      configuration,
      new URL(target, this.#options.publicUrl),
      {
        pkceCodeVerifier: signingIn.verifier,
        expectedState: signingIn.state,
        expectedNonce: signingIn.nonce,
      },
    )
    const claims = tokens.claims()
    if (claims === undefined) throw new Error('the identity provider sent no ID token')
    return { principal: this.#readClaims(claims), to: signingIn.to }
  }

  #readClaims(claims: openid.IDToken): Principal {
    const eids = claims[this.#options.eidClaim]
    const subject = this.#options.keyedHash(JSON.stringify([claims.iss, claims.sub]))
    return {
      // Hashes, because both are logged, and the subject and the name are personal.
      id: `oidc_${subject}`,
      client: `sub_${subject}`,
      alias: typeof claims.name === 'string' ? claims.name : 'signed in',
      scopes: new Set(readScopes(claims.mahi_scopes)),
      eids: new Set([eids ?? []].flat().map(String)),
      // The provider may end its own session earlier.
      expires: Date.now() + SESSION_LIFETIME,
    }
  }

  #callback(): string {
    return new URL('/console/signed-in', this.#options.publicUrl).href
  }

  /** Discovers the provider once, or again after a failure. */
  #discover(): Promise<openid.Configuration> {
    const { issuer, clientId, clientSecret } = this.#options
    const url = new URL(issuer)
    this.#configuration ??= openid
      .discovery(url, clientId, clientSecret, undefined, {
        timeout: TIMEOUT,
        [openid.customFetch]: createBoundedFetch(MOST_BYTES),
        execute: [
          // The ID token must be signed by a key that the provider publishes.
          openid.enableNonRepudiationChecks,
          // The setting allows http:// on this machine only.
          ...(url.protocol === 'http:' ? [openid.allowInsecureRequests] : []),
        ],
      })
      .catch((error: unknown) => {
        this.#configuration = undefined
        throw error
      })
    return this.#configuration
  }
}

/** The scopes of a user, from the claim `mahi_scopes`, a list or a string; without it, the two read scopes. */
function readScopes(claim: unknown): readonly Scope[] {
  if (claim === undefined) return DEFAULT_SCOPES
  const given = (Array.isArray(claim) ? claim : String(claim).split(' ')).map(String)
  return SCOPES.filter((scope) => given.includes(scope))
}
