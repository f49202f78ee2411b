import { hash } from 'node:crypto'
import type { MaybePromise } from '../../foundation/cache/maybe-promise.ts'
import { isRefused, type Principal, type Refused } from './principal.ts'

/** The most characters of cached principals: an evicted one is only verified again. */
const CAPACITY = 4_000_000

/** Characters counted for each principal besides its organisations, which a token may list in great number. */
const EACH = 400

/** Caches the principals of valid credentials until they expire or the cache is emptied. */
export class RememberedPrincipals {
  /** By the hash of the credential, so that no credential is kept in memory. */
  readonly #known = new Map<string, Principal>()
  #weight = 0
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
    if (expired) this.#delete(credentialHash)
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
    this.#weight = 0
  }

  #keep(credentialHash: string, principal: Principal): void {
    this.#delete(credentialHash)
    this.#known.set(credentialHash, principal)
    this.#weight += weigh(principal)
    for (const oldest of this.#known.keys()) {
      if (this.#weight <= CAPACITY) break
      this.#delete(oldest)
    }
  }

  #delete(credentialHash: string): void {
    const principal = this.#known.get(credentialHash)
    if (principal === undefined) return
    this.#known.delete(credentialHash)
    this.#weight -= weigh(principal)
  }
}

function weigh({ client, alias = '', eids }: Principal): number {
  let characters = EACH + client.length + alias.length
  for (const eid of eids) characters += EACH / 10 + eid.length
  return characters
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
