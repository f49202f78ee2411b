import type { Scope } from '../api/access/principal.ts'
import { type AccessRule, asOrganisation } from '../api/contract/access-rules.ts'
import { Problem, type ProblemSlug } from '../api/contract/problems.ts'
import type { Reader } from '../foundation/database/database.ts'
import { Refusal, type RefusalKind } from './refusal.ts'
import { findOwn, type SubmissionRow } from './submission.ts'

/** A credential with a scope, of the organisation to which the submission in the path belongs. */
export function forSubmission(reader: Reader, scope: Scope): AccessRule<SubmissionRow> {
  return asOrganisation(scope, (eid, { submissionToken = '' }) => findOwn(reader, eid, submissionToken))
}

const SLUGS: Readonly<Record<RefusalKind, ProblemSlug>> = {
  invalid: 'invalid-body',
  unsupported: 'unsupported-media-type',
  'too-large': 'content-too-large',
  precondition: 'precondition-failed',
  conflict: 'conflict',
  gone: 'gone',
  'not-found': 'not-found',
  'too-many': 'too-many-requests',
  busy: 'unavailable',
}

/** The problems that a `Refusal` can become, for the declarations of operations. */
export const REFUSALS = {
  conflict: 'The submission is frozen or expired, or another change is in progress (errorCode `DS1`).',
  gone: 'The submission was cancelled, and its data was deleted.',
} as const satisfies Partial<Record<ProblemSlug, string>>

/** The kinds with which uploads are refused before they have been read completely. */
const ENDING: ReadonlySet<RefusalKind> = new Set(['too-large', 'unsupported', 'invalid', 'too-many', 'busy'])

/** Converts a `Refusal` to its problem. */
export async function refusing<T>(work: Promise<T>): Promise<T> {
  try {
    return await work
  } catch (error) {
    throw error instanceof Refusal ? toProblem(error) : error
  }
}

export function toProblem(refusal: Refusal): Problem {
  const { kind, message, errorCode, retryAfter } = refusal
  const retry = retryAfter ?? (kind === 'too-many' || kind === 'busy' ? 30 : undefined)
  // The rest of a refused upload is not read. Other requests that are refused like this end their connection too.
  const ends = ENDING.has(kind)
  return new Problem(SLUGS[kind], message, {
    headers: {
      ...(retry !== undefined && { 'retry-after': String(retry) }),
      ...(ends && { connection: 'close' }),
    },
    members: errorCode === undefined ? {} : { errorCode },
  })
}
