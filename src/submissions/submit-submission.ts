import { actorOf } from '../api/access/actor.ts'
import { type Operation, operation } from '../api/contract/contract.ts'
import { describeDocument } from '../api/contract/describe.ts'
import { document } from '../api/contract/results.ts'
import { REVISION_HEADER } from '../api/request/min-revision.ts'
import { forSubmission, REFUSALS, refusing } from './authorize.ts'
import { SCHEMAS, SUBMISSION_PROBLEMS, TAG, TOKEN_PATH } from './contract.ts'
import { EXAMPLE_SUBMISSION } from './example.ts'
import { revisionOf } from './findings/own.ts'
import type { SubmissionOptions } from './options.ts'
import { renderState } from './render.ts'
import { submit } from './retention/ending.ts'
import { Submission } from './schema.ts'

export function submitSubmission({ database, definitions, maxBatchRecords }: SubmissionOptions): Operation {
  return operation({
    name: 'submit-submission',
    id: 'submitSubmission',
    summary: 'Submit a submission',
    description:
      'Freezes a submission. The current run must cover the current files and have found no errors; warnings are allowed.',
    tag: TAG,
    method: 'POST',
    path: '/submissions/{submissionToken}/submit',
    access: forSubmission(database, 'submissions:write'),
    limit: 'submissions',
    request: { path: TOKEN_PATH },
    schemas: SCHEMAS,
    responses: {
      200: describeDocument(Submission, 'The frozen submission.', EXAMPLE_SUBMISSION, REVISION_HEADER),
    },
    problems: {
      ...SUBMISSION_PROBLEMS,
      'malformed-body': 'The request has a body.',
      conflict: 'The current run does not cover the current files, or found errors.',
      gone: REFUSALS.gone,
    },
  }).handle(async ({ authorized, principal }) => {
    const actor = actorOf(principal)
    const submission = await refusing(submit(database, { ...authorized, actor }))
    return document(
      renderState(definitions, submission, maxBatchRecords),
      revisionOf(submission, submission.lastRun),
    )
  })
}
