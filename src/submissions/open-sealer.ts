import { type Database, DatabaseUnusable, type Reader } from '../foundation/database/database.ts'
import { keepValue, readValues } from '../foundation/database/instance.ts'
import { DecryptionFailed, Sealer, type SealKey } from '../foundation/database/seal.ts'
import { SEALED_RECORDS } from './explanations/store.ts'

/** The settings with the encryption keys. */
export interface KeySettings {
  readonly ENCRYPTION_KEYS?: readonly SealKey[]
}

/** The prefix of the rows of `instance` that hold the check value of a key. */
const CHECK = 'key-check/'

/**
 * Returns what encrypts and decrypts the data of a database, once it is known that the configured keys are those of the
 * database. Each key that has been used has a check value there.
 *
 * @throws {DatabaseUnusable} if a key is missing, or is not the one of this name
 */
export async function openSealer(database: Database, settings: KeySettings): Promise<Sealer> {
  const sealer = new Sealer(settings.ENCRYPTION_KEYS)
  const unchecked = await findUnchecked(database, sealer)
  if (unchecked.length === 0) return sealer
  const values = unchecked.map((id) => sealer.begin(id).sealText(id, CHECK + id))
  await database.write('keys', async (writer) => {
    for (const [index, id] of unchecked.entries()) await keepValue(writer, CHECK + id, values[index] ?? '')
  })
  // Another process with other keys may have been first.
  await findUnchecked(database, sealer)
  return sealer
}

/**
 * Checks the keys without writing, and returns the ids of those without a check value.
 *
 * @throws {DatabaseUnusable} as `openSealer` does
 */
export async function findUnchecked(reader: Reader, sealer: Sealer): Promise<string[]> {
  const checks = await readValues(reader, CHECK)
  const used = (await countByKey(reader)).flatMap(({ id }) => (id === null ? [] : [id]))
  // Check values of replaced keys stay; without data, any of them may be in use.
  const named = (used.length > 0 ? used : [...checks.keys()]).map((id) => `"${id}"`)
  if (named.length > 0 && sealer.keyId === null)
    throw new DatabaseUnusable(
      `the data is encrypted with ${named.length === 1 ? 'the key' : 'the keys'} ${named.join(' and ')}, and ENCRYPTION_KEYS is not set. Set it, or ENCRYPTION_KEYS_FILE, to the keys that the service has used`,
    )
  const missing = used.find((id) => !sealer.keyIds.includes(id))
  if (missing !== undefined)
    throw new DatabaseUnusable(
      `data is encrypted with the key "${missing}", which ENCRYPTION_KEYS does not have. Add it; a key that is not the first one only decrypts, and is needed until "mahi status" no longer names it`,
    )
  for (const id of sealer.keyIds) {
    const check = checks.get(id)
    if (check !== undefined && !opens(sealer, check, CHECK + id))
      throw new DatabaseUnusable(
        `the key "${id}" in ENCRYPTION_KEYS is not the key of this name with which the data is encrypted. Set the original key, or give a new key another name`,
      )
  }
  return sealer.keyIds.filter((id) => !checks.has(id))
}

function opens(sealer: Sealer, text: string, context: string): boolean {
  try {
    sealer.openText(text, context)
    return true
  } catch (error) {
    if (error instanceof DecryptionFailed) return false
    throw error
  }
}

/** The number of files, work with them, runs, explanations and receipts by the key that encrypts them; `null` for none. */
export async function countByKey(reader: Reader): Promise<{ id: string | null; count: number }[]> {
  return await reader.all(
    `select id, count(*) as count from (
       select v.sealed as id, v.token from file_version v
       union all select sealed, token from submission_run where status = 'Processed'
       union all select sealed, token from submission_job
       union all ${SEALED_RECORDS}
     ) stored join submission s on s.token = stored.token where coalesce(s.ended, '') <> 'Cancelled'
     group by id order by id`,
  )
}
