import { SERVICE } from '../../api/access/principal.ts'
import type { Database } from '../../foundation/database/database.ts'
import { type Job, release } from '../../foundation/jobs/queue.ts'
import { forgetActivity, recordActivity } from '../activity/activity.ts'
import { forgetOldJobs } from '../files/file-job.ts'
import { changeSubmission, type SubmissionName, type SubmissionWriter } from '../lock.ts'
import { deleteOwners, findOwners, type Owners } from '../owned.ts'
import { deleteCauses } from '../returns/causes.ts'
import { findUnused, type OnPurge, requestPurges } from './purge.ts'

const DAY = 24 * 60 * 60 * 1000

/** The interval between checks for expired data, in milliseconds. */
const SWEEP_INTERVAL = 60_000

/** Days for which data is kept after its last change; `off` keeps it until somebody deletes it. */
export interface Retention {
  readonly files: number | 'off'
  readonly results: number | 'off'
}

/** Deletes unfinished uploads, replaced files, and data whose retention has expired. */
export async function sweep(
  database: Database,
  job: Job,
  retention: Retention,
  onPurge: OnPurge,
): Promise<void> {
  await forgetOldJobs(database)
  await requestPurges(database)
  await expireFiles(database, retention.files, onPurge)
  await expireResults(database, retention.results, onPurge)
  await forgetCancelled(database, retention.results)
  await database.write(`job:${job.worker}`, (writer) =>
    release(writer, job, { due: Date.now() + SWEEP_INTERVAL, countAttempt: false }),
  )
}

/**
 * Deletes files long after their last change. A run in progress still reads them; the next sweep looks again.
 */
async function expireFiles(database: Database, days: Retention['files'], onPurge: OnPurge): Promise<void> {
  if (days === 'off') return
  const expired = `select s.token, s.eid from submission s join file_version v on v.token = s.token
     where s.created is not null and s.token = coalesce($2, s.token)
       and not exists (select 1 from submission_run r where r.token = s.token and r.completed is null)
     group by s.token, s.eid, s.ended_at, s.reopened_until
     having max(v.received) < $1 and coalesce(s.ended_at, 0) < $1 and coalesce(s.reopened_until, 0) < $1
     limit 100`
  await expire(database, { expired, days, onPurge }, async (writer, token) => {
    // Without its files, a submission cannot be validated.
    await writer.run('update submission set revision = revision + 1 where token = $1', [token])
    for (const table of ['submission_file', 'submission_job'])
      await writer.run(`delete from ${table} where token = $1`, [token])
    return { versions: await findUnused(writer, token), runs: [] }
  })
}

async function expireResults(
  database: Database,
  days: Retention['results'],
  onPurge: OnPurge,
): Promise<void> {
  if (days === 'off') return
  const expired = `select s.token, s.eid from submission s join submission_run r on r.token = s.token
     where s.created is not null and s.token = coalesce($2, s.token)
     group by s.token, s.eid having max(coalesce(r.completed, r.received)) < $1 and min(coalesce(r.completed, 0)) > 0
     limit 100`
  await expire(database, { expired, days, onPurge }, async (writer, token) => {
    await deleteCauses(writer, token)
    // Without its findings, a submission has no current run.
    await writer.run('update submission set run = 0, total = 0, published = 0 where token = $1', [token])
    return { ...(await findOwners(writer, token)), versions: [] }
  })
}

interface Expiry {
  /** Selects submissions that have not changed since `$1`: the one with the token `$2`, or all of them if it is null. */
  readonly expired: string
  readonly days: number
  readonly onPurge: OnPurge
}

async function expire(
  database: Database,
  { expired, days, onPurge }: Expiry,
  detach: (writer: SubmissionWriter, token: string) => Promise<Owners>,
): Promise<void> {
  const before = Date.now() - days * DAY
  const rows = await database.all<SubmissionName>(expired, [before, null])
  for (const { token, eid } of rows) {
    const detached = await changeSubmission(database, token, async (writer) =>
      (await writer.get(expired, [before, token])) === undefined ? undefined : await detach(writer, token),
    )
    if (detached === undefined) continue
    const counts = await deleteOwners(database, token, detached)
    await changeSubmission(database, token, async (writer) => {
      await recordActivity(writer, { token, event: 'Expired', actor: SERVICE, detail: counts })
    })
    await database.scrub()
    onPurge({ eid, ...counts })
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
