import { randomBytes } from 'node:crypto'
import type { KeyUse } from './keys.ts'
import { isKey, type Principal } from './principal.ts'

/** The prefix of delegated credentials; no key and no JWT starts with it. */
const PREFIX = 'delegated:'

/**
 * Credentials for requests that this process makes to itself on behalf of a signed-in user. Each has 256 random bits,
 * is valid for one request, and is known only to this process.
 */
export class Delegations {
  readonly #principals = new Map<string, Principal>()
  readonly #keyUse: Pick<KeyUse, 'mark'>

  constructor(keyUse: Pick<KeyUse, 'mark'>) {
    this.#keyUse = keyUse
  }

  /** Issues a credential that represents the principal once. */
  issue(principal: Principal): string {
    const credential = PREFIX + randomBytes(32).toString('base64url')
    this.#principals.set(credential, principal)
    if (isKey(principal)) this.#keyUse.mark(principal.id)
    return credential
  }

  /** Removes a credential, whether or not it was used. */
  release(credential: string): void {
    this.#principals.delete(credential)
  }

  /** The principal of a credential, which is then used. */
  take(credential: string): Principal | undefined {
    if (!credential.startsWith(PREFIX)) return undefined
    const principal = this.#principals.get(credential)
    this.#principals.delete(credential)
    return principal
  }
}
