import type { FastifyRequest } from 'fastify'
import { count } from '../../foundation/text/format-number.ts'
import { addressOf } from '../request/caller.ts'
import { NO_CREDENTIAL, Problem, type ProblemSlug } from '../request/problems.ts'
import type { Audit, RefusalReason } from './audit.ts'
import { EID, isKey, type Principal, type Scope } from './principal.ts'

/** Why a valid credential is refused: the reason for the log, and what the caller can correct. */
export interface Forbidding {
  readonly reason: RefusalReason
  readonly detail: Explanation
}

/** The response to a valid credential that lacks the required rights; it is audited. */
export function forbidden(
  { audit }: { readonly audit: Audit },
  request: FastifyRequest,
  operation: string,
  { reason, detail }: Forbidding,
): Problem {
  const { id: key, client } = request.principal ?? {}
  audit.refused({ reason, operation, address: addressOf(request), key, client })
  return unauthorized(`${detail}.`, reason === 'suspended' ? 'organisation-suspended' : 'unauthorized')
}

/** The 401; without a valid credential it is always the same, whatever is wrong. */
export function unauthorized(detail: string = NO_CREDENTIAL, slug: ProblemSlug = 'unauthorized'): Problem {
  return new Problem(slug, detail, {
    headers: { 'www-authenticate': 'Bearer realm="mahi", ApiKey realm="mahi", header="X-API-Key"' },
  })
}

/** The most organisations that a sentence lists. */
const LISTED = 5

/**
 * What is wrong with the request of a valid credential, without its full stop. It says only what the holder of the
 * credential can read at `/v1/me`, and depends on nothing that the path names: an unknown token gets the same sentence
 * as a token of another organisation.
 */
export type Explanation = string

export function explainScope(principal: Principal, scope: Scope): Explanation {
  return `This ${nameKind(principal)} lacks the scope ${scope}`
}

/** @param eid the header as received */
export function explainEid(principal: Principal, eid: unknown): Explanation {
  const covered = `This ${nameKind(principal)} covers ${listOrganisations(principal)}`
  if (eid === undefined || eid === '')
    return `Send the header EID with the identifier of the organisation. ${covered}`
  if (typeof eid !== 'string' || !EID.test(eid))
    return `The header EID must be one identifier of 1 to 64 visible ASCII characters without a comma. ${covered}`
  return principal.eids.size === 0 ? covered : `${covered}, not ${eid}`
}

export function explainSuspension(eid: string): Explanation {
  return `Organisation ${eid} is suspended: its submissions are kept and cannot be read or changed until the operator of this service resumes it. Runs that had not ended are cancelled: request them again afterwards`
}

export function explainToken(eid: string): Explanation {
  return `Organisation ${eid} has no submission with this token`
}

const nameKind = (principal: Principal): string => (isKey(principal) ? 'key' : 'credential')

function listOrganisations({ eids }: Principal): string {
  const [only, ...others] = eids
  if (only === undefined) return 'no organisation'
  if (eids.size > LISTED || ![...eids].every((each) => EID.test(each)))
    return count(eids.size, 'organisation')
  if (others.length === 0) return `organisation ${only}`
  return `organisations ${[only, ...others.slice(0, -1)].join(', ')} and ${others.at(-1)}`
}
