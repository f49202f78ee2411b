import { randomBytes } from 'node:crypto'
import type { Database, Reader } from '../database/database.ts'
import { claim, enqueue, type Job } from '../jobs/queue.ts'
import { endJob, JobLost } from '../jobs/worker.ts'
import { deleteVersion } from './file-store.ts'
import { writeAudit } from './submission.ts'

/** Rows deleted per transaction: few enough not to block others for long. */
const CHUNKS = 16
const ENTRIES = 5_000

/** Called after each purge with counts, never with data. */
export type OnPurge = (purged: { eid: string; files: number; findings: number }) => void

/** Deletes a file version, or all data of a submission, and overwrites the freed space. */
export async function purge(database: Database, job: Job, onPurge: OnPurge): Promise<void> {
  const [what = '', name = ''] = split(job.subject)
  if (what === 'version') await purgeVersion(database, name)
  else await purgeSubmission(database, job.eid, name, onPurge)
  await database.scrub()
  if (!(await endJob(database, job))) throw new JobLost()
}

function split(subject: string): [string, string] {
  const slash = subject.indexOf('/')
  return [subject.slice(0, slash), subject.slice(slash + 1)]
}

async function purgeVersion(database: Database, version: string): Promise<void> {
  const needed = await database.write(`job:${version}`, async (writer) => {
    // An upload that has paused for too long must not finish once its data is being deleted.
    await writer.run(
      'update submission_file set writer = null, writer_until = null where writer = $1 and writer_until <= $2',
      [version, Date.now()],
    )
    return await isNeeded(writer, version)
  })
  if (!needed) await deleteInParts(database, version)
}

/** Whether a version is current, is being uploaded, or is needed by a run. */
async function isNeeded(reader: Reader, version: string): Promise<boolean> {
  const used = await reader.get('select token from submission_file where version = $1 or writer = $1', [
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

async function deleteInParts(database: Database, version: string): Promise<void> {
  for (let deleted = 1; deleted > 0; ) {
    deleted = await database.write(`job:${version}`, (writer) =>
      writer.run(
        `delete from file_chunk where version = $1 and ordinal in
           (select ordinal from file_chunk where version = $1 order by ordinal limit ${CHUNKS})`,
        [version],
      ),
    )
  }
  await database.write(`job:${version}`, (writer) => deleteVersion(writer, version))
}

/** The parts of a submission to delete. */
export interface Extent {
  readonly files: boolean
  readonly findings: boolean
}

async function purgeSubmission(
  database: Database,
  eid: string,
  token: string,
  onPurge: OnPurge,
): Promise<void> {
  const counts = await deleteData(database, token, { files: true, findings: true })
  await database.write(`submission:${token}`, async (writer) => {
    await writer.run(
      'update submission set purged = $2, run = 0, total = 0, published = 0, sealed = null where token = $1',
      [token, Date.now()],
    )
    await writeAudit(writer, { event: 'purged', eid, subject: token, actor: 'job', detail: counts })
  })
  onPurge({ eid, ...counts })
}

/** Deletes files or findings of a submission, in many short transactions. */
export async function deleteData(
  database: Database,
  token: string,
  extent: Extent,
): Promise<{ files: number; findings: number }> {
  const files = extent.files ? await deleteFiles(database, token) : 0
  const findings = extent.findings ? await deleteRuns(database, token) : 0
  return { files, findings }
}

async function deleteFiles(database: Database, token: string): Promise<number> {
  const versions = await database.all<{ version: string }>(
    'select version from file_version where token = $1',
    [token],
  )
  await database.write(`job:${token}`, (writer) =>
    writer.run('delete from submission_file where token = $1', [token]),
  )
  for (const { version } of versions) await deleteInParts(database, version)
  return versions.length
}

async function deleteRuns(database: Database, token: string): Promise<number> {
  const runs = await database.all<{ run: number }>(
    `select run from submission_run where token = $1
     union select run from submission where token = $1`,
    [token],
  )
  let findings = 0
  for (const { run } of runs) {
    for (let deleted = 1; deleted > 0; findings += deleted) {
      deleted = await database.write(`job:${token}`, (writer) =>
        writer.run(
          `delete from result_entry where run = $1 and ordinal in
             (select ordinal from result_entry where run = $1 order by ordinal limit ${ENTRIES})`,
          [run],
        ),
      )
    }
    await database.write(`job:${token}`, async (writer) => {
      await writer.run('delete from result_posting where run = $1', [run])
      await writer.run('delete from submission_run where run = $1', [run])
    })
  }
  return findings
}

/** Schedules the purge of a cancelled submission, for example if its job was lost. */
export async function enqueuePurge(database: Database, eid: string, token: string): Promise<void> {
  await database.write(`submission:${token}`, (writer) =>
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
