import type { LimitHeaders } from '../http/common-headers.ts'
import type { MaybePromise } from '../pages/maybe-promise.ts'

/** So many requests in each window of so many seconds. */
export interface RateLimit {
  readonly requests: number
  readonly seconds: number
}

/** What is counted apart: each operation by credential, and failed credentials by address. */
export type LimitName =
  | 'occupations'
  | 'validation-results'
  | 'submissions'
  | 'codings'
  | 'failed-credentials'

/** A limit that operations are counted under. */
export type OperationLimit = Exclude<LimitName, 'failed-credentials'>

export type RateLimits = Readonly<Record<LimitName, RateLimit | 'off'>>

export interface Verdict {
  readonly allowed: boolean
  /** Requests left in the window. */
  readonly remaining: number
  /** Whole seconds until the window ends, at least 1. */
  readonly reset: number
}

/** Counts a request of `key` under a limit; `undefined` where the limit is off. */
export type ConsumeLimit = (name: LimitName, key: string) => MaybePromise<Verdict | undefined>

/** Makes the counter of each limit that is not off. */
export function createLimiter(
  limits: RateLimits,
  open: (name: string, limit: RateLimit) => (key: string) => MaybePromise<Verdict>,
): ConsumeLimit {
  const counters = new Map(
    Object.entries(limits).flatMap(([name, limit]) =>
      limit === 'off' ? [] : [[name, open(name, limit)] as const],
    ),
  )
  return (name, key) => counters.get(name)?.(key)
}

/** Limits counted in this process. */
export function createMemoryLimiter(limits: RateLimits): ConsumeLimit {
  return createLimiter(limits, (_, limit) => {
    const windows = new Windows(limit)
    return (key) => windows.count(key, performance.now())
  })
}

/** Windows of a fixed length, each of which begins with the first request of its key. */
class Windows {
  readonly #limit: RateLimit
  /** Oldest first, and so in the order in which they end. */
  readonly #open = new Map<string, { readonly end: number; requests: number }>()

  constructor(limit: RateLimit) {
    this.#limit = limit
  }

  /** @param now milliseconds of a clock that is never set */
  count(key: string, now: number): Verdict {
    let window = this.#open.get(key)
    if (window === undefined || window.end <= now) {
      this.#forgetEnded(now)
      window = { end: now + this.#limit.seconds * 1000, requests: 0 }
      this.#open.set(key, window)
    }
    window.requests++
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
 * @param left requests left after this one; negative if it is one too many
 * @param ms until the window ends
 * @param seconds length of the window: in floating point, `(now + 60000) - now` can exceed 60000
 */
export function verdict(left: number, ms: number, seconds: number): Verdict {
  const reset = Math.min(seconds, Math.max(1, Math.ceil(ms / 1000)))
  return { allowed: left >= 0, remaining: Math.max(0, left), reset }
}

/** A limit that is on, with what callers are told of it. */
export interface CountedLimit extends RateLimit {
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
