import { hash } from 'node:crypto'
import type { MaybePromise } from '../pages/maybe-promise.ts'
import { isRefused, type Principal, type Refused } from './principal.ts'

/** Most credentials remembered at once: a caller that is pushed out is only verified anew. */
const MOST = 10_000

/** The callers whose credentials were found valid, until they expire or all of them are forgotten. */
export class RememberedPrincipals {
  /** By the credential's hash, so that no credential is kept in memory. */
  readonly #known = new Map<string, Principal>()
  #generation = 0

  /**
   * The credential's principal: the remembered one, unless the caller names another client, or the one that `verify`
   * finds. So a wrong client is refused after the same work as a wrong credential.
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
    // What was revoked while it was being verified is not kept.
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

/** Whether a credential's client is the one that the caller names, where it names one. */
export function isClient(
  { client, alias }: Pick<Principal, 'client' | 'alias'>,
  named: string | undefined,
): boolean {
  return named === undefined || named === client || (alias !== undefined && named === alias)
}

/** SHA-256, in base64url: enough for credentials, which nobody can guess. */
export function hashCredential(credential: string): string {
  return hash('sha256', credential, 'base64url')
}
