import { type KeyDescription, SESSION_LIFETIME } from './keys.ts'

/** Days before its expiry from which a key counts as expiring. */
export const EXPIRING_DAYS = 30

const DAY = 86_400_000

export interface ExpiringKey {
  readonly key: KeyDescription
  /** The key that can do the same for the same client, and is valid for longer, as one that `keys rotate` has made. */
  readonly successor?: KeyDescription
}

/** The keys that are valid at a time in milliseconds since 1970. */
export function listValid(keys: readonly KeyDescription[], now: number): KeyDescription[] {
  return keys.filter(({ revoked, expires }) => revoked === null && expires > now)
}

/** Those of all keys that expire soon after a time, first those that expire first; without the keys of sessions. */
export function listExpiring(keys: readonly KeyDescription[], now: number): ExpiringKey[] {
  const valid = listValid(keys, now)
  return valid
    .filter(
      ({ created, expires }) => expires <= now + EXPIRING_DAYS * DAY && expires - created > SESSION_LIFETIME,
    )
    .sort((one, other) => one.expires - other.expires)
    .map((key) => {
      const successor = valid.find((other) => canReplace(other, key))
      return successor === undefined ? { key } : { key, successor }
    })
}

/** How many expiring keys somebody must replace. */
export function countUnreplaced(keys: readonly KeyDescription[], now: number): number {
  return listExpiring(keys, now).filter(({ successor }) => successor === undefined).length
}

function canReplace(
  { client, created, expires, scopes, eids }: KeyDescription,
  old: KeyDescription,
): boolean {
  return (
    client === old.client &&
    created >= old.created &&
    expires > old.expires &&
    old.scopes.every((each) => scopes.includes(each)) &&
    old.eids.every((each) => eids.includes(each))
  )
}
