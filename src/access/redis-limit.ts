import type { FastifyBaseLogger } from 'fastify'
import { Redis } from 'ioredis'
import { RateLimiterRedis, RateLimiterRes } from 'rate-limiter-flexible'
import type { Metrics } from '../telemetry/metrics.ts'
import {
  type ConsumeLimit,
  createLimiter,
  createMemoryLimiter,
  type RateLimit,
  type RateLimits,
  type Verdict,
  verdict,
} from './rate-limit.ts'
import { describeReason } from './reason.ts'

/** Longest wait for an answer, in milliseconds as are the following: only requests in flight as Redis dies feel it. */
const COMMAND_TIMEOUT = 1_000
const CONNECT_TIMEOUT = 2_000
/** A connection that gives no answer for so long is dead, though nothing has closed it. */
const SOCKET_TIMEOUT = 5_000
/** Between two looks at whether Redis works. */
const PROBE_INTERVAL = 1_000

export interface RedisLimiterOptions {
  /** `redis://` or `rediss://` */
  readonly url: string
  /** Start of the names of all keys. */
  readonly keyPrefix: string
  readonly log: Pick<FastifyBaseLogger, 'warn'>
  readonly metrics: Metrics
}

/**
 * Limits counted in Redis, exactly across all processes that use it. While Redis does not work this process counts
 * by itself; it says so once, and goes back when Redis works again. No request fails of it.
 */
export class RedisLimiter {
  readonly #redis: Redis
  readonly #log: RedisLimiterOptions['log']
  readonly #shared: ConsumeLimit
  readonly #own: ConsumeLimit
  readonly #probe: RateLimiterRedis
  #up = true
  #stopped = false
  /** What is wrong with the connection: the commands that fail of it only tell that there is none. */
  #fault: Error | undefined
  #timer: NodeJS.Timeout | undefined

  private constructor(limits: RateLimits, { url, keyPrefix, log, metrics }: RedisLimiterOptions) {
    this.#log = log
    this.#redis = new Redis(url, {
      lazyConnect: true,
      connectTimeout: CONNECT_TIMEOUT,
      commandTimeout: COMMAND_TIMEOUT,
      socketTimeout: SOCKET_TIMEOUT,
      retryStrategy: (attempts) => Math.min(attempts * 100, PROBE_INTERVAL),
      // A request that can't be counted now is counted here: nothing waits for a connection or is sent twice.
      enableOfflineQueue: false,
      maxRetriesPerRequest: 0,
      // The probe says more than INFO, which some users may not ask for.
      enableReadyCheck: false,
      // After a failover the old primary answers still; its name may lead to the new one.
      reconnectOnError: (error) => error.message.startsWith('READONLY'),
    })
    this.#redis.on('error', (error) => {
      this.#fault = error
    })
    this.#redis.on('ready', () => {
      this.#fault = undefined
    })
    const open = (name: string, { requests, seconds }: RateLimit) =>
      new RateLimiterRedis({
        storeClient: this.#redis,
        keyPrefix: `${keyPrefix}:${name}`,
        points: requests,
        duration: seconds,
        rejectIfRedisNotReady: true,
      })
    this.#shared = createLimiter(limits, (name, limit) => countIn(open(name, limit), limit.seconds))
    this.#own = createMemoryLimiter(limits)
    this.#probe = open('probe', { requests: Number.MAX_SAFE_INTEGER, seconds: 60 })
    metrics.gauge(
      'mahi_rate_limit_redis_up',
      'Whether rate limits are shared through Redis (1) or counted by this process only (0).',
      () => (this.#up ? 1 : 0),
    )
  }

  /** Answers once Redis is connected, or has not been for a moment. */
  static async start(limits: RateLimits, options: RedisLimiterOptions): Promise<RedisLimiter> {
    const limiter = new RedisLimiter(limits, options)
    await limiter.#redis.connect().catch(() => undefined)
    await limiter.#check()
    limiter.#timer = setInterval(() => void limiter.#check(), PROBE_INTERVAL).unref()
    return limiter
  }

  readonly consume: ConsumeLimit = async (name, key) => {
    if (this.#up) {
      try {
        return await this.#shared(name, key)
      } catch (error) {
        this.#lose(error)
      }
    }
    return await this.#own(name, key)
  }

  stop(): void {
    this.#stopped = true
    clearInterval(this.#timer)
    this.#redis.disconnect()
  }

  /** Counts on a key of its own as a request would: a Redis that is full or read-only answers to PING. */
  async #check(): Promise<void> {
    try {
      await this.#probe.consume('write')
    } catch (error) {
      this.#lose(error)
      return
    }
    if (!this.#up) this.#log.warn('Redis is available again: rate limits are shared')
    this.#up = true
  }

  #lose(error: unknown): void {
    if (!this.#up || this.#stopped) return
    this.#up = false
    // Only the message: the error itself may carry the command, and so a password.
    this.#log.warn(
      { reason: describeReason(this.#fault ?? error) },
      'Redis is unavailable: this process counts rate limits alone until it is back',
    )
  }
}

/** A count in Redis; a Redis that fails rejects it. */
function countIn(limiter: RateLimiterRedis, seconds: number): (key: string) => Promise<Verdict> {
  return async (key) => {
    try {
      const { remainingPoints, msBeforeNext } = await limiter.consume(key)
      return verdict(remainingPoints, msBeforeNext, seconds)
    } catch (refusal) {
      if (refusal instanceof RateLimiterRes) return verdict(-1, refusal.msBeforeNext, seconds)
      throw refusal
    }
  }
}
