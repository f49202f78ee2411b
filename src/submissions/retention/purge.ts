import { randomBytes } from 'node:crypto'
import { SERVICE } from '../../api/access/principal.ts'
import type { Database, Reader } from '../../foundation/database/database.ts'
import { claim, enqueue, finish, type Job } from '../../foundation/jobs/queue.ts'
import { endJob, JobLost } from '../../foundation/jobs/worker.ts'
import { recordActivity } from '../activity/activity.ts'
import { deleteRecordsOf } from '../explanations/store.ts'
import { ARRIVAL_LEASE, deleteVersion } from '../files/file-store.ts'
import { deleteRun } from '../findings/runs.ts'
import { changeSubmission, type SubmissionWriter } from '../lock.ts'
import { deleteCauses } from '../returns/causes.ts'

/** Rows deleted per transaction: few enough not to block others for long. */
export const CHUNKS = 4
export const ENTRIES = 5_000
export const BLOCKS = 500

/** Called after each purge with counts, never with data. */
export type OnPurge = (purged: { eid: string; files: number; findings: number }) => void

/** Deletes a file version, or all data of a cancelled submission, and overwrites the freed space. */
export async function purge(database: Database, job: Job, onPurge: OnPurge): Promise<void> {
  const [what = '', name = ''] = split(job.subject)
  if (what === 'version') {
    if (!(await purgeVersion(database, job, name))) return
  } else await purgeSubmission(database, job.eid, name, onPurge)
  await database.scrub()
  if (!(await endJob(database, job))) throw new JobLost()
}

function split(subject: string): [string, string] {
  const slash = subject.indexOf('/')
  return [subject.slice(0, slash), subject.slice(slash + 1)]
}

/** Returns `false` if the version is still needed; the job has then ended. */
async function purgeVersion(database: Database, job: Job, version: string): Promise<boolean> {
  const owner = await database.get<{ token: string }>('select token from file_version where version = $1', [
    version,
  ])
  if (owner === undefined) return true
  const needed = await changeSubmission(database, owner.token, async (writer) => {
    if (!(await isNeeded(writer, version))) return false
    // In this transaction: what makes the version superfluous adds a job, unless there is one.
    if (!(await finish(writer, job))) throw new JobLost()
    return true
  })
  if (needed) return false
  await deleteInParts(database, owner.token, version)
  return true
}

/** Whether a version `v` is current or can be restored, arrives after the time `$1`, or belongs to work with files. */
export const IN_USE = `(v.stored = 0 and v.received > $1)
  or exists (select 1 from submission_file f where f.token = v.token and v.version in (f.version, f.previous))
  or exists (select 1 from submission_job j where j.version = v.version)`

/** Whether a version is in use, or is needed by a run. */
async function isNeeded(reader: Reader, version: string): Promise<boolean> {
  const used = await reader.get(`select version from file_version v where version = $2 and (${IN_USE})`, [
    Date.now() - ARRIVAL_LEASE,
    version,
  ])
  if (used !== undefined) return true
  const runs = await reader.all<{ files: string }>(
    `select files from submission_run where completed is null
     and token = (select token from file_version where version = $1)`,
    [version],
  )
  return runs.some(({ files }) => files.includes(`"${version}"`))
}

/** Deletes a stored file in short transactions, which also need little room on a full disk. */
export async function deleteInParts(database: Database, token: string, version: string): Promise<void> {
  await deleteRepeatedly(
    database,
    token,
    `delete from file_chunk where version = $1 and ordinal in
       (select ordinal from file_chunk where version = $1 order by ordinal limit ${CHUNKS})`,
    version,
  )
  await deleteRepeatedly(
    database,
    token,
    `delete from file_record where version = $1 and local_id in
       (select local_id from file_record where version = $1 order by local_id limit ${ENTRIES})`,
    version,
  )
  await changeSubmission(database, token, (writer) => deleteVersion(writer, version))
}

/**
 * Repeats a statement that deletes a few rows of `$1`, each time in a transaction of its own, until none is left.
 * Returns the number of rows.
 */
export async function deleteRepeatedly(
  database: Database,
  token: string,
  sql: string,
  of: string | number,
): Promise<number> {
  let total = 0
  for (let deleted = 1; deleted > 0; total += deleted)
    deleted = await changeSubmission(database, token, (writer) => writer.run(sql, [of]))
  return total
}

/** Data of a submission that nothing refers to any more, so that it can be deleted in many short transactions. */
export interface Detached {
  readonly versions: readonly string[]
  readonly runs: readonly number[]
}

/** Takes the files away from a submission, and returns the versions to delete. */
export async function detachFiles(writer: SubmissionWriter, token: string): Promise<string[]> {
  for (const table of ['submission_file', 'submission_job'])
    await writer.run(`delete from ${table} where token = $1`, [token])
  const rows = await writer.all<{ version: string }>('select version from file_version where token = $1', [
    token,
  ])
  return rows.map(({ version }) => version)
}

/** Takes the results away from a submission, and returns the runs to delete. */
export async function detachRuns(writer: SubmissionWriter, token: string): Promise<number[]> {
  const rows = await writer.all<{ run: number }>('select run from submission_run where token = $1', [token])
  await deleteCauses(writer, token)
  await writer.run(
    'update submission set run = 0, total = 0, published = 0, sealed = null where token = $1',
    [token],
  )
  return rows.map(({ run }) => run)
}

async function purgeSubmission(
  database: Database,
  eid: string,
  token: string,
  onPurge: OnPurge,
): Promise<void> {
  const detached = await changeSubmission(database, token, async (writer) =>
    (await isCancelled(writer, token))
      ? { versions: await detachFiles(writer, token), runs: await detachRuns(writer, token) }
      : undefined,
  )
  if (detached === undefined) return
  const counts = await deleteDetached(database, token, detached)
  await changeSubmission(database, token, async (writer) => {
    const first = await writer.run('update submission set purged = $2 where token = $1 and purged is null', [
      token,
      Date.now(),
    ])
    if (first === 0) return
    await deleteRecordsOf(writer, token)
    await recordActivity(writer, { token, event: 'Purged', actor: SERVICE, detail: counts })
  })
  onPurge({ eid, ...counts })
}

async function isCancelled(reader: Reader, token: string): Promise<boolean> {
  const found = await reader.get(`select token from submission where token = $1 and ended = 'Cancelled'`, [
    token,
  ])
  return found !== undefined
}

/** Deletes files and findings permanently, in many short transactions, and counts them. */
export async function deleteDetached(
  database: Database,
  token: string,
  { versions, runs }: Detached,
): Promise<{ files: number; findings: number }> {
  for (const version of versions) await deleteInParts(database, token, version)
  let findings = 0
  for (const run of runs) {
    findings += await deleteBlocks(database, token, run)
    await changeSubmission(database, token, (writer) => deleteRun(writer, run))
  }
  return { files: versions.length, findings }
}

/** Returns the number of findings in the blocks. */
async function deleteBlocks(database: Database, token: string, run: number): Promise<number> {
  const counted = await database.get<{ total: number | null }>(
    'select total from submission_run where run = $1 and trimmed is null',
    [run],
  )
  await deleteRepeatedly(
    database,
    token,
    `delete from result_block where run = $1 and block in
       (select block from result_block where run = $1 order by block limit ${BLOCKS})`,
    run,
  )
  return counted?.total ?? 0
}

/** Schedules the purge of a cancelled submission, for example if its job was lost. */
export async function enqueuePurge(database: Database, eid: string, token: string): Promise<void> {
  await changeSubmission(database, token, (writer) =>
    enqueue(writer, { kind: 'purge', subject: `submission/${token}`, eid }),
  )
}

/** Runs all pending purges without a worker, and returns their number. */
export async function purgeNow(database: Database): Promise<number> {
  for (let count = 0; ; count++) {
    const job = await claim(database, randomBytes(9).toString('base64url'), ['purge'])
    if (job === undefined) return count
    await purge(database, job, () => undefined)
  }
}
