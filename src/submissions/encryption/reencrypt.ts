import type { Database, Reader } from '../../foundation/database/database.ts'
import type { Sealer, Sealing } from '../../foundation/database/seal.ts'
import { UserError } from '../../foundation/faults/user-error.ts'
import { listRecordOwners, reencryptRecords, SEALED_RECORDS } from '../explanations/store.ts'
import { discardIndex, outdateIndex } from '../files/file-index.ts'
import { chunkContext } from '../files/file-store.ts'
import { changeSubmission, type SubmissionWriter } from '../findings/change-submission.ts'
import { reencryptRuns } from './reencrypt-findings.ts'

export interface Reencrypted {
  /** The id of the key that encrypts everything now. */
  readonly key: string
  /** What was encrypted again. */
  readonly files: number
  readonly runs: number
  /** Files and runs that still use another key or none, such as an upload in progress. */
  readonly left: number
}

/**
 * Encrypts files and findings with the first key, in short transactions while they are used. An interrupted call can
 * be repeated: what was encrypted before is kept.
 *
 * @throws {UserError} if there is no key, or a key of the data is missing
 */
export async function reencrypt(database: Database, sealer: Sealer): Promise<Reencrypted> {
  const key = sealer.keyId
  if (key === null) throw new UserError('ENCRYPTION_KEYS has no key. Set it as for the service')
  const versions = await database.all<Version>(
    `select v.version, v.token from file_version v join submission s on s.token = v.token
     where v.stored = 1 and coalesce(v.sealed, '') <> $1 and coalesce(s.ended, '') <> 'Cancelled'`,
    [key],
  )
  for (const version of versions) await reencryptVersion(database, sealer, version)
  const runs = await reencryptRuns(database, sealer)
  for (const token of await listRecordOwners(database, key))
    await changeSubmission(database, token, (writer) => reencryptRecords(writer, token, sealer))
  // The old content is also overwritten.
  await database.scrub()
  const left = (await countByKey(database)).filter(({ id }) => id !== key)
  return { key, files: versions.length, runs, left: left.reduce((sum, { count }) => sum + count, 0) }
}

/** The number of files and runs by the key that encrypts them; `null` if some of their parts have none. */
export async function countByKey(reader: Reader): Promise<{ id: string | null; count: number }[]> {
  return await reader.all(
    `select id, count(*) as count from (
       select v.sealed as id, v.token from file_version v
       union all select nullif(sealed, ''), token from submission_run where status = 'Processed'
       union all select nullif(sealed, ''), token from submission s where published > 0
         and not exists (select 1 from submission_run r where r.run = s.run)
       union all ${SEALED_RECORDS}
     ) stored join submission s on s.token = stored.token where coalesce(s.ended, '') <> 'Cancelled'
     group by id order by id`,
  )
}

interface Version {
  readonly version: string
  readonly token: string
}

async function reencryptVersion(
  database: Database,
  sealer: Sealer,
  { version, token }: Version,
): Promise<void> {
  const sealing = sealer.begin()
  let ordinal = 0
  while (
    await changeSubmission(database, token, (writer) =>
      reencryptChunk(writer, sealer, sealing, version, ordinal),
    )
  )
    ordinal++
  await changeSubmission(database, token, async (writer) => {
    // Batches may have added chunks since.
    while (await reencryptChunk(writer, sealer, sealing, version, ordinal)) ordinal++
    // Another call may have done so, and batches may use the index that they have built since.
    const changed = await writer.run(
      `update file_version set sealed = $2 where version = $1 and coalesce(sealed, '') <> $2`,
      [version, sealer.keyId],
    )
    if (changed === 1) await outdateIndex(writer, version)
  })
  await discardIndex(database, token, version)
}

/** Returns `false` if the file has no such chunk. */
async function reencryptChunk(
  writer: SubmissionWriter,
  sealer: Sealer,
  sealing: Sealing,
  version: string,
  ordinal: number,
): Promise<boolean> {
  const row = await writer.get<{ data: Uint8Array }>(
    'select data from file_chunk where version = $1 and ordinal = $2',
    [version, ordinal],
  )
  if (row === undefined) return false
  if (sealer.isCurrent(row.data)) return true
  const context = chunkContext(version, ordinal)
  await writer.run('update file_chunk set data = $3 where version = $1 and ordinal = $2', [
    version,
    ordinal,
    sealing.seal(sealer.open(row.data, context), context),
  ])
  return true
}
