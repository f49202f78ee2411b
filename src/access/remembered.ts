import { hash } from 'node:crypto'
import type { MaybePromise } from '../pages/maybe-promise.ts'
import { isRefused, type Principal, type Refused } from './principal.ts'

/** The most cached credentials: an evicted one is only verified again. */
const MOST = 10_000

/** Caches the principals of valid credentials until they expire or the cache is emptied. */
export class RememberedPrincipals {
  /** By the hash of the credential, so that no credential is kept in memory. */
  readonly #known = new Map<string, Principal>()
  #generation = 0

  /**
   * Returns the cached principal of a credential, unless the caller names another client, otherwise the result of
   * `verify`. A wrong client is therefore refused after the same work as an invalid credential.
   */
  recall(
    credential: string,
    client: string | undefined,
    verify: (credentialHash: string) => Promise<Principal | Refused>,
  ): MaybePromise<Principal | Refused> {
    const credentialHash = hashCredential(credential)
    const known = this.#known.get(credentialHash)
    const expired = known !== undefined && known.expires <= Date.now()
    if (expired) this.#known.delete(credentialHash)
    else if (known !== undefined && isClient(known, client)) return known
    return this.#verify(credentialHash, verify)
  }

  async #verify(
    credentialHash: string,
    verify: (credentialHash: string) => Promise<Principal | Refused>,
  ): Promise<Principal | Refused> {
    const generation = this.#generation
    const verified = await verify(credentialHash)
    // A credential that was revoked during verification is not cached.
    if (!isRefused(verified) && generation === this.#generation) this.#keep(credentialHash, verified)
    return verified
  }

  /** Called when a credential may have been revoked. */
  forget(): void {
    this.#generation++
    this.#known.clear()
  }

  #keep(credentialHash: string, principal: Principal): void {
    const [oldest] = this.#known.keys()
    if (this.#known.size >= MOST && oldest !== undefined) this.#known.delete(oldest)
    this.#known.set(credentialHash, principal)
  }
}

/** Whether a credential belongs to the client that the caller names, if it names one. */
export function isClient(
  { client, alias }: Pick<Principal, 'client' | 'alias'>,
  named: string | undefined,
): boolean {
  return named === undefined || named === client || (alias !== undefined && named === alias)
}

/** SHA-256 in base64url: enough for credentials, which cannot be guessed. */
export function hashCredential(credential: string): string {
  return hash('sha256', credential, 'base64url')
}
