import type { FastifyBaseLogger } from 'fastify'
import { Redis } from 'ioredis'
import { RateLimiterRedis } from 'rate-limiter-flexible'
import type { Metrics } from '../telemetry/metrics.ts'
import {
  type ConsumeLimit,
  createLimiter,
  createMemoryLimiter,
  type RateLimit,
  type RateLimits,
} from './limits.ts'
import { describeReason } from './reason.ts'

/**
 * Timeout of a command, in milliseconds like the following constants. It only affects requests in flight when Redis
 * fails.
 */
const COMMAND_TIMEOUT = 1_000
const CONNECT_TIMEOUT = 2_000
/** A connection without a response for this long is dead, even if nothing has closed it. */
const SOCKET_TIMEOUT = 5_000
/** Interval between checks of Redis. */
const PROBE_INTERVAL = 1_000

export interface RedisLimiterOptions {
  /** `redis://` or `rediss://` */
  readonly url: string
  readonly log: Pick<FastifyBaseLogger, 'warn'>
  readonly metrics: Metrics
  /** Milliseconds. */
  readonly commandTimeout?: number
}

/**
 * Rate limits counted in Redis, exactly across all processes that use it. While Redis is unavailable, this process
 * counts on its own; it logs the change once, and returns to Redis when it works again. No request fails because of
 * Redis.
 */
export class RedisLimiter {
  readonly #redis: Redis
  readonly #log: RedisLimiterOptions['log']
  readonly #shared: ConsumeLimit
  readonly #own: ConsumeLimit
  readonly #probe: RateLimiterRedis
  #up = true
  #stopped = false
  /** The fault of the connection: failed commands only report that there is none. */
  #fault: Error | undefined
  #timer: NodeJS.Timeout | undefined

  private constructor(limits: RateLimits, options: RedisLimiterOptions) {
    const { url, log, metrics, commandTimeout = COMMAND_TIMEOUT } = options
    this.#log = log
    this.#redis = new Redis(url, {
      lazyConnect: true,
      connectTimeout: CONNECT_TIMEOUT,
      commandTimeout,
      socketTimeout: SOCKET_TIMEOUT,
      retryStrategy: (attempts) => Math.min(attempts * 100, PROBE_INTERVAL),
      // A request that cannot be counted in Redis is counted here: nothing waits for a connection or is sent twice.
      enableOfflineQueue: false,
      maxRetriesPerRequest: 0,
      // The probe shows more than INFO, which some users may not call.
      enableReadyCheck: false,
      // After a failover, the old primary still responds; its name may resolve to the new one.
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
        keyPrefix: `mahi:${name}`,
        points: requests,
        duration: seconds,
        rejectIfRedisNotReady: true,
      })
    this.#shared = createLimiter(limits, open)
    this.#own = createMemoryLimiter(limits)
    this.#probe = open('probe', { requests: Number.MAX_SAFE_INTEGER, seconds: 60 })
    metrics.gauge(
      'mahi_rate_limit_redis_up',
      'Whether rate limits are shared through Redis (1) or counted by this process only (0).',
      () => (this.#up ? 1 : 0),
    )
  }

  /** Resolves once Redis is connected, or after a short wait. */
  static async start(limits: RateLimits, options: RedisLimiterOptions): Promise<RedisLimiter> {
    const limiter = new RedisLimiter(limits, options)
    await limiter.#redis.connect().catch(() => undefined)
    await limiter.#check()
    limiter.#timer = setInterval(() => void limiter.#check(), PROBE_INTERVAL).unref()
    return limiter
  }

  readonly consume: ConsumeLimit = async (name, key, requests) => {
    if (this.#up) {
      try {
        return await this.#shared(name, key, requests)
      } catch (error) {
        this.#lose(error)
      }
    }
    return await this.#own(name, key, requests)
  }

  stop(): void {
    this.#stopped = true
    clearInterval(this.#timer)
    this.#redis.disconnect()
  }

  /** Counts on a separate key as a request would, because a full or read-only Redis still responds to PING. */
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
    // Only the message: the error itself may contain the command, and therefore a password.
    this.#log.warn(
      { reason: describeReason(this.#fault ?? error) },
      'Redis is unavailable: this process counts rate limits separately until it is back',
    )
  }
}
