import type { Database } from '../database/database.ts'
import { enqueue, type Job, release } from '../jobs/queue.ts'
import { deleteData, enqueuePurge, type OnPurge } from './purge.ts'
import { writeAudit } from './submission.ts'

const DAY = 24 * 60 * 60 * 1000

/** The interval between checks for expired data, in milliseconds. */
const SWEEP_INTERVAL = 60_000

/** Days for which data is kept after its last change; `off` keeps it until somebody deletes it. */
export interface Retention {
  readonly files: number | 'off'
  readonly results: number | 'off'
}

/** Schedules the recurring sweep, which any worker can run. */
export async function scheduleRetention(database: Database): Promise<void> {
  const known = await database.get(`select id from job where kind = 'retention'`)
  if (known !== undefined) return
  await database.write('job:retention', (writer) =>
    enqueue(writer, { kind: 'retention', subject: 'sweep', eid: '' }),
  )
}

/** Deletes unfinished uploads, replaced files, and data whose retention has expired. */
export async function sweep(
  database: Database,
  job: Job,
  retention: Retention,
  onPurge: OnPurge,
): Promise<void> {
  await dropAbandoned(database)
  await resumePurges(database)
  await expireFiles(database, retention.files, onPurge)
  await expireResults(database, retention.results, onPurge)
  await forgetCancelled(database, retention.results)
  await database.write(`job:${job.worker}`, (writer) =>
    release(writer, job, { due: Date.now() + SWEEP_INTERVAL, countAttempt: false }),
  )
}

/** The purge checks again whether a version is needed. */
async function dropAbandoned(database: Database): Promise<void> {
  const versions = await database.all<{ version: string; eid: string }>(
    `select v.version, s.eid from file_version v join submission s on s.token = v.token
     where not exists (select 1 from submission_file f where f.token = v.token
       and (f.version = v.version or (f.writer = v.version and f.writer_until > $1)))
     limit 1000`,
    [Date.now()],
  )
  for (const { version, eid } of versions) {
    await database.write(`job:${version}`, (writer) =>
      enqueue(writer, { kind: 'purge', subject: `version/${version}`, eid }),
    )
  }
}

async function resumePurges(database: Database): Promise<void> {
  const left = await database.all<{ token: string; eid: string }>(
    `select token, eid from submission where ended = 'Cancelled' and purged is null limit 1000`,
  )
  for (const { token, eid } of left) await enqueuePurge(database, eid, token)
}

async function expireFiles(database: Database, days: Retention['files'], onPurge: OnPurge): Promise<void> {
  if (days === 'off') return
  const rows = await database.all<{ token: string; eid: string }>(
    `select s.token, s.eid from submission s join file_version v on v.token = s.token
     where s.created is not null
     group by s.token, s.eid, s.ended_at having max(v.received) < $1 and coalesce(s.ended_at, 0) < $1
     limit 100`,
    [Date.now() - days * DAY],
  )
  for (const { token, eid } of rows)
    await expire(database, { token, eid, files: true, findings: false }, onPurge)
}

async function expireResults(
  database: Database,
  days: Retention['results'],
  onPurge: OnPurge,
): Promise<void> {
  if (days === 'off') return
  const rows = await database.all<{ token: string; eid: string }>(
    `select s.token, s.eid from submission s join submission_run r on r.token = s.token
     where s.created is not null
     group by s.token, s.eid having max(coalesce(r.completed, r.received)) < $1 and min(coalesce(r.completed, 0)) > 0
     limit 100`,
    [Date.now() - days * DAY],
  )
  for (const { token, eid } of rows)
    await expire(database, { token, eid, files: false, findings: true }, onPurge)
}

async function expire(
  database: Database,
  { token, eid, files, findings }: { token: string; eid: string; files: boolean; findings: boolean },
  onPurge: OnPurge,
): Promise<void> {
  const counts = await deleteData(database, token, { files, findings })
  await database.write(`submission:${token}`, async (writer) => {
    // Without its findings, a submission has no current run; without its files, it cannot be validated.
    if (findings)
      await writer.run(
        'update submission set run = 0, total = 0, published = 0, sealed = null where token = $1',
        [token],
      )
    if (files) await writer.run('update submission set revision = revision + 1 where token = $1', [token])
    await writeAudit(writer, { event: 'expired', eid, subject: token, actor: 'job', detail: counts })
  })
  await database.scrub()
  onPurge({ eid, ...counts })
}

/** Keeps the tokens of cancelled submissions for as long as their results would have been kept. */
async function forgetCancelled(database: Database, days: Retention['results']): Promise<void> {
  if (days === 'off') return
  await database.write('job:retention', (writer) =>
    writer.run(`delete from submission where ended = 'Cancelled' and purged is not null and ended_at < $1`, [
      Date.now() - days * DAY,
    ]),
  )
}
