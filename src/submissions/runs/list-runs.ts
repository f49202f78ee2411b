import { type Operation, operation } from '../../api/contract/contract.ts'
import { describeDocument } from '../../api/contract/describe.ts'
import { document } from '../../api/contract/results.ts'
import { forSubmission, REFUSALS } from '../authorize.ts'
import { SUBMISSION_PROBLEMS, TAG, TOKEN_PATH } from '../contract.ts'
import { EXAMPLE_RUN } from '../example.ts'
import { listRuns } from '../findings/runs.ts'
import type { SubmissionOptions } from '../options.ts'
import { renderRun } from '../render.ts'
import { ValidationRun, ValidationRunPage } from '../schema.ts'
import { cancelled } from '../submission.ts'
import { BASE } from './contract.ts'

export function listValidationRuns({ database }: SubmissionOptions): Operation {
  return operation({
    name: 'list-runs',
    id: 'listValidationRuns',
    summary: 'List validation runs',
    description: 'The stored runs of a submission, newest first.',
    tag: TAG,
    method: 'GET',
    path: BASE,
    access: forSubmission(database, 'validation-results:read'),
    limit: 'submissions',
    request: { path: TOKEN_PATH },
    schemas: { ValidationRun, ValidationRunPage },
    responses: {
      200: describeDocument(ValidationRunPage, 'The runs.', {
        page: 1,
        pageSize: 1,
        results: [EXAMPLE_RUN],
        totalCount: 1,
      }),
    },
    problems: { ...SUBMISSION_PROBLEMS, gone: REFUSALS.gone },
  }).handle(async ({ authorized }) => {
    if (authorized.ended === 'Cancelled') throw cancelled()
    const runs = await listRuns(database, authorized.token)
    const results = runs.map((run) => renderRun(run, authorized.run))
    return document({ page: 1, pageSize: results.length, results, totalCount: results.length })
  })
}
