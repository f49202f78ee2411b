import { actorOf } from '../../api/access/principal.ts'
import type { Operation } from '../../api/contract/contract.ts'
import { describeDocument, RETRY } from '../../api/contract/describe.ts'
import { int32From1 } from '../../api/contract/fields.ts'
import { accepted, document } from '../../api/contract/results.ts'
import { Type } from '../../foundation/schema/type.ts'
import { PREFERENCE_APPLIED, preferHeader, readWait, stateWait, waitFor } from '../files/wait.ts'
import { ofSubmission, REFUSALS, TOKEN_PATH } from '../submission/contract.ts'
import { EXAMPLE_RUN } from '../submission/example.ts'
import type { SubmissionOptions } from '../submission/options.ts'
import { renderRun } from '../submission/render.ts'
import { findRun, listRuns } from '../submission/runs.ts'
import { ValidationRun, ValidationRunPage } from '../submission/schema.ts'
import { assertKept } from '../submission/submission.ts'
import { cancelRun, requestRun } from './validation.ts'

const BASE = '/submissions/{submissionToken}/validation-runs'
const RUN_PATH = Type.Object({
  ...TOKEN_PATH.properties,
  runId: int32From1('Number of the run within its submission.'),
})
const NO_RUN = 'The submission has no such run, or it is no longer stored.'

export function runOperations(options: SubmissionOptions): readonly Operation[] {
  const { database } = options
  const { reading, writing } = ofSubmission(database)
  return [
    writing({
      name: 'request-run',
      id: 'requestValidationRun',
      summary: 'Request a validation run',
      description:
        'Queues a run of the current files. While a run is queued or in progress, returns that run instead. Location has the URL of its state; `Prefer: wait=30` delays that response until the run has ended.',
      method: 'POST',
      path: BASE,
      request: { path: TOKEN_PATH },
      responses: {
        202: describeDocument(
          ValidationRun,
          'The run.',
          { ...EXAMPLE_RUN, status: 'Queued' },
          {
            location: { description: 'The URL of the run.', type: 'string' },
            ...RETRY,
          },
        ),
      },
      problems: {
        'invalid-body': 'No records were uploaded.',
        ...REFUSALS,
        unavailable: 'Too many runs are queued, or the database does not respond.',
      },
    }).handle(async ({ authorized: { token, eid, run: current }, principal }) => {
      const { run } = await requestRun(database, { token, eid, actor: actorOf(principal) })
      return accepted(`/v1/submissions/${token}/validation-runs/${run.number}`, 1, renderRun(run, current))
    }),
    reading({
      name: 'list-runs',
      id: 'listValidationRuns',
      summary: 'List validation runs',
      description: 'The stored runs of a submission, newest first.',
      method: 'GET',
      path: BASE,
      request: { path: TOKEN_PATH },
      responses: {
        200: describeDocument(ValidationRunPage, 'The runs.', {
          page: 1,
          pageSize: 1,
          results: [EXAMPLE_RUN],
          totalCount: 1,
        }),
      },
      problems: { gone: REFUSALS.gone },
    }).handle(async ({ authorized }) => {
      assertKept(authorized)
      const runs = await listRuns(database, authorized.token)
      const results = runs.map((run) => renderRun(run, authorized.run))
      return document({ page: 1, pageSize: results.length, results, totalCount: results.length })
    }),
    reading({
      name: 'get-run',
      id: 'getValidationRun',
      summary: 'Get a validation run',
      description:
        'The state of a run. `Prefer: wait=30` delays the response until the run has ended, for at most that many seconds.',
      method: 'GET',
      path: `${BASE}/{runId}`,
      request: { path: RUN_PATH, header: preferHeader(0) },
      responses: { 200: describeDocument(ValidationRun, 'The run.', EXAMPLE_RUN, PREFERENCE_APPLIED) },
      problems: { 'no-such-run': NO_RUN, gone: REFUSALS.gone },
    }).handle(async ({ authorized, path, header, request, refuse }) => {
      assertKept(authorized)
      const wait = readWait(header.Prefer)
      const run = await waitFor(options, request, wait, () => findRun(database, authorized.token, path.runId))
      if (run === undefined) return refuse('no-such-run', 'The submission has no run with this ID.')
      const current = run.status === 'Processed' && run.run > authorized.run ? run.run : authorized.run
      return document(renderRun(run, current), stateWait(wait))
    }),
    writing({
      name: 'cancel-run',
      id: 'cancelValidationRun',
      summary: 'Cancel a validation run',
      description: 'Cancels a run that is queued or in progress. A finished run does not change.',
      method: 'DELETE',
      path: `${BASE}/{runId}`,
      request: { path: RUN_PATH },
      responses: {
        200: describeDocument(ValidationRun, 'The run.', { ...EXAMPLE_RUN, status: 'Cancelled' }),
      },
      problems: { 'no-such-run': NO_RUN, gone: REFUSALS.gone },
    }).handle(async ({ authorized: { token, eid }, path, principal }) => {
      const { run, current } = await cancelRun(database, {
        token,
        eid,
        number: path.runId,
        actor: actorOf(principal),
      })
      return document(renderRun(run, current))
    }),
  ]
}
