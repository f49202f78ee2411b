import type { Reader } from './database.ts'

/**
 * A secret of this service that its processes share, made when the tables were: the key of the hashes that stand for
 * subjects in logs.
 */
export async function readHashKey(reader: Reader): Promise<string> {
  const row = await reader.get<{ value: string }>(`select value from instance where name = 'hash-key'`)
  if (row === undefined) throw new Error('the table instance has no row hash-key')
  return row.value
}
