import type { FastifyReply, FastifyRequest, HookHandlerDoneFunction } from 'fastify'
import { type MaybePromise, whenKnown } from '../../foundation/cache/maybe-promise.ts'
import { NO_CREDENTIAL, Problem } from '../contract/problems.ts'
import { addressOf } from '../request/caller.ts'
import type { Audit, RefusalReason } from './audit.ts'
import { countFailure, countRequest, organisationOf } from './count-request.ts'
import { type Explanation, explainScope, explainSuspension } from './explain-refusal.ts'
import type { LongResponses } from './long-responses.ts'
import { isRefused, type Principal, type Refused, type Scope, type Verify } from './principal.ts'
import type { ConsumeLimit, CountedLimits, OperationLimit } from './rate-limit.ts'

export interface Access {
  /** Verifies an `X-API-Key`. */
  readonly verifyKey: Verify
  /** Verifies an `Authorization: Bearer`, a key or a JWT. */
  readonly verifyBearer: Verify
  readonly audit: Audit
  readonly consume: ConsumeLimit
  readonly limits: CountedLimits
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
  const count = (request: FastifyRequest, principal: Principal | undefined) =>
    whenKnown(countRequest(access, request, limit, ofOrganisation), () => {
      if (principal !== undefined && scope !== undefined && !principal.scopes.has(scope))
        throw forbidden(access, request, operation, {
          reason: 'scope',
          detail: explainScope(principal, scope),
        })
    })

  const enter = (request: FastifyRequest): MaybePromise<void> => {
    const credential = readCredential(request)
    if (credential === undefined) {
      return anonymous
        ? count(request, undefined)
        : refuse(access, request, operation, { refused: 'missing' })
    }
    return whenKnown(verifyCredential(access, request, credential), (principal) => {
      if (isRefused(principal)) return refuse(access, request, operation, principal)
      request.principal = principal
      return count(request, principal)
    })
  }

  return (request: FastifyRequest, _reply: FastifyReply, done: HookHandlerDoneFunction) => {
    const entered = enter(request)
    if (entered instanceof Promise) return entered
    return done()
  }
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

/**
 * Verifies a key that a person has entered in a form; an invalid one counts as a failed credential.
 *
 * @throws {Problem} `too-many-requests`
 */
export async function verifyPastedKey(
  access: Access,
  request: FastifyRequest,
  key: string,
): Promise<Principal | Refused> {
  const principal = await access.verifyKey(key)
  if (!isRefused(principal)) return principal
  const { refused: reason, id, client } = principal
  const address = addressOf(request)
  access.audit.refused({ reason, operation: 'console', address, key: id, client })
  await countFailure(access, request, address)
  return principal
}

/** Why a valid credential is refused: the reason for the log, and what the caller can correct. */
export interface Forbidding {
  readonly reason: RefusalReason
  readonly detail: Explanation
}

/** The response to a valid credential that lacks the required rights; it is audited. */
export function forbidden(
  { audit }: Access,
  request: FastifyRequest,
  operation: string,
  { reason, detail }: Forbidding,
): Problem {
  const { id: key, client } = request.principal ?? {}
  audit.refused({ reason, operation, address: addressOf(request), key, client })
  return unauthorized(`${detail}.`)
}

/** The 401; without a valid credential it is always the same, whatever is wrong. */
export function unauthorized(detail: string = NO_CREDENTIAL): Problem {
  return new Problem('unauthorized', detail, {
    headers: { 'www-authenticate': 'Bearer realm="mahi", ApiKey realm="mahi", header="X-API-Key"' },
  })
}

interface Credential {
  readonly text: string
  readonly verifier: 'verifyKey' | 'verifyBearer'
}

/** `X-API-Key: <key>`, or `Authorization: Bearer <key or JWT>` (RFC 6750, section 2.1). */
function readCredential(request: FastifyRequest): Credential | undefined {
  const key = request.headers['x-api-key']
  if (key !== undefined) return { text: String(key), verifier: 'verifyKey' }
  const authorization = request.headers.authorization
  if (authorization === undefined) return undefined
  return { text: /^bearer +(\S+) *$/i.exec(authorization)?.[1] ?? '', verifier: 'verifyBearer' }
}

function verifyCredential(
  access: Access,
  request: FastifyRequest,
  { text, verifier }: Credential,
): MaybePromise<Principal | Refused> {
  const client = request.headers['x-client-id']
  return access[verifier](text, client === undefined ? undefined : readHeaderText(String(client)))
}

/** @throws {Problem} `unauthorized`, or `too-many-requests` after too many attempts */
function refuse(
  access: Access,
  request: FastifyRequest,
  operation: string,
  { refused: reason, id: key, client }: Refused,
): MaybePromise<never> {
  const address = addressOf(request)
  access.audit.refused({ reason, operation, address, key, client })
  return whenKnown(countFailure(access, request, address), () => {
    throw unauthorized()
  })
}

/**
 * The text of a header that may contain non-ASCII letters. Node reads headers as Latin-1, but callers send names such
 * as "Te Pūkenga" as UTF-8.
 */
function readHeaderText(value: string): string {
  if (!/[\u0080-\u00ff]/.test(value)) return value
  const text = Buffer.from(value, 'latin1').toString('utf8')
  return (text.includes('\ufffd') ? value : text).normalize('NFC')
}
