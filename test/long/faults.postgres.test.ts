import { setImmediate, setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import type { Database, Reader, Writer } from '../../src/foundation/database/database.ts'
import { RevisionWatch } from '../../src/foundation/database/revision-watch.ts'
import { bumpRevision } from '../../src/foundation/database/revisions.ts'
import { Cluster, hasCluster } from '../support/cluster.ts'
import { Installation, toLines, until } from '../support/command.ts'
import { checkPage, fillDatabase, UNLIMITED, withDatabase } from '../support/filled-database.ts'
import { ask, Load, type Question } from '../support/load.ts'
import { PausableProxy } from '../support/pausable-proxy.ts'

const LOST = /"level":"error".*the database is unavailable/
const BACK = /the database is available again/

/** A server of a filled database, with its metrics. Reads reach the database each time, as no page is kept. */
async function serve(primary: Cluster, environment: Readonly<Record<string, string>> = {}) {
  const DATABASE_URL = await primary.createDatabase('mahi')
  const filled = await fillDatabase(DATABASE_URL)
  const mahi = new Installation({ inProcesses: true })
  const common = { ...UNLIMITED, PAGE_CACHE_MB: '0', LOG_LEVEL: 'info', DATABASE_URL }
  const { url, command, readMetrics } = await mahi.serveWithMetrics({ ...common, ...environment })
  const get = (path: string, headers: Record<string, string> = {}) =>
    ask(url + path, { ...filled.headers, ...headers })
  const metric = async (series: string) => {
    const value = (await readMetrics()).split('\n').find((line) => line.startsWith(`${series} `))
    return Number(value?.slice(series.length + 1))
  }
  return { ...filled, mahi, url, command, get, metric, DATABASE_URL }
}

describe.skipIf(!hasCluster)('with a PostgreSQL of its own', () => {
  let cluster: Cluster
  beforeAll(async () => {
    cluster = await Cluster.start()
  })
  afterAll(async () => {
    await cluster?.remove()
  })

  test('a replica that lost the primary is not ready, keeps no pages, says so once and recovers', async () => {
    const proxy = await PausableProxy.start(cluster.port)
    const { get, command, metric, questions } = await serve(cluster, {
      DATABASE_URL: cluster.url('mahi', proxy.port),
      OCCUPATIONS_ACCESS: 'public',
      PAGE_CACHE_MB: '64',
    })
    const statusOf = async (path: string) => (await get(path)).status
    expect(await statusOf('/readyz')).toBe(200)
    const { headers } = await get('/v1/occupations?Limit=3')
    const etag = String(headers.etag)
    expect(await metric('mahi_primary_up')).toBe(1)

    // Nobody asks for anything while it goes.
    proxy.pause()
    await command.output(LOST)
    expect(await metric('mahi_primary_up')).toBe(0)
    await until(async () => ((await metric('mahi_revisions_age_seconds')) > 5 ? true : undefined))
    expect(await statusOf('/readyz')).toBe(503)
    expect(await statusOf('/livez')).toBe(200)
    for (const { path } of [questions[0], questions.at(-1)] as Question[]) {
      const { status, headers: sent } = await get(path)
      expect([status, sent['retry-after']]).toEqual([503, '1'])
    }

    proxy.resume()
    await command.output(BACK)
    await until(async () => ((await statusOf('/readyz')) === 200 ? true : undefined))
    expect((await get('/v1/occupations?Limit=3', { 'if-none-match': etag })).status).toBe(304)
    expect(command.stdout.match(new RegExp(LOST, 'g'))).toHaveLength(1)
  })

  test('when no more connections are allowed, changes are still followed over the open ones', async () => {
    await fillDatabase(await cluster.createDatabase('limited'))
    const mahi = new Installation({ inProcesses: true })
    await cluster.query('create role limited login')
    await cluster.query('grant all on all tables in schema public to limited', 'limited')
    const DATABASE_URL = cluster.url('limited').replace('mahi@', 'limited@')
    const { url } = await mahi.serve({ ...UNLIMITED, DATABASE_URL, OCCUPATIONS_ACCESS: 'public' })
    const count = async () => JSON.parse((await ask(`${url}/v1/occupations`, {})).body).totalCount as number
    const before = await count()
    // The connection that follows is ended, and a new one is refused.
    await cluster.query('alter role limited connection limit 1')
    await cluster.query(
      `select pg_terminate_backend(pid) from pg_stat_activity where usename = 'limited' and application_name = 'mahi-follower'`,
    )
    const input = '{"occupationCode":"ZZZ"}\n'
    const environment = { DATABASE_URL: cluster.url('limited') }
    await mahi.runJson(['occupations', 'import', '-'], { input, environment })
    await until(async () => ((await count()) === before + 1 ? true : undefined))
  })

  test('the procedure of a failover: promote, move the address, and nothing acknowledged is lost', async () => {
    const primary = await Cluster.start()
    onTestFinished(() => primary.remove())
    const standby = await primary.startStandby()
    onTestFinished(() => standby.remove())
    // With synchronous replication a commit is acknowledged once the standby has it.
    await primary.query(`alter system set synchronous_standby_names = '*'`)
    await primary.query('select pg_reload_conf()')
    const proxy = await PausableProxy.start(primary.port)
    const environment = { DATABASE_URL: primary.url('mahi', proxy.port) }
    const { get, command, mahi, metric } = await serve(primary, environment)
    const key = async () =>
      (await mahi.runJson(['keys', 'create', '--client', 'acknowledged'], { environment })) as { key: string }
    const { key: before } = await key()

    await primary.kill()
    await command.output(LOST)
    await standby.promote()
    proxy.redirect(standby.port)
    await command.output(BACK)
    await until(async () => ((await get('/readyz')).status === 200 ? true : undefined))
    expect((await get('/v1/occupations', { 'x-api-key': before })).status).toBe(200)
    // The new primary waits for no standby yet.
    const { key: after } = await key()
    await until(async () =>
      (await get('/v1/occupations', { 'x-api-key': after })).status === 200 ? true : undefined,
    )
    expect(await metric('mahi_primary_up')).toBe(1)
  })

  test('a replica is killed under load: its callers turn to another one, and none of them fails', async () => {
    const { mahi, url, command, questions, DATABASE_URL } = await serve(cluster)
    const others = await Promise.all([1, 2].map(() => mahi.serve({ ...UNLIMITED, DATABASE_URL })))
    const replicas = [{ url, command }, ...others]
    const load = new Load(
      replicas.map(({ url }) => url),
      questions,
      { check: checkPage },
    )
    await load.untilMore('ok', 300)
    const [first, second] = replicas
    first?.command.kill('SIGKILL')
    expect(await first?.command.ended).toMatchObject({ signal: 'SIGKILL' })
    await load.untilMore('ok', 300)
    second?.command.kill('SIGKILL')
    await load.untilMore('ok', 300)
    const counts = await load.stop()
    expect(counts.otherwise).toEqual([])
    expect(counts.retried).toBeGreaterThan(0)
    // What a dead process held is given back: the last one can change and serve everything.
    await until(async () => {
      const [row] = await cluster.query<{ count: string }>(
        `select count(*) as count from pg_stat_activity where datname = 'mahi' and application_name = 'mahi-follower'`,
      )
      return row?.count === '1' ? true : undefined
    })
  })

  test('a replica that stops while its database is unreachable still exits with 0', async () => {
    const proxy = await PausableProxy.start(cluster.port)
    const { mahi, get, command, DATABASE_URL } = await serve(cluster, {
      DATABASE_URL: cluster.url('mahi', proxy.port),
    })
    expect((await get('/v1/occupations?Limit=3')).status).toBe(200)
    proxy.pause()
    const asked = get('/v1/occupations?Limit=4')
    // Connections are taken in their order: after this answer the question has arrived too.
    expect((await get('/livez')).status).toBe(200)
    command.kill('SIGTERM')
    expect((await asked).status).toBe(503)
    expect(await command.ended).toMatchObject({ code: 0, signal: null })
    // A process that is started meanwhile on a way that works is not in its way.
    const { url } = await mahi.serve({ ...UNLIMITED, DATABASE_URL })
    expect((await ask(`${url}/readyz`, {})).status).toBe(200)
  })

  test('a stalled process does not consider the server unresponsive', async () => {
    const url = await cluster.createDatabase('stood_still')
    await withDatabase(url, async (database) => {
      const follower = database.follow()
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

  test('once the server responds to a follower, by which a process is ready, reads are served', async () => {
    await cluster.createDatabase('silent')
    const proxy = await PausableProxy.start(cluster.port)
    await withDatabase(cluster.url('silent', proxy.port), async (database) => {
      const follower = database.follow()
      onTestFinished(() => follower.stop())
      const ask = (reader: Reader) => reader.get('select 1 as one')
      await Promise.all([ask(database), ask(follower)])
      proxy.pause()
      await expect(ask(database)).rejects.toThrow('did not respond in time')
      proxy.resume()
      await until(() =>
        ask(follower).then(
          () => true,
          () => undefined,
        ),
      )
      expect(await ask(database)).toEqual({ one: 1 })
    })
  })

  test('requests use a limited number of connections, and those that would wait in vain are rejected', async () => {
    const { url, questions, get } = await serve(cluster, { DATABASE_POOL_SIZE: '3' })
    const load = new Load([url], questions, { check: checkPage, callers: 40 })
    const used: number[] = []
    await load.until(({ ok }) => ok > 0)
    while (used.length < 20) {
      const [row] = await cluster.query<{ used: string }>(
        `select count(*) as used from pg_stat_activity where datname = 'mahi' and application_name = 'mahi'`,
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
        statuses.push((await get(`/v1/occupations?Limit=1&Cursor=C${index}`)).status)
      })
      await until(() => (statuses.length >= 400 - 153 ? true : undefined))
      expect(new Set(statuses)).toEqual(new Set([503]))
      await client.query('rollback')
      await Promise.all(asked)
      return statuses
    }, 'mahi')
    const turnedAway = answered.filter((status) => status === 503).length
    expect(answered.every((status) => status === 200 || status === 503)).toBe(true)
    expect(turnedAway).toBeGreaterThanOrEqual(400 - 153)
    expect((await get('/v1/occupations')).status).toBe(200)
  })

  test('a slow read is aborted, but a slower import is not', async () => {
    const { mahi, get, DATABASE_URL } = await serve(cluster)
    await cluster.session(async (client) => {
      await client.query('begin; lock table occupation in access exclusive mode')
      const command = mahi.start(['occupations', 'import', '--json', '-'], {
        input: toLines([{ occupationCode: 'SLOW' }]),
        environment: { DATABASE_URL },
      })
      await until(async () => {
        const [row] = await cluster.query<{ waiting: string }>(
          `select count(*) as waiting from pg_stat_activity where datname = 'mahi' and wait_event_type = 'Lock'`,
        )
        return Number(row?.waiting) > 0 ? true : undefined
      })
      // The import waits for as long as two reads after each other do.
      for (let count = 0; count < 2; count++) expect((await get('/v1/occupations')).status).toBe(503)
      expect(command.child.exitCode).toBeNull()
      await client.query('rollback')
      expect(await command.ended).toMatchObject({ code: 0 })
    }, 'mahi')
    expect((await get('/v1/occupations?Cursor=SLOW')).body).toContain('"SLOW"')
  })

  test('a load of rows whose connection is lost in the middle fails, and the next is made on another', async () => {
    const url = await cluster.createDatabase('lost_load')
    function* rows(count: number) {
      for (let ordinal = 0; ordinal < count; ordinal++)
        yield [ordinal, `{"localId":"${'x'.repeat(1000)}"}`] as const
    }
    await withDatabase(url, async (database) => {
      const load = (writer: Writer, source: Parameters<Writer['load']>[2]) =>
        writer.load('search_synonym', ['position', 'phrases'], source)
      const losing = database.write('run', async (writer) => {
        const own = await writer.get<{ pid: number }>('select pg_backend_pid() as pid')
        async function* losingRows() {
          yield* rows(5000)
          await cluster.query(`select pg_terminate_backend(${own?.pid})`)
          yield* rows(500_000)
        }
        return await load(writer, losingRows())
      })
      await expect(losing).rejects.toThrow(
        /^postgres:.*(?:disconnected|has closed this connection|did not respond)/,
      )
      expect(await database.write('run', (writer) => load(writer, rows(10)))).toBe(10)
      expect(await database.get('select count(*) as count from search_synonym')).toEqual({ count: 10 })
    })
  })

  test('a watch of revisions connects again when its connection is lost, and says when it sees nothing', async () => {
    await cluster.createDatabase('watched')
    const proxy = await PausableProxy.start(cluster.port)
    const change = (database: Database) =>
      database.write('catalogue', (writer) => bumpRevision(writer, 'catalogue'))
    await withDatabase(cluster.url('watched', proxy.port), async (database) => {
      const watch = await RevisionWatch.start(database)
      const sees = (count: number) =>
        until(() => (watch.current.catalogue.number === count ? true : undefined))
      for (let count = 1; count <= 3; count++) {
        const following = `from pg_stat_activity where datname = 'watched' and application_name = 'mahi-follower'`
        await until(async () =>
          (await cluster.query(`select pid ${following}`)).length === 1 ? true : undefined,
        )
        await cluster.query(`select pg_terminate_backend(pid) ${following}`)
        await change(database)
        await sees(count)
      }
      let blind = 0
      watch.onStale(() => blind++)
      proxy.pause()
      await until(() => (blind > 0 ? true : undefined))
      await withDatabase(cluster.url('watched'), change)
      proxy.resume()
      await sees(4)
      await watch.stop()
    })
  })

  test('a command reports what is wrong with the server in one line', async () => {
    const complain = async (DATABASE_URL: string) => {
      const outcome = await new Installation().run(['migrate'], { environment: { DATABASE_URL } })
      expect([outcome.code, outcome.stdout]).toEqual([1, ''])
      return outcome.stderr
    }
    const proxy = await PausableProxy.start(cluster.port)
    proxy.pause()
    const own = await Cluster.start()
    onTestFinished(() => own.remove())
    await own.query(`create user visitor password 'right'`)
    await own.query('create database crowded connection limit 0')
    await own.requirePasswords()
    const as = (user: string) => own.url('postgres').replace('mahi@', `${user}@`)
    for (const [url, message] of [
      [cluster.url('postgres', proxy.port), /did not respond in time\. Is the server running\?\n$/],
      [cluster.url('postgres', 1), /did not respond \(ECONNREFUSED\)/],
      [`${cluster.url('postgres')}?sslmode=require`, /does not support TLS/],
      [own.url('absent'), /does not exist\. Create the database/],
      [as('visitor:wrong'), /visitor:\*{3}@\S+ rejected the user or the password/],
      [as('nobody:right'), /rejected the user or the password/],
      [as('visitor'), /requires a password/],
      [as('visitor:right'), /visitor:\*{3}@\S+ are not up to date, and this user may not change them/],
      [as('visitor:right').replace('/postgres', '/crowded'), /has no free connection/],
      [`${as('mahi')}?options=-c%20search_path%3Dabsent`, /has no schema of that name/],
    ] as const)
      expect(await complain(url)).toMatch(
        new RegExp(`^(?:The tables of )?postgres://[^\\n]*${message.source}`),
      )
  })
})
