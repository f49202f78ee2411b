import { type RateLimiterAbstract, RateLimiterMemory, RateLimiterRes } from 'rate-limiter-flexible'

/** So many requests in each window of so many seconds. */
export interface RateLimit {
  readonly requests: number
  readonly seconds: number
}

/** What is counted apart: each operation by credential, and failed credentials by address. */
export type LimitName = 'occupations' | 'validation-results' | 'failed-credentials'

export type RateLimits = Readonly<Record<LimitName, RateLimit | 'off'>>

export interface Verdict {
  readonly allowed: boolean
  /** Requests left in the window. */
  readonly remaining: number
  /** Whole seconds until the window ends, at least 1. */
  readonly reset: number
}

/** Counts a request of `key` under a limit; `undefined` where the limit is off. */
export type ConsumeLimit = (name: LimitName, key: string) => Promise<Verdict | undefined>

/** Limits counted in this process. */
export function createMemoryLimiter(limits: RateLimits): ConsumeLimit {
  return createLimiter(
    limits,
    (_, { requests, seconds }) => new RateLimiterMemory({ points: requests, duration: seconds }),
  )
}

/** Limits counted where `open` says; a store that fails rejects. */
export function createLimiter(
  limits: RateLimits,
  open: (name: string, limit: RateLimit) => RateLimiterAbstract,
): ConsumeLimit {
  const limiters = new Map(
    Object.entries(limits).flatMap(([name, limit]) =>
      limit === 'off' ? [] : [[name, open(name, limit)] as const],
    ),
  )
  return async (name, key) => {
    const limiter = limiters.get(name)
    if (limiter === undefined) return undefined
    try {
      return verdict(await limiter.consume(key), true)
    } catch (refusal) {
      if (refusal instanceof RateLimiterRes) return verdict(refusal, false)
      throw refusal
    }
  }
}

function verdict(result: RateLimiterRes, allowed: boolean): Verdict {
  return {
    allowed,
    remaining: result.remainingPoints,
    reset: Math.max(1, Math.ceil(result.msBeforeNext / 1000)),
  }
}

/** The fields of the IETF draft "RateLimit header fields for HTTP" (draft-ietf-httpapi-ratelimit-headers). */
export function limitHeaders(
  name: LimitName,
  limit: RateLimit,
  { remaining, reset }: Verdict,
): Record<string, string> {
  return {
    'ratelimit-policy': `"${name}";q=${limit.requests};w=${limit.seconds}`,
    ratelimit: `"${name}";r=${remaining};t=${reset}`,
  }
}
