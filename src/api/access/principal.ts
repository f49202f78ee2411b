import type { MaybePromise } from '../../foundation/cache/maybe-promise.ts'
import type { RefusalReason } from './audit.ts'

/** The permissions of a credential. */
export const SCOPES = [
  'occupations:read',
  'validation-results:read',
  'submissions:write',
  'codings:confirm',
  'operate',
] as const
export type Scope = (typeof SCOPES)[number]

/** The default scopes of a key. They are listed, so that a scope added later is never granted by default. */
export const DEFAULT_SCOPES: readonly Scope[] = ['occupations:read', 'validation-results:read']

/** The identifier of an organisation. Callers send it as a header, and commas separate several. */
export const EID = /^[!-+\--~]{1,64}$/

/** The caller that a valid credential identifies. */
export interface Principal {
  /** Identifies the credential in rate limits and logs. It is not secret. */
  readonly id: string
  /** The client that holds the credential. */
  readonly client: string
  /** Another name that the caller may send as X-Client-ID. It can be personal and is never logged. */
  readonly alias?: string
  /** The name of the person, from the identity provider or the link of `mahi console`. It is personal and is never logged. */
  readonly name?: string
  readonly scopes: ReadonlySet<string>
  /** The organisations that the credential may act for. */
  readonly eids: ReadonlySet<string>
  /** Milliseconds since 1970. */
  readonly expires: number
  /**
   * Checks again that the request may still be made, right before it changes something: its credential can have ended
   * while its body arrived or it waited.
   *
   * @throws {Problem} `unauthorized`
   */
  readonly assertStillAllowed?: () => void
}

/** An invalid credential; the reason is only for the log. */
export interface Refused {
  readonly refused: Exclude<RefusalReason, 'scope' | 'submission' | 'suspended'>
  /** Its id and client, if the credential exists. */
  readonly id?: string
  readonly client?: string
}

/**
 * Identifies the holder of a credential, or refuses it because it is invalid or belongs to another client than the
 * one that the caller names.
 */
export type Verify = (credential: string, client?: string) => MaybePromise<Principal | Refused>

export function isRefused(verified: Principal | Refused): verified is Refused {
  return 'refused' in verified
}
