import { actorOf } from '../api/access/principal.ts'
import { type Operation, operation } from '../api/contract/contract.ts'
import { describeDocument } from '../api/contract/describe.ts'
import { document } from '../api/contract/results.ts'
import { forSubmission, REFUSALS } from './authorize.ts'
import { SCHEMAS, SUBMISSION_PROBLEMS, TAG, TOKEN_PATH } from './contract.ts'
import { EXAMPLE_SUBMISSION } from './example.ts'
import { EXAMPLE_RECEIPT, Receipt } from './explanations/receipt-schema.ts'
import { Actor, Explanation } from './explanations/schema.ts'
import { submit } from './explanations/submit.ts'
import type { SubmissionOptions } from './options.ts'
import { renderState } from './render.ts'
import { SubmittedSubmission } from './submitted.ts'

export function submitSubmission({ database, sealer, definitions }: SubmissionOptions): Operation {
  return operation({
    name: 'submit-submission',
    id: 'submitSubmission',
    summary: 'Submit a submission',
    description:
      'Freezes a submission, and returns its receipt. The current run must cover the current files, have made every check whose findings must be fixed or explained, and have found no errors. A check whose file or column is absent is not needed if the definition permits that. Warnings are allowed; those that the definition wants explained must have an explanation.',
    tag: TAG,
    method: 'POST',
    path: '/submissions/{submissionToken}/submit',
    access: forSubmission(database, 'submissions:write'),
    limit: 'submissions',
    request: { path: TOKEN_PATH },
    schemas: { ...SCHEMAS, Actor, Explanation, Receipt, SubmittedSubmission },
    responses: {
      200: describeDocument(SubmittedSubmission, 'The frozen submission.', {
        ...EXAMPLE_SUBMISSION,
        submissionStatus: 'Submitted',
        receipt: EXAMPLE_RECEIPT,
      }),
    },
    problems: {
      ...SUBMISSION_PROBLEMS,
      'malformed-body': 'The request has a body.',
      conflict:
        'The current run does not cover the current files, or found errors, or a check was stopped, or a warning needs an explanation.',
      gone: REFUSALS.gone,
    },
  }).handle(async ({ authorized, principal }) => {
    const actor = actorOf(principal)
    const { token, eid } = authorized
    const { submission, receipt } = await submit({ database, sealer, definitions }, { token, eid, actor })
    return document({
      ...renderState({ definitions, sealer }, submission),
      ...(receipt !== undefined && { receipt }),
    })
  })
}
