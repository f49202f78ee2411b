import type { MaybePromise } from '../maybe-promise.ts'

/** What a credential may be used for. */
export const SCOPES = ['occupations:read', 'validation-results:read'] as const
export type Scope = (typeof SCOPES)[number]

/** Who is asking, as a valid credential says. */
export interface Principal {
  /** Identifies the credential: limits are counted by it and logs name it. It is not secret. */
  readonly id: string
  /** The client that the credential was given to. */
  readonly client: string
  readonly scopes: ReadonlySet<string>
  /** The organisations that the credential may act for. */
  readonly eids: ReadonlySet<string>
  /** Milliseconds since 1970. */
  readonly expires: number
}

/**
 * Tells who a bearer of a credential is, or `undefined` if the credential is not valid, or was given to another client
 * than the one that the caller names.
 */
export type Verify = (credential: string, client?: string) => MaybePromise<Principal | undefined>
