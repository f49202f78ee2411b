import { randomBytes } from 'node:crypto'
import type { Principal, Verify } from './principal.ts'

/** Starts every delegated credential; no key and no JWT starts like this. */
const PREFIX = 'delegated:'

/**
 * Credentials for requests that this process makes to itself on behalf of somebody who has signed in. Each is 256
 * random bits, valid for one request and known to this process only.
 */
export class Delegations {
  readonly #principals = new Map<string, Principal>()

  /** A credential that stands for the principal, once. */
  issue(principal: Principal): string {
    const credential = PREFIX + randomBytes(32).toString('base64url')
    this.#principals.set(credential, principal)
    return credential
  }

  /** Releases a credential, whether it was used or not. */
  release(credential: string): void {
    this.#principals.delete(credential)
  }

  /** A verifier that knows these credentials besides those of `others`. */
  verifying(others: Verify): Verify {
    return (credential, client) => {
      if (!credential.startsWith(PREFIX)) return others(credential, client)
      const principal = this.#principals.get(credential)
      this.#principals.delete(credential)
      return principal ?? others(credential, client)
    }
  }
}
