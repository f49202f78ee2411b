import type { Scope } from '../api/access/principal.ts'
import { type AccessRule, asOrganisation } from '../api/contract/access-rules.ts'
import { operationsOf } from '../api/contract/contract.ts'
import type { ProblemSlug } from '../api/contract/problems.ts'
import type { Reader } from '../foundation/database/database.ts'
import { findOwn, type SubmissionRow } from './submission.ts'

/** A credential with a scope, of the organisation to which the submission in the path belongs. */
export function forSubmission(reader: Reader, scope: Scope): AccessRule<SubmissionRow> {
  return asOrganisation(scope, (eid, { submissionToken = '' }) => findOwn(reader, eid, submissionToken))
}

/** Declares operations on the submission in the path: those that read it, and those that change it. */
export function ofSubmission(
  reader: Reader,
  common: Omit<Parameters<typeof operationsOf<SubmissionRow>>[0], 'access'>,
) {
  const group = (scope: Scope) =>
    operationsOf<SubmissionRow>({ ...common, access: forSubmission(reader, scope) })
  return { reading: group('validation-results:read'), writing: group('submissions:write') }
}

/** The problems of whatever changes a submission, for the declarations of operations. */
export const REFUSALS = {
  conflict: 'The submission is frozen or expired, or another change is in progress (errorCode `DS1`).',
  gone: 'The submission was cancelled, and its data was deleted.',
} as const satisfies Partial<Record<ProblemSlug, string>>
