import type { Database, Writer } from '../database/database.ts'
import { bumpRevision } from '../database/revisions.ts'
import { createKey, type KeyDescription, listKeys } from './keys.ts'
import type { Scope } from './principal.ts'

/**
 * Creates a key with the client, scopes and organisations of another, and keeps both valid until the older one
 * expires.
 *
 * @param until when the older key expires, unless it expires sooner, in milliseconds since 1970
 * @returns `undefined` if the key does not exist or is no longer valid
 */
export async function rotateKey(
  database: Database,
  id: string,
  { until, expires, onWait }: { until: number; expires: number; onWait?: () => void },
): Promise<{ made: KeyDescription & { key: string }; old: KeyDescription } | undefined> {
  const old = (await listKeys(database)).find((key) => key.id === id)
  if (old === undefined || old.revoked !== null || old.expires <= Date.now()) return undefined
  const made = await createKey(database, {
    client: old.client,
    scopes: old.scopes as readonly Scope[],
    eids: old.eids,
    expires,
    ...(onWait && { onWait }),
  })
  const ends = Math.min(old.expires, until)
  await change(database, 'update api_key set expires = $2 where id = $1', [id, ends], onWait)
  return { made, old: { ...old, expires: ends } }
}

/** Changes the client name of a key; returns the key, or `undefined` if it does not exist. */
export async function renameKey(
  database: Database,
  id: string,
  client: string,
  onWait?: () => void,
): Promise<KeyDescription | undefined> {
  await change(database, 'update api_key set client = $2 where id = $1', [id, client], onWait)
  return (await listKeys(database)).find((key) => key.id === id)
}

/** Revokes, at once, those of the keys that are not yet revoked, and returns them. */
export async function revokeKeys(
  database: Database,
  ids: readonly string[],
  onWait?: () => void,
): Promise<KeyDescription[]> {
  const wanted = new Set(ids)
  const keys = (await listKeys(database)).filter(({ id, revoked }) => revoked === null && wanted.has(id))
  if (keys.length === 0) return []
  const revoke = async (writer: Writer) => {
    for (const { id } of keys)
      await writer.run('update api_key set revoked = coalesce(revoked, $2) where id = $1', [id, Date.now()])
    await bumpRevision(writer, 'keys')
  }
  await database.write('keys', revoke, onWait)
  return keys
}

async function change(
  database: Database,
  sql: string,
  parameters: readonly (string | number)[],
  onWait: (() => void) | undefined,
): Promise<void> {
  const work = async (writer: Writer) => {
    await writer.run(sql, parameters)
    await bumpRevision(writer, 'keys')
  }
  await database.write('keys', work, onWait)
}
