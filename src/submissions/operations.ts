import type { Operation } from '../api/contract/contract.ts'
import { listSubmissionActivity } from './activity/list-activity.ts'
import { createNewSubmission } from './create-submission.ts'
import { deleteSubmission } from './delete-submission.ts'
import { explanationOperations } from './explanations/operations.ts'
import { getSubmissionReceipt, reopenSubmission } from './explanations/receipt-operations.ts'
import { getSubmission } from './get-submission.ts'
import { listOwnSubmissions } from './list-submissions.ts'
import type { SubmissionOptions } from './options.ts'
import { returnOperations } from './returns/operations.ts'
import { submitSubmission } from './submit-submission.ts'

export function submissionOperations(options: SubmissionOptions): readonly Operation[] {
  return [
    createNewSubmission(options),
    listOwnSubmissions(options),
    getSubmission(options),
    submitSubmission(options),
    deleteSubmission(options),
    listSubmissionActivity(options),
    ...explanationOperations(options),
    getSubmissionReceipt(options),
    reopenSubmission(options),
    ...returnOperations(options),
  ]
}
