import { actorOf } from '../api/access/principal.ts'
import { type Operation, operation } from '../api/contract/contract.ts'
import { describeDocument } from '../api/contract/describe.ts'
import { document } from '../api/contract/results.ts'
import { forSubmission } from './authorize.ts'
import { SCHEMAS, SUBMISSION_PROBLEMS, TAG, TOKEN_PATH } from './contract.ts'
import { EXAMPLE_SUBMISSION } from './example.ts'
import type { SubmissionOptions } from './options.ts'
import { renderState } from './render.ts'
import { cancelSubmission } from './retention/ending.ts'
import { Submission } from './schema.ts'

export function deleteSubmission({
  database,
  definitions,
  recordErasure,
  sealer,
}: SubmissionOptions): Operation {
  return operation({
    name: 'delete-submission',
    id: 'deleteSubmission',
    summary: 'Delete a submission',
    description:
      'Cancels a submission and deletes all its records and findings. They are unreadable at once, and a job removes them from the database. The token remains known as Cancelled.',
    tag: TAG,
    method: 'DELETE',
    path: '/submissions/{submissionToken}',
    access: forSubmission(database, 'submissions:write'),
    limit: 'submissions',
    request: { path: TOKEN_PATH },
    schemas: SCHEMAS,
    responses: {
      200: describeDocument(Submission, 'The cancelled submission.', EXAMPLE_SUBMISSION),
    },
    problems: { ...SUBMISSION_PROBLEMS, 'malformed-body': 'The request has a body.' },
  }).handle(async ({ authorized, principal }) => {
    const actor = actorOf(principal)
    const submission = await cancelSubmission(database, { ...authorized, actor }, recordErasure)
    return document(renderState({ definitions, sealer }, submission))
  })
}
