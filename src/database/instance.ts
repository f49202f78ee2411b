import { DatabaseUnusable, type Reader } from './database.ts'

/** The row of `instance` that a database has while another one is being copied into it. */
export const COPYING = 'copying'

/**
 * A secret of this service that its processes share, made when the tables were: the key of the hashes that stand for
 * subjects in logs.
 */
export async function readHashKey(reader: Reader): Promise<string> {
  const row = await reader.get<{ value: string }>(`select value from instance where name = 'hash-key'`)
  if (row === undefined) throw new Error('the table instance has no row hash-key')
  return row.value
}

/** @throws {DatabaseUnusable} if a copy into this database was interrupted: what it holds is a part */
export async function assertComplete(reader: Reader & { readonly address: string }): Promise<void> {
  const row = await reader.get(`select name from instance where name = '${COPYING}'`)
  if (row !== undefined)
    throw new DatabaseUnusable(`a copy into ${reader.address} is incomplete. Run "mahi copy" again first`)
}
