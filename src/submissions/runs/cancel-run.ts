import { actorOf } from '../../api/access/principal.ts'
import { type Operation, operation } from '../../api/contract/contract.ts'
import { describeDocument } from '../../api/contract/describe.ts'
import { document } from '../../api/contract/results.ts'
import { forSubmission, REFUSALS } from '../authorize.ts'
import { SUBMISSION_PROBLEMS, TAG } from '../contract.ts'
import { EXAMPLE_RUN } from '../example.ts'
import type { SubmissionOptions } from '../options.ts'
import { renderRun } from '../render.ts'
import { ValidationRun } from '../schema.ts'
import { cancelled } from '../submission.ts'
import { BASE, RUN_PATH } from './contract.ts'
import { cancelRun } from './validation.ts'

export function cancelValidationRun({ database }: SubmissionOptions): Operation {
  return operation({
    name: 'cancel-run',
    id: 'cancelValidationRun',
    summary: 'Cancel a validation run',
    description: 'Cancels a run that is queued or in progress. A finished run does not change.',
    tag: TAG,
    method: 'DELETE',
    path: `${BASE}/{runId}`,
    access: forSubmission(database, 'submissions:write'),
    limit: 'submissions',
    request: { path: RUN_PATH },
    schemas: { ValidationRun },
    responses: {
      200: describeDocument(ValidationRun, 'The run.', { ...EXAMPLE_RUN, status: 'Cancelled' }),
    },
    problems: {
      ...SUBMISSION_PROBLEMS,
      'malformed-body': 'The request has a body.',
      'no-such-run': 'The submission has no such run, or it is no longer stored.',
      gone: REFUSALS.gone,
    },
  }).handle(async ({ authorized, path, principal }) => {
    if (authorized.ended === 'Cancelled') throw cancelled()
    const { token, eid } = authorized
    const { run, current } = await cancelRun(database, {
      token,
      eid,
      number: path.runId,
      actor: actorOf(principal),
    })
    return document(renderRun(run, current))
  })
}
