import { DatabaseUnusable, type Reader, type Writer } from './database.ts'

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
  if ((await readCopied(reader)) !== undefined)
    throw new DatabaseUnusable(`a copy into ${reader.address} is incomplete. Run "mahi copy" again first`)
}

/** Identifies the database that is being copied into this one; `undefined` if none is. */
export async function readCopied(reader: Reader): Promise<string | undefined> {
  return (await reader.get<{ value: string }>(`select value from instance where name = '${COPYING}'`))?.value
}

/** @param source identifies the database that is copied into this one; `undefined` once it is complete */
export async function markCopying(writer: Writer, source: string | undefined): Promise<void> {
  await writer.run('delete from instance where name = $1', [COPYING])
  if (source !== undefined) {
    await writer.run('insert into instance (name, value) values ($1, $2)', [COPYING, source])
  }
}

/** Stores a value of this installation, unless one with this name is stored. */
export async function keepValue(writer: Writer, name: string, value: string): Promise<void> {
  await writer.run('insert into instance (name, value) values ($1, $2) on conflict (name) do nothing', [
    name,
    value,
  ])
}

/** The values of this installation whose names begin with a prefix, by the rest of the name. */
export async function readValues(reader: Reader, prefix: string): Promise<Map<string, string>> {
  const rows = await reader.all<{ name: string; value: string }>(
    'select name, value from instance where name like $1 order by name',
    [`${prefix}%`],
  )
  return new Map(rows.map(({ name, value }) => [name.slice(prefix.length), value]))
}
