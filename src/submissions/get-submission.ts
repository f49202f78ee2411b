import { type Operation, operation } from '../api/contract/contract.ts'
import { describeDocument } from '../api/contract/describe.ts'
import { document } from '../api/contract/results.ts'
import { forSubmission } from './authorize.ts'
import { SCHEMAS, SUBMISSION_PROBLEMS, TAG, TOKEN_PATH } from './contract.ts'
import { EXAMPLE_SUBMISSION } from './example.ts'
import type { SubmissionOptions } from './options.ts'
import { renderState } from './render.ts'
import { Submission } from './schema.ts'
import { readState } from './submission.ts'

export function getSubmission({ database, definitions, sealer }: SubmissionOptions): Operation {
  return operation({
    name: 'get-submission',
    id: 'getSubmission',
    summary: 'Get a submission',
    description: 'The state of a submission, its files, and its last validation run.',
    tag: TAG,
    method: 'GET',
    path: '/submissions/{submissionToken}',
    access: forSubmission(database, 'validation-results:read'),
    limit: 'submissions',
    request: { path: TOKEN_PATH },
    schemas: SCHEMAS,
    responses: {
      200: describeDocument(Submission, 'The submission.', EXAMPLE_SUBMISSION),
    },
    problems: SUBMISSION_PROBLEMS,
  }).handle(async ({ authorized }) => {
    const state = await readState(database, authorized)
    return document(renderState({ definitions, sealer }, state))
  })
}
