import type { Actor } from '../../api/access/principal.ts'
import { Problem } from '../../api/request/problems.ts'
import type { Database } from '../../foundation/database/database.ts'
import { formatTimestamp } from '../../foundation/text/timestamp.ts'
import { recordActivity } from '../submission/activity.ts'
import { lockSubmission, type SubmissionName } from '../submission/lock.ts'
import { cancelled, findOpen, findState, type SubmissionState } from '../submission/submission.ts'
import { markReopened } from './receipt.ts'

/** How long a reopened submission stays open unless the agency says so, in milliseconds. */
const OPEN = 7 * 86_400_000

export interface Reopen extends SubmissionName {
  readonly returnId: string
  readonly actor: Actor
  readonly reason: string
  /** Until when it can be changed, whether its return closes before or after that; by default seven days or until it closes, whichever is later. */
  readonly until: number | undefined
}

/**
 * Opens a submitted submission again. Its receipt and its activities remain.
 *
 * @throws {Problem} if it was not submitted, or the organisation has another open one for the return
 */
export async function reopen(
  database: Database,
  { token, eid, returnId, actor, reason, until: given }: Reopen,
): Promise<SubmissionState> {
  // As for a new submission: there is one open submission of a return at most.
  return await database.write(`return:${eid}/${returnId}`, async (transaction) => {
    const other = await findOpen(transaction, eid, returnId)
    const writer = await lockSubmission(transaction, token)
    const submission = await findState(writer, { token, eid })
    if (submission === undefined || submission.ended === 'Cancelled') throw cancelled()
    if (submission.ended !== 'Submitted') throw notSubmitted(submission)
    if (other !== undefined)
      throw new Problem(
        'conflict',
        'The organisation has another open submission for this return. It must delete that one before this one can be opened again, or submit that one, which then replaces this one.',
      )
    const time = Date.now()
    const until = given ?? Math.max(time + OPEN, submission.closes ?? 0)
    await writer.run(
      `update submission set ended = null, ended_at = null, reopened_until = $2, expires = $2
       where token = $1`,
      [token, until],
    )
    await markReopened(writer, token, { time, actor, reason })
    const detail = { reason, until: formatTimestamp(until) }
    await recordActivity(writer, { token, event: 'Reopened', actor, detail })
    const reopened = await findState(writer, { token, eid })
    if (reopened === undefined) throw new Error('the submission that was just opened is missing')
    return reopened
  })
}

/** What was not submitted can be changed, unless its return has closed. */
function notSubmitted({ closes, returnId }: SubmissionState): Problem {
  const isClosed = closes !== null && closes <= Date.now()
  const next = isClosed
    ? `so it cannot be opened again. To let its organisation continue, give return ${returnId} a later closing date (closes).`
    : 'so it need not be opened again.'
  return new Problem('conflict', `The submission is not submitted, ${next}`)
}
