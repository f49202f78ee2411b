import { Redis } from 'ioredis'
import pino from 'pino'
import { describe, expect, onTestFinished, test } from 'vitest'
import { createKey } from '../../src/api/access/keys.ts'
import type { RateLimits } from '../../src/api/access/limits.ts'
import { RedisLimiter } from '../../src/api/access/redis-limits.ts'
import { Metrics } from '../../src/api/telemetry/metrics.ts'
import { Installation, until } from '../support/command.ts'
import { withDatabase } from '../support/filled-database.ts'
import { NO_LIMITS } from '../support/limits.ts'
import { ask as askOnce } from '../support/load.ts'
import { hasRedisServer, OwnRedis } from '../support/redis.ts'

const LOST = 'Redis is unavailable: this process counts rate limits separately until it is back'
const BACK = 'Redis is available again: rate limits are shared'

/** A limiter as one process has it, and what it says. */
async function startLimiter(
  url: string,
  limits: Partial<RateLimits>,
  // A process that is busy for a second loses no Redis.
  commandTimeout: number | undefined = 240_000,
) {
  const lines: string[] = []
  const metrics = new Metrics()
  const limiter = await RedisLimiter.start(
    { ...NO_LIMITS, ...limits },
    {
      url,
      log: pino({ base: null }, { write: (line: string) => lines.push(line) }),
      metrics,
      commandTimeout,
    },
  )
  onTestFinished(() => limiter.stop())
  const log = () => lines.map((line) => JSON.parse(line) as { level: string; reason?: string; msg: string })
  return {
    limiter,
    log,
    messages: () => log().map(({ msg }) => msg),
    isUp: async () => /^mahi_rate_limit_redis_up 1$/m.test(await metrics.registry.metrics()),
  }
}

type Served = Awaited<ReturnType<Installation['serve']>>

/** Starts processes that serve one database, and a way to ask them with one key. */
async function serve(count: number, settings: Record<string, string>) {
  const mahi = new Installation({ inProcesses: true })
  const { key } = await withDatabase(mahi.databaseUrl, (database) =>
    createKey(database, { client: 'tests', expires: Date.now() + 3_600_000 }),
  )
  const processes = await Promise.all(Array.from({ length: count }, () => mahi.serve(settings)))
  const ask = async (each: Served | undefined) =>
    (await askOnce(`${each?.url}/v1/occupations`, { 'x-api-key': key })).status
  return { processes, ask }
}

function count<T>(values: readonly T[], value: T): number {
  return values.filter((each) => each === value).length
}

function isAboutRedis(message: string): boolean {
  return message === LOST || message === BACK
}

/** The messages in the log of a process. */
function messagesOf({ command }: Served): string[] {
  const lines = command.stdout.trim().split('\n')
  return lines.map((line) => (JSON.parse(line) as { msg: string }).msg)
}

async function waitUntilItSays(served: Served, message: string): Promise<void> {
  await until(() => messagesOf(served).filter(isAboutRedis).at(-1) === message)
}

describe.skipIf(!hasRedisServer)('with a Redis', () => {
  test('limits are separate by operation, caller and database, and one that is off is not counted', async () => {
    const { url } = await OwnRedis.start()
    const limit = { requests: 1, seconds: 600 }
    const limits = { occupations: limit, 'validation-results': limit }
    const { limiter } = await startLimiter(url, limits)
    const other = await startLimiter(`${url}/1`, limits)
    expect(await limiter.consume('occupations', 'a')).toMatchObject({ allowed: true, remaining: 0 })
    expect(await limiter.consume('occupations', 'a')).toMatchObject({ allowed: false, remaining: 0 })
    expect(await limiter.consume('occupations', 'b')).toMatchObject({ allowed: true })
    expect(await limiter.consume('validation-results', 'a')).toMatchObject({ allowed: true })
    expect(await other.limiter.consume('occupations', 'a')).toMatchObject({ allowed: true })
    expect(await limiter.consume('failed-credentials', 'a')).toBeUndefined()

    const redis = new Redis(url)
    onTestFinished(() => redis.disconnect())
    const keys = await redis.keys('*')
    expect(keys.sort()).toEqual(
      ['occupations:a', 'occupations:b', 'probe:write', 'validation-results:a'].map((name) => `mahi:${name}`),
    )
    for (const key of keys) expect(await redis.ttl(key)).toBeGreaterThan(0)
  })

  test('a limit is renewed when its window ends', async () => {
    const { url } = await OwnRedis.start()
    const { limiter } = await startLimiter(url, { occupations: { requests: 1, seconds: 1 } })
    expect(await limiter.consume('occupations', 'a')).toMatchObject({ allowed: true, reset: 1 })
    await until(async () => (await limiter.consume('occupations', 'a'))?.allowed)
  })

  test('limiters count separately, report it once each, and share again when it returns', async () => {
    const redis = await OwnRedis.start({ down: true })
    const limits = { occupations: { requests: 5, seconds: 600 } }
    const both = await Promise.all([1, 2].map(() => startLimiter(redis.url, limits)))
    const countAllowed = async (caller: string) => {
      const verdicts = await Promise.all(
        Array.from({ length: 20 }, (_, index) => both[index % 2]?.limiter.consume('occupations', caller)),
      )
      return count(
        verdicts.map((verdict) => verdict?.allowed),
        true,
      )
    }
    expect(await countAllowed('early')).toBe(10)
    await redis.start()
    for (const { isUp } of both) await until(async () => await isUp())
    expect(await countAllowed('shared')).toBe(5)
    await redis.kill()
    expect(await countAllowed('alone')).toBe(10)
    await redis.start()
    for (const { isUp } of both) await until(async () => await isUp())
    expect(await countAllowed('again')).toBe(5)
    for (const { messages } of both) expect(messages()).toEqual([LOST, BACK, LOST, BACK])
  })

  test('no request to a process fails, whenever it comes, and the process stops without it', async () => {
    const redis = await OwnRedis.start()
    const { processes, ask } = await serve(2, { REDIS_URL: redis.url, RATE_LIMIT_OCCUPATIONS: '100000/600' })
    let over = false
    const statuses: (number | undefined)[] = []
    const caller = async (index: number) => {
      while (!over) statuses.push(await ask(processes[index % 2]))
    }
    const callers = Promise.all(Array.from({ length: 8 }, (_, index) => caller(index)))
    const askedMore = async () => {
      const before = statuses.length
      await until(() => statuses.length > before + 100)
    }
    await askedMore()
    await redis.kill()
    for (const each of processes) await waitUntilItSays(each, LOST)
    await askedMore()
    await redis.start()
    for (const each of processes) await waitUntilItSays(each, BACK)
    await askedMore()
    redis.freeze()
    for (const each of processes) await waitUntilItSays(each, LOST)
    await askedMore()
    over = true
    await callers
    expect(new Set(statuses)).toEqual(new Set([200]))
    expect(await Promise.all(processes.map((each) => each.command.stop()))).toEqual([0, 0])
  })

  test('a Redis that freezes is not waited for, and is used again when it thaws', async () => {
    const redis = await OwnRedis.start()
    const limits = { occupations: { requests: 3, seconds: 600 } }
    const { limiter, isUp, log, messages } = await startLimiter(redis.url, limits, 1_000)
    redis.freeze()
    const verdicts = await Promise.all(Array.from({ length: 5 }, () => limiter.consume('occupations', 'a')))
    expect(verdicts.filter((verdict) => verdict?.allowed)).toHaveLength(3)
    expect(log()).toMatchObject([{ level: 40, reason: 'Command timed out', msg: LOST }])
    redis.thaw()
    await until(async () => await isUp())
    expect(messages()).toEqual([LOST, BACK])
  })

  test('a Redis that responds but accepts no writes counts as lost', async () => {
    const redis = await OwnRedis.start()
    const { limiter, isUp, messages } = await startLimiter(redis.url, {
      occupations: { requests: 1, seconds: 600 },
    })
    await redis.run('replicaof', '127.0.0.1', '1')
    expect(await limiter.consume('occupations', 'a')).toMatchObject({ allowed: true })
    expect(await limiter.consume('occupations', 'a')).toMatchObject({ allowed: false })
    expect(await isUp()).toBe(false)
    expect(messages()).toEqual([LOST])
    await redis.run('replicaof', 'no', 'one')
    await until(async () => await isUp())
    expect(messages()).toEqual([LOST, BACK])
  })

  test('a wrong password counts as lost and is not in the log', async () => {
    const redis = await OwnRedis.start({ options: ['--requirepass', 'the-right-one'] })
    const url = (password: string) => redis.url.replace('//', `//:${password}@`)
    const wrong = await startLimiter(url('a-wrong-one'), { occupations: { requests: 1, seconds: 600 } })
    expect(await wrong.limiter.consume('occupations', 'a')).toMatchObject({ allowed: true })
    expect(wrong.messages()).toEqual([LOST])
    expect(wrong.log()[0]?.reason).toContain('WRONGPASS')
    expect(JSON.stringify(wrong.log())).not.toContain('a-wrong-one')
    const right = await startLimiter(url('the-right-one'), { occupations: { requests: 1, seconds: 600 } })
    expect(await right.isUp()).toBe(true)
  })
})
