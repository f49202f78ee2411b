import type { MaybePromise } from '../../foundation/cache/maybe-promise.ts'
import type { LimitHeaders } from '../serving/headers.ts'

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
  readonly RATE_LIMIT_CODINGS: RateLimit | 'off'
  readonly RATE_LIMIT_ORGANISATION: RateLimit | 'off'
  readonly RATE_LIMIT_FAILED_CREDENTIALS: RateLimit | 'off'
}

export function rateLimitsOf(settings: RateLimitSettings): RateLimits {
  return {
    occupations: settings.RATE_LIMIT_OCCUPATIONS,
    'validation-results': settings.RATE_LIMIT_RESULTS,
    submissions: settings.RATE_LIMIT_SUBMISSIONS,
    codings: settings.RATE_LIMIT_CODINGS,
    organisation: settings.RATE_LIMIT_ORGANISATION,
    'failed-credentials': settings.RATE_LIMIT_FAILED_CREDENTIALS,
  }
}

export interface Verdict {
  readonly allowed: boolean
  /** Requests left in the window. */
  readonly remaining: number
  /** Whole seconds until the window ends, at least 1. */
  readonly reset: number
}

/** Counts requests of `key` under a limit, one by default, none to read its state; `undefined` if the limit is off. */
export type ConsumeLimit = (
  name: LimitName,
  key: string,
  requests?: number,
) => MaybePromise<Verdict | undefined>

/** Creates the counters of all limits that are on. */
export function createLimiter(
  limits: RateLimits,
  open: (name: string, limit: RateLimit) => (key: string, requests: number) => MaybePromise<Verdict>,
): ConsumeLimit {
  const counters = new Map(
    Object.entries(limits).flatMap(([name, limit]) =>
      limit === 'off' ? [] : [[name, open(name, limit)] as const],
    ),
  )
  return (name, key, requests = 1) => counters.get(name)?.(key, requests)
}

/** Limits counted in this process. */
export function createMemoryLimiter(limits: RateLimits): ConsumeLimit {
  return createLimiter(limits, (_, limit) => {
    const windows = new Windows(limit)
    return (key, requests) => windows.count(key, performance.now(), requests)
  })
}

/** Windows of a fixed length, which start with the first request of their key. */
class Windows {
  readonly #limit: RateLimit
  /** Oldest first, and therefore in the order in which they end. */
  readonly #open = new Map<string, { readonly end: number; requests: number }>()

  constructor(limit: RateLimit) {
    this.#limit = limit
  }

  /** @param now milliseconds of a monotonic clock */
  count(key: string, now: number, requests: number): Verdict {
    let window = this.#open.get(key)
    if (window === undefined || window.end <= now) {
      this.#forgetEnded(now)
      window = { end: now + this.#limit.seconds * 1000, requests: 0 }
      this.#open.set(key, window)
    }
    window.requests += requests
    return verdict(this.#limit.requests - window.requests, window.end - now, this.#limit.seconds)
  }

  #forgetEnded(now: number): void {
    for (const [key, { end }] of this.#open) {
      if (end > now) return
      this.#open.delete(key)
    }
  }
}

/**
 * @param left requests left after this one; negative if the limit is exceeded
 * @param ms the time until the window ends
 * @param seconds the length of the window: in floating point, `(now + 60000) - now` can exceed 60000
 */
export function verdict(left: number, ms: number, seconds: number): Verdict {
  const reset = Math.min(seconds, Math.max(1, Math.ceil(ms / 1000)))
  return { allowed: left >= 0, remaining: Math.max(0, left), reset }
}

/** A limit that is on, with its headers. */
interface CountedLimit extends RateLimit {
  readonly describe: (verdict: Verdict) => LimitHeaders
}

/** The limits that are on. */
export type CountedLimits = Readonly<Partial<Record<LimitName, CountedLimit>>>

export function describeLimits(limits: RateLimits): CountedLimits {
  return Object.fromEntries(
    Object.entries(limits).flatMap(([name, limit]) =>
      limit === 'off' ? [] : [[name, { ...limit, describe: describeLimit(name, limit) }]],
    ),
  )
}

/** The fields of the IETF draft "RateLimit header fields for HTTP" (draft-ietf-httpapi-ratelimit-headers). */
function describeLimit(name: string, { requests, seconds }: RateLimit): CountedLimit['describe'] {
  const policy = `"${name}";q=${requests};w=${seconds}`
  const before = `ratelimit-policy: ${policy}\r\nratelimit: `
  const begin = `"${name}";r=`
  return ({ remaining, reset }) => {
    const left = `${begin}${remaining};t=${reset}`
    return { list: ['ratelimit-policy', policy, 'ratelimit', left], text: `${before}${left}\r\n` }
  }
}
