import { randomBytes } from 'node:crypto'
import { SERVICE } from '../../api/access/principal.ts'
import type { Database, Reader } from '../../foundation/database/database.ts'
import { claim, finish, type Job } from '../../foundation/jobs/queue.ts'
import { JobLost } from '../../foundation/jobs/worker.ts'
import { recordActivity } from '../activity/activity.ts'
import { ARRIVAL_LEASE } from '../files/file-store.ts'
import { changeSubmission, type SubmissionName } from '../lock.ts'
import { deleteOwned, deleteOwners, findOwners, type Owners, requestPurge } from '../owned.ts'

/** Called after each purge of a submission with counts, never with data. */
export type OnPurge = (purged: { eid: string; files: number; findings: number }) => void

/**
 * Whether a version `v` is current or can be restored, arrives after the time `$1`, belongs to work with files, or is
 * needed by a run.
 */
const IN_USE = `(v.stored = 0 and v.received > $1)
  or exists (select 1 from submission_file f where f.token = v.token and v.version in (f.version, f.previous))
  or exists (select 1 from submission_job j where j.version = v.version)
  or exists (select 1 from submission_run r
    where r.token = v.token and r.completed is null and r.files like '%"' || v.version || '"%')`

/** The versions of files of a submission that nothing uses. */
export async function findUnused(reader: Reader, token: string): Promise<string[]> {
  const rows = await reader.all<{ version: string }>(
    `select v.version from file_version v where v.token = $2 and not (${IN_USE})`,
    [Date.now() - ARRIVAL_LEASE, token],
  )
  return rows.map(({ version }) => version)
}

/** Deletes all data of a cancelled submission, or the files that nothing uses, and overwrites the freed space. */
export async function purge(database: Database, job: Job, onPurge: OnPurge): Promise<void> {
  const token = job.subject
  let [files, findings] = [0, 0]
  for (;;) {
    const left = await changeSubmission(database, token, async (writer) => {
      const cancelled = await writer.get(
        `select token from submission where token = $1 and ended = 'Cancelled'`,
        [token],
      )
      const owners: Owners =
        cancelled === undefined
          ? { versions: await findUnused(writer, token), runs: [] }
          : await findOwners(writer, token)
      const rows = cancelled === undefined ? 0 : await deleteOwned(writer, 'token', token)
      if (rows + owners.versions.length + owners.runs.length > 0) return owners
      // In this transaction: what makes a version superfluous adds a job, unless there is one.
      if (!(await finish(writer, job))) throw new JobLost()
      const isPurged = await writer.run(
        `update submission set purged = $2, run = 0, total = 0, published = 0
         where token = $1 and ended = 'Cancelled' and purged is null`,
        [token, Date.now()],
      )
      if (isPurged === 1)
        await recordActivity(writer, { token, event: 'Purged', actor: SERVICE, detail: { files, findings } })
      return isPurged === 1
    })
    if (left === true) onPurge({ eid: job.eid, files, findings })
    if (typeof left === 'boolean') return
    const deleted = await deleteOwners(database, token, left)
    files += deleted.files
    findings += deleted.findings
    await database.scrub()
  }
}

/** Schedules the purges that are left, for example because their jobs were lost. */
export async function requestPurges(database: Database): Promise<void> {
  const left = await database.all<SubmissionName>(
    `select token, eid from submission where ended = 'Cancelled' and purged is null
     union select s.token, s.eid from file_version v join submission s on s.token = v.token
     where not (${IN_USE}) limit 1000`,
    [Date.now() - ARRIVAL_LEASE],
  )
  for (const each of left)
    await changeSubmission(database, each.token, (writer) => requestPurge(writer, each))
}

/** Runs all purges without a worker, and returns their number. */
export async function purgeNow(database: Database): Promise<number> {
  await requestPurges(database)
  for (let count = 0; ; count++) {
    const job = await claim(database, randomBytes(9).toString('base64url'), ['purge'])
    if (job === undefined) return count
    await purge(database, job, () => undefined)
  }
}
