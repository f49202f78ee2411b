import { COMMON_PROBLEMS, NOT_COVERED } from '../api/contract/describe.ts'
import { Type } from '../foundation/schema/type.ts'
import { Submission, SubmissionFile, ValidationRun } from './schema.ts'

export const SCHEMAS = { Submission, SubmissionFile, ValidationRun }

export const TOKEN_PATH = Type.Object({
  submissionToken: Type.String({ description: 'The token of the submission.' }),
})

export const TAG = 'Submissions'

export const SUBMISSION_PROBLEMS = { ...COMMON_PROBLEMS, unauthorized: NOT_COVERED } as const

export function locate(token: string): string {
  return `/v1/submissions/${token}`
}

/** The most records of a batch, which clients read from `maxRecordPerBatch`. */
export const MAX_BATCH_RECORDS = 1_000
