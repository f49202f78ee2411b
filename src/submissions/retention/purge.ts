import { SERVICE } from '../../api/access/principal.ts'
import type { Database } from '../../foundation/database/database.ts'
import type { Job } from '../../foundation/jobs/queue.ts'
import { endJob } from '../../foundation/jobs/worker.ts'
import { recordActivity } from '../submission/activity.ts'
import { type DeletedCounts, type Deletion, deleteOwned, listDeletions } from '../submission/deletion.ts'
import { changeSubmission } from '../submission/lock.ts'

/** Called, never with data, once nothing is left of a cancelled submission, and with counts when data has expired. */
export type OnPurge = (purged: { eid: string } & Partial<DeletedCounts>) => void

/** Does the job that deletions leave. */
export async function purge(database: Database, job: Job, onPurge: OnPurge): Promise<void> {
  await finishDeletions(database, onPurge)
  await endJob(database, job)
}

/**
 * Deletes what belonged to deleted owners, and overwrites the freed space.
 *
 * @returns how many of the owners were cancelled submissions
 */
export async function finishDeletions(
  database: Database,
  onPurge: OnPurge = () => undefined,
): Promise<number> {
  for (let purged = 0; ; ) {
    const deletions = await listDeletions(database)
    if (deletions.length === 0) return purged
    for (const deletion of deletions) await deleteOwned(database, deletion)
    await database.scrub()
    // Only now: a process that is killed before leaves them to the next sweep.
    for (const deletion of deletions) if (await finishDeletion(database, deletion, onPurge)) purged++
  }
}

/** SQLite gives the numbers of rows that were deleted again. */
const FINISH = 'delete from deletion where id = $1 and owner = $2 and name = $3'

/** Returns whether it was the deletion of a submission, and no other sweep has finished it. */
async function finishDeletion(
  database: Database,
  { id, owner, name }: Deletion,
  onPurge: OnPurge,
): Promise<boolean> {
  const eid = await changeSubmission(database, owner === 'token' ? name : '', async (writer) => {
    const finished = await writer.run(FINISH, [id, owner, name])
    if (finished === 0 || owner !== 'token') return undefined
    const purged = await writer.get<{ eid: string }>(
      'update submission set purged = $2 where token = $1 and purged is null returning eid',
      [name, Date.now()],
    )
    if (purged !== undefined) await recordActivity(writer, { token: name, event: 'Purged', actor: SERVICE })
    return purged?.eid
  })
  if (eid !== undefined) onPurge({ eid })
  return eid !== undefined
}
