import type { Principal } from './principal.ts'

/** Who changed something, for those who see the same data. Unlike the id, the name can be personal and is never logged. */
export interface Actor {
  /** The public id of the credential, or `service` or `command`. */
  readonly id: string
  readonly name: string
  /** See `Principal`. */
  readonly assertStillAllowed?: (() => void) | undefined
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
  const { id, name, alias, client, assertStillAllowed } = principal
  const shown = (name ?? alias ?? client).replaceAll(/\p{C}+/gu, ' ').trim()
  return { id, name: (shown === '' ? client : shown).slice(0, LONGEST_NAME), assertStillAllowed }
}
