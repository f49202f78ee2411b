import type { FastifyRequest } from 'fastify'
import { type MaybePromise, whenKnown } from '../../foundation/cache/maybe-promise.ts'
import { Problem } from '../contract/problems.ts'
import { callerOf } from '../request/caller.ts'
import type { Principal } from './principal.ts'
import type { ConsumeLimit, CountedLimits, LimitName, OperationLimit, Verdict } from './rate-limit.ts'

interface Counting {
  readonly consume: ConsumeLimit
  readonly limits: CountedLimits
}

/** The organisation of the header EID, if the credential covers it: any other one would be a counter of its own. */
export function organisationOf({ headers }: FastifyRequest, principal: Principal | undefined) {
  const { eid } = headers
  return typeof eid === 'string' && principal?.eids.has(eid) === true ? eid : undefined
}

/** What a limit counts by: each organisation that a credential covers has an allowance of its own. */
export function counterOf(caller: string, eid: string | undefined): string {
  return eid === undefined ? caller : `${caller} ${eid}`
}

/**
 * Counts a request of an operation: for its credential, separately for each organisation; and for its organisation,
 * whichever credential it has.
 *
 * @throws {Problem} `too-many-requests`
 */
export function countRequest(
  counting: Counting,
  request: FastifyRequest,
  limit: OperationLimit,
  ofOrganisation: boolean,
): MaybePromise<void> {
  const eid = ofOrganisation ? organisationOf(request, request.principal) : undefined
  const own = counting.consume(limit, counterOf(callerOf(request), eid))
  if (eid === undefined || counting.limits.organisation === undefined)
    return whenKnown(own, (verdict) => assertAllowed(counting, request, limit, verdict, 'requests'))
  return whenKnown(own, (verdict) => {
    // A request that its own limit refuses must not use up the allowance of the organisation's other credentials.
    assertAllowed(counting, request, limit, verdict, 'requests')
    return whenKnown(counting.consume('organisation', eid), (of) => {
      if (of?.allowed === false)
        assertAllowed(counting, request, 'organisation', of, `requests of organisation ${eid}`)
    })
  })
}

/**
 * Counts a request without a valid credential.
 *
 * @throws {Problem} `too-many-requests`
 */
export function countFailure(
  counting: Counting,
  request: FastifyRequest,
  address: string,
): MaybePromise<void> {
  return whenKnown(counting.consume('failed-credentials', address), (verdict) =>
    assertAllowed(counting, request, 'failed-credentials', verdict, 'requests without a valid credential'),
  )
}

/** @param counted a description of what the limit counts */
function assertAllowed(
  { limits }: Counting,
  request: FastifyRequest,
  name: LimitName,
  verdict: Verdict | undefined,
  counted: string,
): void {
  const limit = limits[name]
  if (verdict === undefined || limit === undefined) return
  request.limitHeaders = limit.describe(verdict)
  if (verdict.allowed) return
  const most = `${limit.requests} ${counted} in ${limit.seconds} seconds`
  throw new Problem('too-many-requests', `More than ${most}. Try again in ${verdict.reset} s.`, {
    headers: { 'retry-after': String(verdict.reset) },
  })
}
