import { actorOf } from '../../api/access/principal.ts'
import { type Operation, operation } from '../../api/contract/contract.ts'
import { describeDocument } from '../../api/contract/describe.ts'
import { accepted } from '../../api/contract/results.ts'
import { forSubmission, REFUSALS } from '../authorize.ts'
import { SUBMISSION_PROBLEMS, TAG, TOKEN_PATH } from '../contract.ts'
import { EXAMPLE_RUN } from '../example.ts'
import type { SubmissionOptions } from '../options.ts'
import { renderRun } from '../render.ts'
import { ValidationRun } from '../schema.ts'
import { BASE, locate } from './contract.ts'
import { requestRun } from './validation.ts'

export function requestValidationRun({ database }: SubmissionOptions): Operation {
  return operation({
    name: 'request-run',
    id: 'requestValidationRun',
    summary: 'Request a validation run',
    description:
      'Queues a run of the current files. While a run is queued or in progress, returns that run instead. Location has the URL of its state; `Prefer: wait=30` delays that response until the run has ended.',
    tag: TAG,
    method: 'POST',
    path: BASE,
    access: forSubmission(database, 'submissions:write'),
    limit: 'submissions',
    request: { path: TOKEN_PATH },
    schemas: { ValidationRun },
    responses: {
      202: describeDocument(
        ValidationRun,
        'The run.',
        { ...EXAMPLE_RUN, status: 'Queued' },
        {
          location: { description: 'The URL of the run.', type: 'string' },
          'retry-after': { description: 'Whole seconds to wait.', type: 'integer' },
        },
      ),
    },
    problems: {
      ...SUBMISSION_PROBLEMS,
      'invalid-body': 'No records were uploaded.',
      'malformed-body': 'The request has a body.',
      ...REFUSALS,
      unavailable: 'Too many runs are queued, or the database does not respond.',
    },
  }).handle(async ({ authorized, principal }) => {
    const { token, eid, run: current } = authorized
    const { run } = await requestRun(database, { token, eid, actor: actorOf(principal) })
    return accepted(locate(run), 1, renderRun(run, current))
  })
}
