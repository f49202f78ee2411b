import { DatabaseUnusable, type Reader } from './database.ts'

/** The row of `instance` that exists while another database is copied into this one. */
export const COPYING = 'copying'

/**
 * Returns the secret that the processes of this installation share, created with the tables. It keys the hashes that
 * replace subjects in logs.
 */
export async function readHashKey(reader: Reader): Promise<string> {
  const row = await reader.get<{ value: string }>(`select value from instance where name = 'hash-key'`)
  if (row === undefined) throw new Error('the table instance has no row hash-key')
  return row.value
}

/** @throws {DatabaseUnusable} if a copy into this database was interrupted and is incomplete */
export async function assertComplete(reader: Reader & { readonly address: string }): Promise<void> {
  const row = await reader.get(`select name from instance where name = '${COPYING}'`)
  if (row !== undefined)
    throw new DatabaseUnusable(`a copy into ${reader.address} is incomplete. Run "mahi copy" again first`)
}
