import type { MaybePromise } from '../pages/maybe-promise.ts'
import type { RefusalReason } from './audit.ts'

/** What a credential may be used for. */
export const SCOPES = ['occupations:read', 'validation-results:read', 'submissions:write', 'operate'] as const
export type Scope = (typeof SCOPES)[number]

/** The scopes of a key where none are named. They are listed, so that a scope added later is never granted silently. */
export const DEFAULT_SCOPES: readonly Scope[] = ['occupations:read', 'validation-results:read']

/** Who is asking, as a valid credential says. */
export interface Principal {
  /** Identifies the credential: limits are counted by it and logs name it. It is not secret. */
  readonly id: string
  /** The client that the credential was given to. */
  readonly client: string
  /** Another name that its caller may give in X-Client-ID. It can be a person's, and is in no log. */
  readonly alias?: string
  readonly scopes: ReadonlySet<string>
  /** The organisations that the credential may act for. */
  readonly eids: ReadonlySet<string>
  /** Milliseconds since 1970. */
  readonly expires: number
}

/** No valid credential. Why is for the log alone. */
export interface Refused {
  readonly refused: Exclude<RefusalReason, 'scope' | 'submission'>
  /** Its id and its client, if there is such a credential. */
  readonly id?: string
  readonly client?: string
}

/**
 * Tells who a bearer of a credential is, or that the credential is not valid, or was given to another client than the
 * one that the caller names.
 */
export type Verify = (credential: string, client?: string) => MaybePromise<Principal | Refused>

export function isRefused(verified: Principal | Refused): verified is Refused {
  return 'refused' in verified
}
