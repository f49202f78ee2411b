import { SERVICE } from '../../api/access/principal.ts'
import type { Database } from '../../foundation/database/database.ts'
import { type Job, release } from '../../foundation/jobs/queue.ts'
import { forgetOldJobs } from '../files/file-job.ts'
import { ARRIVAL_LEASE } from '../files/file-store.ts'
import { forgetActivity, recordActivity } from '../submission/activity.ts'
import { type DeletedCounts, deleteFiles, deleteOwners, deleteResults } from '../submission/deletion.ts'
import { changeSubmission, type SubmissionName, type SubmissionWriter } from '../submission/lock.ts'
import { noteSweep, readPause } from './pause.ts'
import { finishDeletions, type OnPurge } from './purge.ts'

const DAY = 24 * 60 * 60 * 1000

/** The interval between sweeps, in milliseconds. */
const INTERVAL = 60_000

/** Days for which data is kept after its last change; `off` keeps it until somebody deletes it. */
export interface Retention {
  readonly files: number | 'off'
  readonly results: number | 'off'
}

const KEEP: Retention = { files: 'off', results: 'off' }

/**
 * Deletes what nothing uses, data whose retention has expired, and what belonged to anything that was deleted.
 *
 * @returns the number of cancelled submissions of which nothing is left now
 */
export async function sweep(
  database: Database,
  retention: Retention = KEEP,
  onPurge: OnPurge = () => undefined,
): Promise<number> {
  await forgetOldJobs(database)
  await deleteUnused(database)
  await expireFiles(database, retention.files, onPurge)
  await expireResults(database, retention.results, onPurge)
  const purged = await finishDeletions(database, onPurge)
  await forgetCancelled(database, retention.results)
  return purged
}

/** Does the job of the sweep, and lets it come again. */
export async function sweepAgain(
  database: Database,
  job: Job,
  retention: Retention,
  onPurge: OnPurge,
  onPause: () => void,
): Promise<void> {
  if (await noteSweep(database)) onPause()
  await sweep(database, (await readPause(database)) === undefined ? retention : KEEP, onPurge)
  await database.write(`job:${job.worker}`, (writer) =>
    release(writer, job, { due: Date.now() + INTERVAL, countAttempt: false }),
  )
}

/**
 * Of the submission `$1`, or of all if it is null: versions `o` that are not current, cannot be restored, neither arrive
 * after the time `$2` nor wait until work with files in progress takes them, and belong to no such work and to no run in
 * progress.
 */
const UNUSED = `o.token = coalesce($1, o.token) and not (
  (o.stored = 0 and (o.received > $2
    or exists (select 1 from submission_job j where j.token = o.token and j.completed is null)))
  or exists (select 1 from submission_file f where f.token = o.token and o.version in (f.version, f.previous))
  or exists (select 1 from submission_job j where j.version = o.version)
  or exists (select 1 from submission_run r
    where r.token = o.token and r.completed is null and r.files like '%"' || o.version || '"%'))`

const deleteUnusedOf = (writer: SubmissionWriter, token: string) =>
  deleteOwners(writer, 'version', token, { condition: UNUSED, values: [Date.now() - ARRIVAL_LEASE] })

async function deleteUnused(database: Database): Promise<void> {
  const rows = await database.all<{ token: string }>(
    `select distinct o.token from file_version o where ${UNUSED} limit 1000`,
    [null, Date.now() - ARRIVAL_LEASE],
  )
  for (const { token } of rows)
    await changeSubmission(database, token, (writer) => deleteUnusedOf(writer, token))
}

/**
 * Deletes files long after their last change, and after their return has closed: the agency must be able to fetch what was
 * submitted. A run in progress still reads them; the next sweep looks again.
 */
async function expireFiles(database: Database, days: Retention['files'], onPurge: OnPurge): Promise<void> {
  const expired = `select s.token, s.eid from submission s join file_version v on v.token = s.token
       left join collected_return c on c.return_id = s.return_id
     where s.created is not null and s.token = coalesce($2, s.token)
       and not exists (select 1 from submission_run r where r.token = s.token and r.completed is null)
     group by s.token, s.eid, s.ended_at, s.reopened_until, c.closes
     having max(v.received) < $1 and coalesce(s.ended_at, 0) < $1 and coalesce(s.reopened_until, 0) < $1
       and coalesce(c.closes, 0) < $1
     limit 100`
  await expire(database, { expired, days, onPurge }, async (writer, token) => {
    // Without its files, a submission cannot be validated.
    await writer.run('update submission set revision = revision + 1 where token = $1', [token])
    const files = await deleteFiles(writer, token)
    await writer.run('delete from submission_job where token = $1', [token])
    await deleteUnusedOf(writer, token)
    return { files, findings: 0 }
  })
}

async function expireResults(
  database: Database,
  days: Retention['results'],
  onPurge: OnPurge,
): Promise<void> {
  const expired = `select s.token, s.eid from submission s join submission_run r on r.token = s.token
     where s.created is not null and s.token = coalesce($2, s.token)
     group by s.token, s.eid having max(coalesce(r.completed, r.received)) < $1 and min(coalesce(r.completed, 0)) > 0
     limit 100`
  await expire(database, { expired, days, onPurge }, async (writer, token) => ({
    files: 0,
    findings: await deleteResults(writer, token),
  }))
}

interface Expiry {
  /** Selects submissions that have not changed since `$1`: the one with the token `$2`, or all of them if it is null. */
  readonly expired: string
  readonly days: number | 'off'
  readonly onPurge: OnPurge
}

async function expire(
  database: Database,
  { expired, days, onPurge }: Expiry,
  remove: (writer: SubmissionWriter, token: string) => Promise<DeletedCounts>,
): Promise<void> {
  if (days === 'off') return
  const before = Date.now() - days * DAY
  const rows = await database.all<SubmissionName>(expired, [before, null])
  for (const { token, eid } of rows) {
    const counts = await changeSubmission(database, token, async (writer) => {
      if ((await writer.get(expired, [before, token])) === undefined) return undefined
      const detail = await remove(writer, token)
      await recordActivity(writer, { token, event: 'Expired', actor: SERVICE, detail: { ...detail } })
      return detail
    })
    if (counts !== undefined) onPurge({ eid, ...counts })
  }
}

/** Keeps the tokens of cancelled submissions for as long as their results would have been kept. */
async function forgetCancelled(database: Database, days: Retention['results']): Promise<void> {
  if (days === 'off') return
  const forgettable = `ended = 'Cancelled' and purged is not null and ended_at < $1`
  const before = Date.now() - days * DAY
  const rows = await database.all<{ token: string }>(
    `select token from submission where ${forgettable} limit 1000`,
    [before],
  )
  for (const { token } of rows) {
    await changeSubmission(database, token, async (writer) => {
      const deleted = await writer.run(`delete from submission where ${forgettable} and token = $2`, [
        before,
        token,
      ])
      if (deleted === 1) await forgetActivity(writer, token)
    })
  }
}
