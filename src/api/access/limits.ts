import type { FastifyRequest } from 'fastify'
import { type RateLimiterAbstract, RateLimiterMemory, RateLimiterRes } from 'rate-limiter-flexible'
import { addressOf, callerOf } from '../request/caller.ts'
import { Problem } from '../request/problems.ts'
import type { Principal } from './principal.ts'

/** The number of requests allowed in each window of `seconds`. */
export interface RateLimit {
  readonly requests: number
  readonly seconds: number
}

/**
 * The separate limits: operations are counted by credential and, for the data of organisations, by each organisation
 * that it covers; `organisation` by organisation, for all its credentials; failed credentials by address.
 */
export type LimitName =
  | 'occupations'
  | 'validation-results'
  | 'submissions'
  | 'codings'
  | 'organisation'
  | 'failed-credentials'

/** A limit of operations. */
export type OperationLimit = Exclude<LimitName, 'organisation' | 'failed-credentials'>

export type RateLimits = Readonly<Record<LimitName, RateLimit | 'off'>>

/** The settings with the limits. */
export interface RateLimitSettings {
  readonly RATE_LIMIT_OCCUPATIONS: RateLimit | 'off'
  readonly RATE_LIMIT_RESULTS: RateLimit | 'off'
  readonly RATE_LIMIT_SUBMISSIONS: RateLimit | 'off'
  readonly RATE_LIMIT_ORGANISATION: RateLimit | 'off'
  readonly RATE_LIMIT_FAILED_CREDENTIALS: RateLimit | 'off'
}

export function rateLimitsOf(settings: RateLimitSettings): RateLimits {
  return {
    occupations: settings.RATE_LIMIT_OCCUPATIONS,
    'validation-results': settings.RATE_LIMIT_RESULTS,
    submissions: settings.RATE_LIMIT_SUBMISSIONS,
    codings: limitCodings(settings.RATE_LIMIT_OCCUPATIONS),
    organisation: settings.RATE_LIMIT_ORGANISATION,
    'failed-credentials': settings.RATE_LIMIT_FAILED_CREDENTIALS,
  }
}

/** Coding a list of titles takes more work than a page, so a tenth as many requests are allowed. */
function limitCodings(limit: RateLimit | 'off'): RateLimit | 'off' {
  return limit === 'off' ? 'off' : { ...limit, requests: Math.ceil(limit.requests / 10) }
}

interface Verdict {
  readonly allowed: boolean
  /** Requests left in the window. */
  readonly remaining: number
  /** Whole seconds until the window ends, at least 1. */
  readonly reset: number
}

/**
 * Counts requests of `key` under a limit, one by default; none reads its state, and -1 takes one back. The result is
 * `undefined` if the limit is off.
 */
export type ConsumeLimit = (name: LimitName, key: string, requests?: number) => Promise<Verdict | undefined>

/** Creates the counters of all limits that are on. */
export function createLimiter(
  limits: RateLimits,
  open: (name: string, limit: RateLimit) => RateLimiterAbstract,
): ConsumeLimit {
  const counters = new Map(
    Object.entries(limits).flatMap(([name, limit]) =>
      limit === 'off' ? [] : [[name, { limiter: open(name, limit), seconds: limit.seconds }] as const],
    ),
  )
  return async (name, key, requests = 1) => {
    const counter = counters.get(name)
    if (counter === undefined) return undefined
    const { limiter, seconds } = counter
    try {
      const { remainingPoints, msBeforeNext } = await limiter.consume(key, requests)
      return { allowed: true, remaining: remainingPoints, reset: toSeconds(msBeforeNext, seconds) }
    } catch (refusal) {
      if (!(refusal instanceof RateLimiterRes)) throw refusal
      return { allowed: false, remaining: 0, reset: toSeconds(refusal.msBeforeNext, seconds) }
    }
  }
}

/** Limits counted in this process. */
export function createMemoryLimiter(limits: RateLimits): ConsumeLimit {
  return createLimiter(
    limits,
    (_, { requests, seconds }) => new RateLimiterMemory({ points: requests, duration: seconds }),
  )
}

/** Whole seconds until a window ends, also if the clock has been set. */
function toSeconds(ms: number, length: number): number {
  return Math.min(length, Math.max(1, Math.ceil(ms / 1000)))
}

/** The limits that are on. */
export type CountedLimits = Readonly<Partial<Record<LimitName, RateLimit>>>

export function listCounted(limits: RateLimits): CountedLimits {
  return Object.fromEntries(Object.entries(limits).filter(([, limit]) => limit !== 'off'))
}

/** The fields of the IETF draft "RateLimit header fields for HTTP" (draft-ietf-httpapi-ratelimit-headers). */
function describeLimit(name: string, { requests, seconds }: RateLimit, { remaining, reset }: Verdict) {
  return {
    'ratelimit-policy': `"${name}";q=${requests};w=${seconds}`,
    ratelimit: `"${name}";r=${remaining};t=${reset}`,
  }
}

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
 * Counts a request of an operation: for its credential, separately for each organisation; and, unless that limit
 * refuses it, for its organisation, whichever credential it has.
 *
 * @throws {Problem} `too-many-requests`
 */
export async function countRequest(
  counting: Counting,
  request: FastifyRequest,
  limit: OperationLimit,
  ofOrganisation: boolean,
): Promise<void> {
  const eid = ofOrganisation ? organisationOf(request, request.principal) : undefined
  const own = await counting.consume(limit, counterOf(callerOf(request), eid))
  assertAllowed(counting, request, limit, own, 'requests')
  if (eid === undefined || counting.limits.organisation === undefined) return
  const all = await counting.consume('organisation', eid)
  if (all?.allowed === false)
    assertAllowed(counting, request, 'organisation', all, `requests of organisation ${eid}`)
}

/**
 * Counts a request without a credential that is known to be valid.
 *
 * @throws {Problem} `too-many-requests`
 */
export async function countFailure(counting: Counting, request: FastifyRequest): Promise<void> {
  const verdict = await counting.consume('failed-credentials', addressOf(request))
  assertAllowed(counting, request, 'failed-credentials', verdict, 'requests without a valid credential')
}

/** Takes back a failure: the credential has been found to be valid. */
export async function forgiveFailure({ consume }: Counting, request: FastifyRequest): Promise<void> {
  await consume('failed-credentials', addressOf(request), -1)
  request.limitHeaders = undefined
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
  request.limitHeaders = describeLimit(name, limit, verdict)
  if (verdict.allowed) return
  const most = `${limit.requests} ${counted} in ${limit.seconds} seconds`
  throw new Problem('too-many-requests', `More than ${most}. Try again in ${verdict.reset} s.`, {
    headers: { 'retry-after': String(verdict.reset) },
  })
}
