import { setImmediate, setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import type { Reader } from '../../src/foundation/database/database.ts'
import { Cluster, hasCluster } from '../support/cluster.ts'
import { Installation, toLines, until } from '../support/command.ts'
import { checkPage, fillDatabase, UNLIMITED, withDatabase } from '../support/filled-database.ts'
import { ask, Load } from '../support/load.ts'
import { PausableProxy } from '../support/pausable-proxy.ts'

/** Reads reach the database each time, as no page is kept. */
const UNCACHED = { ...UNLIMITED, PAGE_CACHE_MB: '0', LOG_LEVEL: 'info' }

describe.skipIf(!hasCluster)('with a PostgreSQL of its own', () => {
  let cluster: Cluster
  beforeAll(async () => {
    cluster = await Cluster.start()
  })
  afterAll(async () => {
    await cluster?.remove()
  })

  test('a server that is killed under load costs nothing but 503s, and nothing acknowledged', async () => {
    const mahi = new Installation()
    const DATABASE_URL = await cluster.createDatabase('killed')
    const { questions, headers } = await fillDatabase(DATABASE_URL)
    const { url } = await mahi.serve({ ...UNCACHED, DATABASE_URL })
    const load = new Load([url], questions, { check: checkPage })
    const writing = new Writing(mahi, DATABASE_URL)

    for (let round = 0; round < 2; round++) {
      await writing.untilMore(2)
      await cluster.kill()
      await load.untilMore('unavailable', 50)
      await cluster.start()
      await load.untilMore('ok', 200)
    }
    await writing.untilMore(2)
    const { codes, tokens, refused } = await writing.stop()
    const counts = await load.stop()

    process.stdout.write(
      `${load.describe('kill -9 of PostgreSQL, twice').trimEnd()}; ${codes.length} imports and ${tokens.length} publishes acknowledged, ${refused.length} commands refused\n`,
    )
    expect(counts.otherwise).toEqual([])
    for (const code of codes) {
      const { body } = await ask(`${url}/v1/occupations?Limit=1&Cursor=${code}`, headers)
      expect(JSON.parse(body).data).toMatchObject([{ occupationCode: code }])
    }
    for (const { token, localId } of tokens) {
      const { body } = await ask(`${url}/v1/submissions/${token}/validation-results`, headers)
      expect(JSON.parse(body).results).toMatchObject([{ localId }])
    }
    // Each says so in one line, in the operator's terms.
    for (const line of refused) expect(line).toMatch(/^postgres:\/\/[^\n]+\n$/)
  })

  test('an unreachable server is reported at once after the first requests, and used again when it is back', async () => {
    const mahi = new Installation()
    const DATABASE_URL = await cluster.createDatabase('cut_off')
    const { questions, headers } = await fillDatabase(DATABASE_URL)
    const proxy = await PausableProxy.start(cluster.port)
    const { url } = await mahi.serve({ ...UNCACHED, DATABASE_URL: cluster.url('cut_off', proxy.port) })
    const load = new Load([url], questions, { check: checkPage })
    await load.untilMore('ok', 100)

    proxy.pause()
    await load.untilMore('unavailable', 1)
    // Each of these would take seconds if it waited for the server: there would be no time for so many.
    for (let count = 0; count < 100; count++) {
      const { status, headers: sent } = await ask(url + questions[count % 8]?.path, headers)
      expect([status, sent['retry-after']]).toEqual([503, '1'])
    }
    expect((await ask(`${url}/readyz`, {})).status).toBe(503)
    expect((await ask(`${url}/livez`, {})).status).toBe(200)

    proxy.resume()
    await load.untilMore('ok', 100)
    const counts = await load.stop()
    process.stdout.write(load.describe('PostgreSQL cut off without a word'))
    expect(counts.otherwise).toEqual([])
  })

  test('a stalled process does not consider the server unresponsive', async () => {
    const url = await cluster.createDatabase('stood_still')
    await withDatabase(url, async (database) => {
      const follower = database.follow(() => undefined)
      onTestFinished(() => follower.stop())
      const ask = (reader: Reader) => reader.get('select 1 as one from pg_sleep(1)')
      // Both have a connection that will be waited for.
      await Promise.all([ask(database), ask(follower)])

      const reading = Promise.all([ask(database), ask(follower)])
      await sleep(100)
      // From here the loop goes on to the timers of the driver, and reads the answers, which have long been there, later.
      await setImmediate()
      const end = performance.now() + 5_000
      while (performance.now() < end);
      expect(await reading).toEqual([{ one: 1 }, { one: 1 }])
    })
  })

  test('requests use a limited number of connections, and those that would wait in vain are rejected', async () => {
    const mahi = new Installation()
    const DATABASE_URL = await cluster.createDatabase('busy')
    const { questions, headers } = await fillDatabase(DATABASE_URL)
    const { url } = await mahi.serve({ ...UNCACHED, DATABASE_URL, DATABASE_POOL_SIZE: '3' })
    const load = new Load([url], questions, { check: checkPage, callers: 40 })
    const used: number[] = []
    await load.until(({ ok }) => ok > 0)
    while (used.length < 20) {
      const [row] = await cluster.query<{ used: string }>(
        `select count(*) as used from pg_stat_activity where datname = 'busy' and application_name = 'mahi'`,
      )
      used.push(Number(row?.used))
    }
    expect((await load.stop()).otherwise).toEqual([])
    expect(Math.max(...used)).toBeLessThanOrEqual(3)

    const answered = await cluster.session(async (client) => {
      await client.query('begin; lock table occupation in access exclusive mode')
      // 3 are being worked on, and 150 may wait for them. Each requests a different page, because equal requests share a query.
      const statuses: number[] = []
      const asked = Array.from({ length: 400 }, async (_, index) => {
        const { status } = await ask(`${url}/v1/occupations?Limit=1&Cursor=C${index}`, headers)
        statuses.push(status)
      })
      await until(() => (statuses.length >= 400 - 153 ? true : undefined))
      expect(new Set(statuses)).toEqual(new Set([503]))
      await client.query('rollback')
      await Promise.all(asked)
      return statuses
    }, 'busy')
    const turnedAway = answered.filter((status) => status === 503).length
    process.stdout.write(
      `a pool of 3 with 400 requests at once: ${turnedAway} turned away with 503, ${400 - turnedAway} answered 200\n`,
    )
    expect(answered.every((status) => status === 200 || status === 503)).toBe(true)
    expect(turnedAway).toBeGreaterThanOrEqual(400 - 153)
    expect((await ask(url + questions[0]?.path, headers)).status).toBe(200)
  })

  test('a slow read is aborted, but a slower import is not', async () => {
    const mahi = new Installation()
    const DATABASE_URL = await cluster.createDatabase('slow')
    const { questions, headers } = await fillDatabase(DATABASE_URL)
    const { url } = await mahi.serve({ ...UNCACHED, DATABASE_URL })
    await cluster.session(async (client) => {
      await client.query('begin; lock table occupation in access exclusive mode')
      const command = mahi.start(['occupations', 'import', '--json', '-'], {
        input: toLines([{ occupationCode: 'SLOW' }]),
        environment: { DATABASE_URL },
      })
      await until(async () => {
        const [row] = await cluster.query<{ waiting: string }>(
          `select count(*) as waiting from pg_stat_activity where datname = 'slow' and wait_event_type = 'Lock'`,
        )
        return Number(row?.waiting) > 0 ? true : undefined
      })
      // The import waits for as long as two reads after each other do.
      for (let count = 0; count < 2; count++) {
        expect((await ask(url + questions[0]?.path, headers)).status).toBe(503)
      }
      expect(command.child.exitCode).toBeNull()
      await client.query('rollback')
      expect(await command.ended).toMatchObject({ code: 0 })
    }, 'slow')
    expect((await ask(`${url}/v1/occupations?Cursor=SLOW`, headers)).body).toContain('"SLOW"')
  })

  describe('a load of rows', () => {
    const row = (ordinal: number) => [1, ordinal, `{"localId":"${'x'.repeat(1000)}"}`] as const
    const COLUMNS = ['run', 'ordinal', 'document']

    function* rows(count: number) {
      for (let ordinal = 0; ordinal < count; ordinal++) yield row(ordinal)
    }

    test('that breaks in the middle stores nothing and leaves the connection fit for the next', async () => {
      const url = await cluster.createDatabase('broken_load')
      await withDatabase(url, async (database) => {
        const load = (given: Iterable<ReturnType<typeof row>>) =>
          database.write('run', (writer) => writer.load('result_entry', COLUMNS, given))
        const count = () => database.get('select count(*) as count from result_entry')

        function* repeated() {
          yield* rows(5000)
          yield row(17)
        }
        await expect(load(repeated())).rejects.toThrow(/duplicate key/)
        function* failing() {
          yield* rows(5000)
          throw new Error('the input ends in the middle')
        }
        await expect(load(failing())).rejects.toThrow('the input ends in the middle')
        expect(await count()).toEqual({ count: 0 })

        expect(await load(rows(5000))).toBe(5000)
        expect(await count()).toEqual({ count: 5000 })
      })
    })

    test('whose connection is lost in the middle fails, and the next is made on another', async () => {
      const url = await cluster.createDatabase('lost_load')
      await withDatabase(url, async (database) => {
        const losing = database.write('run', async (writer) => {
          const own = await writer.get<{ pid: number }>('select pg_backend_pid() as pid')
          async function* losingRows() {
            yield* rows(5000)
            await cluster.query(`select pg_terminate_backend(${own?.pid})`)
            yield* rows(500_000)
          }
          return await writer.load('result_entry', COLUMNS, losingRows())
        })
        await expect(losing).rejects.toThrow(
          /^postgres:.*(?:disconnected|has closed this connection|did not respond)/,
        )
        expect(await database.write('run', (writer) => writer.load('result_entry', COLUMNS, rows(10)))).toBe(
          10,
        )
        expect(await database.get('select count(*) as count from result_entry')).toEqual({ count: 10 })
      })
    })

    test('buffers no more than the server accepts', async () => {
      await cluster.createDatabase('slow_load')
      const proxy = await PausableProxy.start(cluster.port)
      await withDatabase(cluster.url('slow_load', proxy.port), async (database) => {
        let taken = 0
        async function* endless() {
          for (const each of rows(80_000)) {
            if (++taken === 1000) proxy.pause()
            yield each
          }
        }
        const loading = database.write('run', (writer) => writer.load('result_entry', COLUMNS, endless()))
        // Nothing more is asked for once every buffer on the way is full.
        let before = -1
        await until(async () => {
          const still = taken === before
          before = taken
          await sleep(200)
          return still && taken === before && taken >= 1000 ? true : undefined
        })
        process.stdout.write(
          `a load of 80 MB to a server that takes nothing: ${Math.round(taken / 1000)} MB read\n`,
        )
        expect(taken).toBeLessThan(30_000)
        proxy.resume()
        expect(await loading).toBe(80_000)
      })
    })
  })

  describe('a command reports what is wrong with the server in one line', () => {
    async function complain(url: string): Promise<string> {
      const { code, stdout, stderr } = await new Installation().run(['migrate'], {
        environment: { DATABASE_URL: url },
      })
      expect([code, stdout]).toEqual([1, ''])
      return stderr
    }

    test('a refused connection, or no response', async () => {
      const proxy = await PausableProxy.start(cluster.port)
      const silent = cluster.url('postgres', proxy.port)
      proxy.pause()
      expect(await complain(silent)).toBe(`${silent} did not respond in time. Is the server running?\n`)
      const nobody = cluster.url('postgres', 1)
      expect(await complain(nobody)).toBe(
        `${nobody} did not respond (ECONNREFUSED). Is the server running?\n`,
      )
    })

    test('no such database, user or schema, a wrong password or none, no rights', async () => {
      const own = await Cluster.start()
      onTestFinished(() => own.remove())
      await own.query(`create user visitor password 'right'`)
      await own.requirePasswords()
      const at = `127.0.0.1:${own.port}/postgres`
      const as = (user: string) => `postgres://${user}@${at}`
      expect(await complain(own.url('absent'))).toBe(
        `${own.url('absent')} does not exist. Create the database, or name another in DATABASE_URL\n`,
      )
      for (const user of ['visitor:wrong', 'nobody:right']) {
        const shown = as(user.replace(/:.*/, ':***'))
        expect(await complain(as(user))).toBe(
          `${shown} rejected the user or the password. Check DATABASE_URL\n`,
        )
      }
      expect(await complain(as('visitor'))).toBe(
        `${as('visitor')} requires a password. Add it to DATABASE_URL\n`,
      )
      expect(await complain(as('visitor:right'))).toBe(
        `${as('visitor:***')} does not let this user create or read tables. Grant it the privileges, or name another user\n`,
      )
      expect(await complain(`${as('mahi')}?options=-c%20search_path%3Dabsent`)).toBe(
        `${as('mahi')} has no schema of that name. Create it, or change the search path in DATABASE_URL\n`,
      )
    })

    test('TLS that it does not offer', async () => {
      expect(await complain(`${cluster.url('postgres')}?sslmode=require`)).toBe(
        `${cluster.url('postgres')} does not support TLS. Enable it on the server, or remove sslmode from DATABASE_URL\n`,
      )
    })

    test('no connection left', async () => {
      await cluster.query(`create database crowded connection limit 0`)
      await cluster.query(`create user guest`)
      const url = cluster.url('crowded').replace('mahi@', 'guest@')
      expect(await complain(url)).toMatch(/ has no free connection. Raise its max_connections/)
    })
  })
})

/** Imports and publishes by real commands, one after the other, and what they acknowledged. */
class Writing {
  readonly #mahi: Installation
  readonly #environment: Record<string, string>
  readonly #codes: string[] = []
  readonly #tokens: { token: string; localId: string }[] = []
  readonly #refused: string[] = []
  readonly #loops: Promise<void>[]
  #stopping = false

  constructor(mahi: Installation, DATABASE_URL: string) {
    this.#mahi = mahi
    this.#environment = { DATABASE_URL }
    this.#loops = [this.#import(), this.#publish()]
  }

  /** Waits until so many more of each have been acknowledged. */
  async untilMore(count: number): Promise<void> {
    const [codes, tokens] = [this.#codes.length, this.#tokens.length]
    await until(() =>
      this.#codes.length >= codes + count && this.#tokens.length >= tokens + count ? true : undefined,
    )
  }

  async stop() {
    this.#stopping = true
    await Promise.all(this.#loops)
    return { codes: this.#codes, tokens: this.#tokens, refused: this.#refused }
  }

  async #import(): Promise<void> {
    for (let number = 0; !this.#stopping; number++) {
      const code = `N${number}`
      const done = await this.#run(['occupations', 'import', '-'], { occupationCode: code })
      if (done !== undefined) this.#codes.push(code)
    }
  }

  async #publish(): Promise<void> {
    for (let number = 0; !this.#stopping; number++) {
      const localId = `N${number}`
      const parameters = ['results', 'publish', '--eid', '1001', '--return', 'R1', '-']
      const token = await this.#run(parameters, { localId })
      if (token !== undefined) this.#tokens.push({ token, localId })
    }
  }

  /** What an acknowledged command printed. */
  async #run(parameters: readonly string[], record: unknown): Promise<string | undefined> {
    const { code, stdout, stderr } = await this.#mahi.run(parameters, {
      input: toLines([record]),
      environment: this.#environment,
    })
    if (code === 0) return stdout.trim()
    this.#refused.push(stderr)
    return undefined
  }
}
