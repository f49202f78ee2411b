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
}

/** An invalid credential; the reason is only for the log. */
export interface Refused {
  readonly refused: Exclude<RefusalReason, 'scope' | 'submission' | 'suspended'>
  /** Its id and client, if the credential exists. */
  readonly id?: string
  readonly client?: string
}

/** Identifies the holder of a credential, unless it belongs to another client than the one that the caller names. */
export interface Verifier {
  /** The holder of a credential that is known to be valid, without any work. */
  recall(credential: string, client: string | undefined): Principal | undefined
  /** Whether a credential was valid as far as was last known: then it is no guess. */
  knows(credential: string, client: string | undefined): boolean
  verify(credential: string, client: string | undefined): Promise<Principal | Refused>
}

export function isRefused(verified: Principal | Refused): verified is Refused {
  return 'refused' in verified
}

/** Whether a credential belongs to the client that the caller names, if it names one. */
export function isClient(
  { client, alias }: Pick<Principal, 'client' | 'alias'>,
  named: string | undefined,
): boolean {
  return named === undefined || named === client || (alias !== undefined && named === alias)
}

/** Who changed something, for those who see the same data. Unlike the id, the name can be personal and is never logged. */
export interface Actor {
  /** The public id of the credential, or `service` or `command`. */
  readonly id: string
  readonly name: string
}

/** The service, such as one of its jobs or the demo. */
export const SERVICE: Actor = { id: 'service', name: 'Mahi' }

/** The operator, at the command line. */
export const COMMAND: Actor = { id: 'command', name: 'Operator' }

/** The longest name that is stored: identity providers limit theirs by far less. */
export const LONGEST_NAME = 200

/** The name that the identity provider gives, the subject of a token without a client, or the client. */
export function actorOf(principal: Principal | undefined): Actor {
  if (principal === undefined) return SERVICE
  const { id, name, alias, client } = principal
  const shown = (name ?? alias ?? client).replaceAll(/\p{C}+/gu, ' ').trim()
  return { id, name: (shown === '' ? client : shown).slice(0, LONGEST_NAME) }
}

/** Whether a principal is an API key: only their ids begin this way (see `keys.ts`). */
export const isKey = ({ id }: Pick<Principal, 'id'>): boolean => id.startsWith('mahi_')
