import { asOrganisation } from '../../api/contract/access-rules.ts'
import { operationsOf } from '../../api/contract/contract.ts'
import type { ProblemSlug } from '../../api/request/problems.ts'
import type { Reader } from '../../foundation/database/database.ts'
import { Type } from '../../foundation/schema/type.ts'
import { findOwn, type SubmissionRow } from './submission.ts'

export const TOKEN_PATH = Type.Object({
  submissionToken: Type.String({ description: 'The token of the submission.' }),
})

export const TAG = 'Submissions'

/** The problems of whatever changes a submission, for the declarations of operations. */
export const REFUSALS = {
  conflict: 'The submission is frozen or expired, or another change is in progress (errorCode `DS1`).',
  gone: 'The submission was cancelled, and its data was deleted.',
} as const satisfies Partial<Record<ProblemSlug, string>>

/**
 * Declares operations on what an organisation owns: those that read it, those that change it, and those that also show
 * the result of a change to a caller who may only change it.
 *
 * @param find what the path names, if the organisation owns it
 */
export function asOwner<Owned>(
  find: (eid: string, path: Readonly<Record<string, string>>) => Promise<Owned | undefined>,
) {
  const common = { tag: TAG, limit: 'submissions' } as const
  const [read, write] = ['validation-results:read', 'submissions:write'] as const
  return {
    reading: operationsOf<Owned>({ ...common, access: asOrganisation(read, find) }),
    writing: operationsOf<Owned>({ ...common, access: asOrganisation(write, find) }),
    following: operationsOf<Owned>({ ...common, access: asOrganisation(read, find, write) }),
  }
}

/** Declares operations on the submission in the path. */
export function ofSubmission(reader: Reader) {
  return asOwner<SubmissionRow>((eid, { submissionToken = '' }) => findOwn(reader, eid, submissionToken))
}

/** The most records of a batch, which clients read from `maxRecordPerBatch`. */
export const MAX_BATCH_RECORDS = 1_000

/** The most fields of a record in a batch, and of an NDJSON file that become columns: each record has all of those. */
export const MOST_FIELDS = 2_000
