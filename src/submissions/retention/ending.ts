import type { Actor } from '../../api/access/principal.ts'
import type { Database } from '../../foundation/database/database.ts'
import { endRun } from '../runs/validation.ts'
import { type ActivityDetail, recordActivity } from '../submission/activity.ts'
import { deleteData } from '../submission/deletion.ts'
import type { SubmissionName, SubmissionWriter } from '../submission/lock.ts'
import { findActiveRun } from '../submission/runs.ts'
import { type SubmissionState, withSubmission } from '../submission/submission.ts'

/**
 * Cancels a submission. Its data becomes unreadable at once; a job deletes what takes long.
 *
 * @param record called before the change is stored; if it throws, nothing is changed
 */
export async function cancelSubmission(
  database: Database,
  { token, eid, actor }: SubmissionName & { actor: Actor },
  record: (token: string) => void = () => undefined,
): Promise<SubmissionState> {
  return await withSubmission(database, { token, eid }, async (writer, submission) => {
    if (submission.ended === 'Cancelled') return submission
    const active = await findActiveRun(writer, token)
    if (active !== undefined) await endRun(writer, active, 'Cancelled', 'The submission was cancelled.')
    const deleted = await deleteData(writer, token)
    const cancelled = await end(writer, submission, 'Cancelled', actor, { ...deleted })
    record(token)
    return cancelled
  })
}

/** Ends a submission, under its lock. */
export async function end(
  writer: SubmissionWriter,
  submission: SubmissionState,
  ended: 'Submitted' | 'Cancelled',
  actor: Actor,
  detail?: ActivityDetail,
): Promise<SubmissionState> {
  const { token } = submission
  const endedAt = Date.now()
  await writer.run('update submission set ended = $2, ended_at = $3 where token = $1', [
    token,
    ended,
    endedAt,
  ])
  await recordActivity(writer, {
    token,
    event: ended === 'Submitted' ? 'Submitted' : 'Deleted',
    actor,
    ...(detail && { detail }),
  })
  return { ...submission, ended, endedAt, status: ended }
}
