import type { Database, Writer } from '../../foundation/database/database.ts'
import { bumpRevision } from '../../foundation/database/revisions.ts'
import { type CreatedKey, type KeyDescription, listKeys, storeNewKey } from './keys.ts'
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
): Promise<{ made: CreatedKey; old: KeyDescription } | undefined> {
  const rotate = async (writer: Writer) => {
    const old = (await listKeys(writer)).find((key) => key.id === id)
    if (old === undefined || old.revoked !== null || old.expires <= Date.now()) return undefined
    const { client, eids } = old
    const made = await storeNewKey(writer, {
      client,
      scopes: old.scopes as readonly Scope[],
      eids,
      expires,
    })
    const ends = Math.min(old.expires, until)
    await writer.run('update api_key set expires = $2 where id = $1', [id, ends])
    return { made, old: { ...old, expires: ends } }
  }
  return await database.write('keys', rotate, onWait)
}

/** Changes the client name of a key; returns the key, or `undefined` if it does not exist. */
export async function renameKey(
  database: Database,
  id: string,
  client: string,
  onWait?: () => void,
): Promise<KeyDescription | undefined> {
  const rename = async (writer: Writer) => {
    await writer.run('update api_key set client = $2 where id = $1', [id, client])
    await bumpRevision(writer, 'keys')
    return (await listKeys(writer)).find((key) => key.id === id)
  }
  return await database.write('keys', rename, onWait)
}

/** Revokes, at once, those of the keys that are not yet revoked. Returns all that exist, as they were before. */
export async function revokeKeys(
  database: Database,
  ids: readonly string[],
  onWait?: () => void,
): Promise<KeyDescription[]> {
  const wanted = new Set(ids)
  const revoke = async (writer: Writer) => {
    const keys = (await listKeys(writer)).filter(({ id }) => wanted.has(id))
    const unrevoked = keys.filter(({ revoked }) => revoked === null)
    for (const { id } of unrevoked)
      await writer.run('update api_key set revoked = $2 where id = $1', [id, Date.now()])
    if (unrevoked.length > 0) await bumpRevision(writer, 'keys')
    return keys
  }
  return await database.write('keys', revoke, onWait)
}
