import type { Database } from '../../foundation/database/database.ts'
import { listKeys, type NewKey, storeNewKey } from './keys.ts'

/** A short-lived key that a command creates for itself, so that nobody ever sees it. */
export interface SessionKey extends Required<Omit<NewKey, 'expires'>> {
  /** How long a new key is valid, in milliseconds. */
  readonly lifetime: number
  /** How long an earlier one must still be valid. */
  readonly rest: number
}

/** The id of the key that an earlier call created for the same client, scopes and organisations, or else of a new one. */
export async function findSessionKey(database: Database, wanted: SessionKey): Promise<string> {
  const { client, scopes, eids, lifetime, rest } = wanted
  return await database.write('keys', async (writer) => {
    const now = Date.now()
    const found = (await listKeys(writer)).find(
      (key) =>
        key.client === client &&
        key.revoked === null &&
        key.expires > now + rest &&
        key.expires - key.created <= lifetime &&
        areSame(key.scopes, scopes) &&
        areSame(key.eids, eids),
    )
    return (found ?? (await storeNewKey(writer, { client, scopes, eids, expires: now + lifetime }))).id
  })
}

function areSame(some: readonly string[], others: readonly string[]): boolean {
  const all = new Set([...some, ...others])
  return all.size === new Set(some).size && all.size === new Set(others).size
}
