import type { FastifyRequest } from 'fastify'
import { addressOf } from '../request/caller.ts'
import type { Audit } from './audit.ts'
import { type Credential, readCredential } from './credentials.ts'
import {
  type ConsumeLimit,
  type CountedLimits,
  countFailure,
  countRequest,
  forgiveFailure,
  type OperationLimit,
  organisationOf,
} from './limits.ts'
import type { LongResponses } from './long-responses.ts'
import { isRefused, type Principal, type Scope, type Verifier } from './principal.ts'
import { explainScope, explainSuspension, forbidden, unauthorized } from './refusals.ts'

export interface Access {
  /** Verifies an `X-API-Key`. */
  readonly keys: Verifier
  /** Verifies an `Authorization: Bearer`, a key or a JWT. */
  readonly bearers: Verifier
  readonly audit: Audit
  readonly consume: ConsumeLimit
  readonly limits: CountedLimits
  /** Reads which keys and suspensions other processes have changed. */
  readonly refresh: () => Promise<void>
  /** Reads them unless what is known is current. */
  readonly ensureCurrent: () => Promise<void>
  /** Whether an operator has suspended the organisation. */
  readonly isSuspended: (eid: string) => boolean
  /** Why a credential is no longer valid that was. */
  readonly hasEnded: (principal: Principal) => 'revoked' | 'expired' | undefined
  readonly responses: LongResponses
}

/** The requirements of an operation for its callers. */
export interface Admission {
  /** The operation's name in the audit log. */
  readonly operation: string
  readonly limit: OperationLimit
  /** `undefined` if the operation checks the scope itself. */
  readonly scope: Scope | undefined
  /** Whether a caller without a credential is authorized; one with an invalid credential never is. */
  readonly anonymous: boolean
  /** Whether it is about the data of the organisation in the header EID. */
  readonly ofOrganisation: boolean
}

declare module 'fastify' {
  interface FastifyRequest {
    /** The caller; `undefined` for an anonymous caller of a public operation. */
    principal: Principal | undefined
  }
}

/**
 * Creates the hook that authorizes callers, in this order: credential (401), rate limit (429), scope (401). The
 * operation itself decides which data the caller may see.
 */
export function admit(access: Access, { operation, limit, scope, anonymous, ofOrganisation }: Admission) {
  return async (request: FastifyRequest): Promise<void> => {
    const credential = readCredential(request)
    if (credential !== undefined) {
      request.principal = await identify(access, request, operation, credential)
      if (request.principal === undefined) throw unauthorized()
    } else if (!anonymous) {
      access.audit.refused({ reason: 'missing', operation, address: addressOf(request) })
      await countFailure(access, request)
      throw unauthorized()
    }
    await countRequest(access, request, limit, ofOrganisation)
    const { principal } = request
    if (principal !== undefined && scope !== undefined && !principal.scopes.has(scope))
      throw forbidden(access, request, operation, {
        reason: 'scope',
        detail: explainScope(principal, scope),
      })
  }
}

/**
 * The holder of a credential; `undefined` if it is refused, which is audited. One that was never known counts as a failed
 * credential until it has been verified: an address that has sent too many causes no more work.
 *
 * @throws {Problem} `too-many-requests`
 */
async function identify(
  access: Access,
  request: FastifyRequest,
  operation: string,
  { text, kind, client: named }: Credential,
): Promise<Principal | undefined> {
  const verifier = kind === 'key' ? access.keys : access.bearers
  const known = verifier.recall(text, named)
  if (known !== undefined) return known
  const isGuess = !verifier.knows(text, named)
  if (isGuess) await countFailure(access, request)
  const verified = await verifier.verify(text, named)
  if (isRefused(verified)) {
    const { refused: reason, id: key, client } = verified
    access.audit.refused({ reason, operation, address: addressOf(request), key, client })
    return undefined
  }
  if (isGuess) await forgiveFailure(access, request)
  return verified
}

/**
 * Verifies a key that a person has entered in a form; an invalid one counts as a failed credential.
 *
 * @throws {Problem} `too-many-requests`
 */
export async function verifyPastedKey(
  access: Access,
  request: FastifyRequest,
  key: string,
): Promise<Principal | undefined> {
  return await identify(access, request, 'console', { text: key, kind: 'key', client: undefined })
}

/**
 * Checks again what may have changed since the request was admitted: its credential, and whether its organisation is
 * suspended.
 *
 * @throws {Problem} `unauthorized`
 */
export function assertStillAllowed(
  access: Access,
  request: FastifyRequest,
  { operation, ofOrganisation }: Pick<Admission, 'operation' | 'ofOrganisation'>,
): void {
  const { principal } = request
  if (principal === undefined) return
  const reason = access.hasEnded(principal)
  if (reason !== undefined) {
    const { id: key, client } = principal
    access.audit.refused({ reason, operation, address: addressOf(request), key, client })
    throw unauthorized()
  }
  const eid = ofOrganisation ? organisationOf(request, principal) : undefined
  if (eid !== undefined && access.isSuspended(eid))
    throw forbidden(access, request, operation, { reason: 'suspended', detail: explainSuspension(eid) })
}
