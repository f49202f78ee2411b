import type { Actor } from '../../api/access/actor.ts'
import type { Database } from '../../foundation/database/database.ts'
import { enqueue } from '../../foundation/jobs/queue.ts'
import { recordActivity } from '../activity/activity.ts'
import type { SubmissionWriter } from '../findings/change-submission.ts'
import { readRun } from '../findings/runs.ts'
import { Refusal } from '../refusal.ts'
import { endRun, findActiveRun } from '../runs/validation.ts'
import { assertOpen, type SubmissionState, withSubmission, writeAudit } from '../submission.ts'

/**
 * Submits a submission whose current run covers its current files and found no errors. Afterwards, the submission no
 * longer changes.
 *
 * @throws {Refusal}
 */
export async function submit(
  database: Database,
  { token, eid, actor }: { token: string; eid: string; actor: Actor },
): Promise<SubmissionState> {
  return await withSubmission(database, { token, eid }, async (writer, submission) => {
    if (submission.ended === 'Submitted') return submission
    assertOpen(submission)
    if ((await findActiveRun(writer, token)) !== undefined)
      throw new Refusal('conflict', 'A validation run is in progress. Wait until it ends.')
    const run = await readRun(writer, submission.run)
    if (run === undefined)
      throw new Refusal('conflict', 'The submission has not been validated yet. Request a validation run.')
    if (run.revision !== submission.revision)
      throw new Refusal('conflict', 'The files were changed after the current run. Request a new one.')
    if (run.errors > 0)
      throw new Refusal(
        'conflict',
        `The current run found ${run.errors} errors. Correct them and validate again.`,
      )
    return await end(writer, submission, 'Submitted', actor)
  })
}

/**
 * Cancels a submission. Its files and findings become unreadable at once, and a job deletes them.
 *
 * @param record called before the change is stored; if it throws, nothing is changed
 */
export async function cancelSubmission(
  database: Database,
  { token, eid, actor }: { token: string; eid: string; actor: Actor },
  record: (token: string) => void = () => undefined,
): Promise<SubmissionState> {
  return await withSubmission(database, { token, eid }, async (writer, submission) => {
    if (submission.ended === 'Cancelled') return submission
    const active = await findActiveRun(writer, token)
    if (active !== undefined) await endRun(writer, active, 'Cancelled', 'The submission was cancelled.')
    await enqueue(writer, { kind: 'purge', subject: `submission/${token}`, eid })
    const cancelled = await end(writer, submission, 'Cancelled', actor)
    record(token)
    return cancelled
  })
}

async function end(
  writer: SubmissionWriter,
  submission: SubmissionState,
  ended: 'Submitted' | 'Cancelled',
  actor: Actor,
): Promise<SubmissionState> {
  const { token, eid } = submission
  const endedAt = Date.now()
  await writer.run('update submission set ended = $2, ended_at = $3 where token = $1', [
    token,
    ended,
    endedAt,
  ])
  const event = ended === 'Submitted' ? 'submitted' : 'cancelled'
  await writeAudit(writer, { event, eid, subject: token, actor: actor.id })
  await recordActivity(writer, { token, event: ended === 'Submitted' ? 'Submitted' : 'Deleted', actor })
  return { ...submission, ended, endedAt, status: ended }
}
