import Type from 'typebox'
import { COMMON_PROBLEMS } from '../api/contract/describe.ts'
import { UNAUTHORIZED } from './authorize.ts'
import { Submission, SubmissionFile, ValidationRun } from './schema.ts'

export const SCHEMAS = { Submission, SubmissionFile, ValidationRun }

export const TOKEN_PATH = Type.Object({
  submissionToken: Type.String({ description: 'The token of the submission.' }),
})

export const TAG = 'Submissions'

export const SUBMISSION_PROBLEMS = { ...COMMON_PROBLEMS, unauthorized: UNAUTHORIZED } as const

export function locate(token: string): string {
  return `/v1/submissions/${token}`
}
