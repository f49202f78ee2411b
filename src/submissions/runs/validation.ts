import { type Actor, SERVICE } from '../../api/access/principal.ts'
import { Problem } from '../../api/request/problems.ts'
import type { Database } from '../../foundation/database/database.ts'
import { bumpRevision } from '../../foundation/database/revisions.ts'
import { cancelJob, enqueue } from '../../foundation/jobs/queue.ts'
import { assertAllRead, assertRoom } from '../files/file-job.ts'
import { recordActivity } from '../submission/activity.ts'
import type { SubmissionName, SubmissionWriter } from '../submission/lock.ts'
import { findActiveRun, findRun, forgetOldRuns, type Run, type RunFile, readRun } from '../submission/runs.ts'
import { assertKept, assertOpen, type FileState, withSubmission } from '../submission/submission.ts'
import { countEnding } from './run-counts.ts'

export interface RunRequest extends SubmissionName {
  readonly actor?: Actor
}

/**
 * Requests a run of the current files; returns the existing run while one is queued or in progress.
 *
 * @throws {Problem}
 */
export async function requestRun(
  database: Database,
  { token, eid, actor = SERVICE }: RunRequest,
): Promise<{ run: Run; created: boolean }> {
  return await withSubmission(database, { token, eid }, async (writer, submission) => {
    assertOpen(submission)
    await assertAllRead(writer, token)
    const active = await findActiveRun(writer, token)
    if (active !== undefined) return { run: active, created: false }
    const { files } = submission
    if (files.length === 0)
      throw new Problem('invalid-body', 'No records were uploaded. Upload a file first.')
    // One request at a time from here on, or several could take the last place of the queue.
    const { number: run } = await bumpRevision(writer, 'run')
    await assertRoom(writer, 'run', eid)
    await writer.run('update submission set runs = runs + 1 where token = $1', [token])
    await writer.run(
      `insert into submission_run
         (run, token, number, eid, status, received, revision, total, errors, warnings, definition, files)
       select $1, token, runs, eid, 'Queued', $2, revision, 0, 0, 0, definition, $3
       from submission where token = $4`,
      [run, Date.now(), JSON.stringify(files.map(toRunFile)), token],
    )
    await enqueue(writer, { kind: 'run', subject: String(run), eid })
    const requested = await readRun(writer, run)
    if (requested === undefined) throw new Error('the run that was just stored is missing')
    const detail = { runId: requested.number }
    await recordActivity(writer, { token, event: 'CheckRequested', actor, run, detail })
    return { run: requested, created: true }
  })
}

function toRunFile({ received: _received, sealed: _sealed, notes: _notes, ...file }: FileState): RunFile {
  return { ...file, sha256: file.batches === 0 ? file.sha256 : '' }
}

/**
 * Cancels a run that is queued or in progress; a finished one does not change. Also returns the number of the current
 * run.
 *
 * @throws {Problem}
 */
export async function cancelRun(
  database: Database,
  { token, eid, number, actor = SERVICE }: RunRequest & { number: number },
): Promise<{ run: Run; current: number }> {
  return await withSubmission(database, { token, eid }, async (writer, submission) => {
    assertKept(submission)
    const run = await findRun(writer, token, number)
    if (run === undefined) throw new Problem('no-such-run', 'The submission has no run with this ID.')
    if (run.completed === null) {
      await endRun(writer, run, 'Cancelled', 'The run was cancelled.')
      const detail = { runId: number }
      await recordActivity(writer, { token, event: 'CheckCancelled', actor, run: run.run, detail })
    }
    return { run: (await findRun(writer, token, number)) ?? run, current: submission.run }
  })
}

/** Ends a run without a result. Its worker finds the job gone, and stores nothing. */
export async function endRun(
  writer: SubmissionWriter,
  { run, token }: Run,
  status: 'Cancelled' | 'Halted' | 'UnknownError',
  reason: string,
): Promise<void> {
  await cancelJob(writer, 'run', String(run))
  const ended = await writer.run(
    `update submission_run set status = $2, reason = $3, completed = $4, progress = null
     where run = $1 and completed is null`,
    [run, status, reason, Date.now()],
  )
  await forgetOldRuns(writer, token)
  if (ended === 1) await countEnding(writer, run, status)
}
