import type { Scope } from '../api/access/principal.ts'
import { type AccessRule, asOrganisation } from '../api/contract/access-rules.ts'
import type { ProblemSlug } from '../api/contract/problems.ts'
import type { Reader } from '../foundation/database/database.ts'
import { findOwn, type SubmissionRow } from './submission.ts'

/** A credential with a scope, of the organisation to which the submission in the path belongs. */
export function forSubmission(reader: Reader, scope: Scope): AccessRule<SubmissionRow> {
  return asOrganisation(scope, (eid, { submissionToken = '' }) => findOwn(reader, eid, submissionToken))
}

/** The problems of whatever changes a submission, for the declarations of operations. */
export const REFUSALS = {
  conflict: 'The submission is frozen or expired, or another change is in progress (errorCode `DS1`).',
  gone: 'The submission was cancelled, and its data was deleted.',
} as const satisfies Partial<Record<ProblemSlug, string>>
