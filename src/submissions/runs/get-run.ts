import { type Operation, operation } from '../../api/contract/contract.ts'
import { describeDocument } from '../../api/contract/describe.ts'
import { document } from '../../api/contract/results.ts'
import { forSubmission, REFUSALS } from '../authorize.ts'
import { SUBMISSION_PROBLEMS, TAG } from '../contract.ts'
import { EXAMPLE_RUN } from '../example.ts'
import { preferHeader, readWait, waitFor } from '../files/wait.ts'
import { findRun } from '../findings/runs.ts'
import type { SubmissionOptions } from '../options.ts'
import { renderRun } from '../render.ts'
import { ValidationRun } from '../schema.ts'
import { cancelled } from '../submission.ts'
import { BASE, RUN_PATH } from './contract.ts'

export function getValidationRun(options: SubmissionOptions): Operation {
  const { database } = options
  return operation({
    name: 'get-run',
    id: 'getValidationRun',
    summary: 'Get a validation run',
    description:
      'The state of a run. `Prefer: wait=30` delays the response until the run has ended, for at most that many seconds.',
    tag: TAG,
    method: 'GET',
    path: `${BASE}/{runId}`,
    access: forSubmission(database, 'validation-results:read'),
    limit: 'submissions',
    request: {
      path: RUN_PATH,
      header: preferHeader(0),
    },
    schemas: { ValidationRun },
    responses: { 200: describeDocument(ValidationRun, 'The run.', EXAMPLE_RUN) },
    problems: {
      ...SUBMISSION_PROBLEMS,
      'no-such-run': 'The submission has no such run, or it is no longer stored.',
      gone: REFUSALS.gone,
    },
  }).handle(async ({ authorized, path, header, request, refuse }) => {
    if (authorized.ended === 'Cancelled') throw cancelled()
    const wait = readWait(header.Prefer)
    const run = await waitFor(options, request, wait, () => findRun(database, authorized.token, path.runId))
    if (run === undefined) return refuse('no-such-run', 'The submission has no run with this ID.')
    const current = run.status === 'Processed' && run.run > authorized.run ? run.run : authorized.run
    return document(renderRun(run, current), wait === 0 ? {} : { 'preference-applied': `wait=${wait}` })
  })
}
