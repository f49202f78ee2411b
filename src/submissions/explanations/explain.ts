import type { Actor } from '../../api/access/principal.ts'
import { Problem } from '../../api/request/problems.ts'
import type { Database } from '../../foundation/database/database.ts'
import type { Sealer } from '../../foundation/database/seal.ts'
import { recordActivity } from '../submission/activity.ts'
import type { SubmissionName } from '../submission/lock.ts'
import { type RunSummary, readFinished } from '../submission/runs.ts'
import { assertOpen, withSubmission } from '../submission/submission.ts'
import { type Explanation, findTarget } from './explanation.ts'
import { deleteExplanation, readExplanations, storeExplanation } from './store.ts'

/** The most explanations of a submission. */
const MOST = 500

interface Subject extends SubmissionName {
  readonly target: string
  readonly actor: Actor
}

/**
 * Explains the warnings with a code, or of a cause, of the current run, and returns what that run found.
 *
 * @throws {Problem}
 */
export async function explain(
  database: Database,
  sealer: Sealer,
  { token, eid, target, actor, ...given }: Subject & Pick<Explanation, 'reason' | 'text'>,
): Promise<{ explanation: Explanation; summary: RunSummary }> {
  return await withSubmission(database, { token, eid }, async (writer, submission) => {
    assertOpen(submission)
    const current = await readFinished(writer, submission.run, sealer)
    if (current === undefined)
      throw new Problem('conflict', 'The submission has not been validated yet. Request a validation run.')
    const found = findTarget(current.summary, target)
    if (found === undefined)
      throw new Problem('no-such-cause', 'The current run has no findings with this code or cause.')
    const { isError, ...about } = found
    if (isError)
      throw new Problem('conflict', 'These findings are errors. Only warnings can be explained; fix errors.')
    const known = await readExplanations(writer, token, sealer)
    const earlier = known.find((each) => each.target === target)
    if (known.length >= MOST && earlier === undefined)
      throw new Problem(
        'conflict',
        `The submission has ${MOST} explanations; explain codes instead of causes.`,
      )
    const explanation = { ...about, ...given, runId: current.run.number, actor, time: Date.now() }
    if (earlier !== undefined) await deleteExplanation(writer, token, earlier.id)
    await storeExplanation(writer, token, explanation, sealer)
    const detail = { codes: about.codes, reason: given.reason }
    await recordActivity(writer, { token, event: 'Explained', actor, detail })
    return { explanation, summary: current.summary }
  })
}

/**
 * Withdraws an explanation.
 *
 * @throws {Problem} also if there is none
 */
export async function withdraw(
  database: Database,
  sealer: Sealer,
  { token, eid, target, actor }: Subject,
): Promise<void> {
  await withSubmission(database, { token, eid }, async (writer, submission) => {
    assertOpen(submission)
    const known = (await readExplanations(writer, token, sealer)).find((each) => each.target === target)
    if (known === undefined)
      throw new Problem('no-explanation', 'The submission has no explanation of this code or cause.')
    await deleteExplanation(writer, token, known.id)
    const detail = { codes: known.codes }
    await recordActivity(writer, { token, event: 'ExplanationWithdrawn', actor, detail })
  })
}
