import type { Database, Writer } from '../database/database.ts'
import { enqueue } from '../jobs/queue.ts'
import { readRun } from '../validation-results/runs.ts'
import { Refusal } from './refusal.ts'
import { assertOpen, reread, type SubmissionRow, writeAudit } from './submission.ts'
import { endRun, findActiveRun } from './validation.ts'

/**
 * Submits a submission whose current run covers its current files and found no errors. Afterwards, the submission no
 * longer changes.
 *
 * @throws {Refusal}
 */
export async function submit(
  database: Database,
  { token, eid, actor }: { token: string; eid: string; actor: string },
): Promise<SubmissionRow> {
  return await database.write(`submission:${token}`, async (writer) => {
    const submission = await reread(writer, { token, eid })
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
    await end(writer, submission, 'Submitted', actor)
    return await reread(writer, { token, eid })
  })
}

/** Cancels a submission. Its files and findings become unreadable at once, and a job deletes them. */
export async function cancelSubmission(
  database: Database,
  { token, eid, actor }: { token: string; eid: string; actor: string },
): Promise<SubmissionRow> {
  return await database.write(`submission:${token}`, async (writer) => {
    const submission = await reread(writer, { token, eid })
    if (submission.ended === 'Cancelled') return submission
    const active = await findActiveRun(writer, token)
    if (active !== undefined) await endRun(writer, active, 'Cancelled', 'The submission was cancelled.')
    await end(writer, submission, 'Cancelled', actor)
    await enqueue(writer, { kind: 'purge', subject: `submission/${token}`, eid })
    return await reread(writer, { token, eid })
  })
}

async function end(
  writer: Writer,
  { token, eid }: SubmissionRow,
  ended: 'Submitted' | 'Cancelled',
  actor: string,
): Promise<void> {
  await writer.run('update submission set ended = $2, ended_at = $3 where token = $1', [
    token,
    ended,
    Date.now(),
  ])
  const event = ended === 'Submitted' ? 'submitted' : 'cancelled'
  await writeAudit(writer, { event, eid, subject: token, actor })
}
