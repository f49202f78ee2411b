import type { FastifyRequest } from 'fastify'
import Type from 'typebox'
import { type Access, forbidden } from '../access/admit.ts'
import type { Scope } from '../access/principal.ts'
import type { Reader } from '../database/database.ts'
import { Problem, type ProblemSlug } from '../http/problems.ts'
import type { MaybePromise } from '../pages/maybe-promise.ts'
import { whenKnown } from '../pages/maybe-promise.ts'
import { Refusal, type RefusalKind } from './refusal.ts'
import { findOwn, type SubmissionRow } from './submission.ts'

export const EID_HEADER = Type.Object({
  EID: Type.String({ description: 'The identifier of the organisation.' }),
})

/** The detail of every 401, whatever the operation. */
export const UNAUTHORIZED =
  'Not authorised: the credential, its scopes, the EID and the token do not match. The response does not say which is wrong.'

/** The organisation of the request if the credential covers it and has the scope, otherwise an empty string. */
function coveredEid({ headers: { eid }, principal }: FastifyRequest, scope: Scope): string {
  if (typeof eid !== 'string' || principal?.scopes.has(scope) !== true) return ''
  return principal.eids.has(eid) ? eid : ''
}

/**
 * Authorizes a request that names no submission, and returns its organisation.
 *
 * @throws {Problem} `unauthorized`
 */
export function authorizeEid(
  access: Access,
  request: FastifyRequest,
  operation: string,
  scope: Scope,
): string {
  const eid = coveredEid(request, scope)
  if (eid !== '') return eid
  throw forbidden(access, request, operation, request.principal?.scopes.has(scope) ? 'submission' : 'scope')
}

/**
 * Returns the submission if the caller may see it. As for validation results, every refusal is the same response
 * after the same work.
 *
 * @throws {Problem} `unauthorized`
 */
export function authorizeSubmission(
  access: Access,
  reader: Reader,
  request: FastifyRequest,
  { operation, scope, token }: { operation: string; scope: Scope; token: string },
): MaybePromise<SubmissionRow> {
  return whenKnown(findOwn(reader, coveredEid(request, scope), token), (submission) => {
    if (submission !== undefined) return submission
    const inScope = request.principal?.scopes.has(scope) === true
    throw forbidden(access, request, operation, inScope ? 'submission' : 'scope')
  })
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

/** Refusals of uploads that have not been read completely. */
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
  // The rest of a refused upload is not read.
  const ends = ENDING.has(kind)
  return new Problem(SLUGS[kind], message, {
    headers: {
      ...(retry !== undefined && { 'retry-after': String(retry) }),
      ...(ends && { connection: 'close' }),
    },
    members: errorCode === undefined ? {} : { errorCode },
  })
}
