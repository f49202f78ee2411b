import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { Cluster, hasCluster } from './support/cluster.ts'
import { Installation, toLines, until } from './support/command.ts'
import { checkPage, fillDatabase, UNLIMITED } from './support/filled-database.ts'
import { ask, Load } from './support/load.ts'
import { PausableProxy } from './support/pausable-proxy.ts'

const PUBLISH = ['results', 'publish', '--eid', '1001', '--return', 'R1']
const LEFT = /the standby is unavailable: reads go to the primary/
const REFUSED = /it belongs to a different database cluster than the primary.*the standby is not used/
const RETURNED = /the standby is available again and serves reads/

const toCodes = (ndjson: string) =>
  ndjson
    .trim()
    .split('\n')
    .map((line) => (JSON.parse(line) as { occupationCode: string }).occupationCode)

describe.skipIf(!hasCluster)('with a primary and a standby that streams from it', () => {
  let primary: Cluster
  let standby: Cluster
  beforeAll(async () => {
    primary = await Cluster.start()
    standby = await primary.startStandby({ max_standby_streaming_delay: '0' })
  })
  afterAll(async () => {
    await standby?.remove()
    await primary?.remove()
  })

  /** A filled database that has reached the standby, and a server that reads there. */
  async function serve(name: string, environment: Record<string, string> = {}) {
    const DATABASE_URL = await primary.createDatabase(name)
    const filled = await fillDatabase(DATABASE_URL)
    await standby.catchUp(primary)
    const mahi = new Installation()
    const { url, command } = await mahi.serve({
      ...UNLIMITED,
      LOG_LEVEL: 'info',
      DATABASE_URL,
      DATABASE_READ_URL: standby.url(name),
      ...environment,
    })
    const get = (path: string, headers: Record<string, string> = {}) =>
      ask(url + path, { ...filled.headers, ...headers })
    /** Runs a command that has to succeed. */
    const run = async (parameters: readonly string[], records: readonly unknown[]) => {
      const input = toLines(records)
      return await mahi.runJson([...parameters, '-'], { input, environment: { DATABASE_URL } })
    }
    /** Another server of the same database, which reads at the primary. */
    const serveAlso = async () => {
      const { url: at } = await mahi.serve({ ...UNLIMITED, LOG_LEVEL: 'info', DATABASE_URL })
      return { get: (path: string) => ask(at + path, filled.headers) }
    }
    return { ...filled, url, command, get, run, serveAlso }
  }

  /** Connections of a server whose last statement read a page. */
  async function countReaders(cluster: Cluster, name: string): Promise<number> {
    const [row] = await cluster.query<{ count: string }>(
      `select count(*) as count from pg_stat_activity
       where datname = '${name}' and application_name = 'mahi' and query like '%document%'`,
    )
    return Number(row?.count)
  }

  test('the reads of both operations are made there, and those of the primary are keys and revisions', async () => {
    const { get, token } = await serve('read_there')
    for (const path of ['/v1/occupations', `/v1/submissions/${token}/validation-results`]) {
      expect((await get(path)).status).toBe(200)
      expect(await countReaders(standby, 'read_there')).toBe(1)
    }
    expect(await countReaders(primary, 'read_there')).toBe(0)
  })

  test('while it lags it is never taken for newer than it is', async () => {
    const { get, run, token, serveAlso } = await serve('lagging')
    const results = `/v1/submissions/${token}/validation-results`
    const old = { page: await get('/v1/occupations'), results: await get(results) }
    const newest = JSON.parse(old.page.body).data[0].lastUpdatedDate as string
    const window = `/v1/occupations?Filter.LastUpdatedAfter=${newest}`
    await standby.pauseReplay()
    try {
      await run(['occupations', 'import'], [{ occupationCode: 'A-NEW' }])
      await run([...PUBLISH, '--token', token], [{ localId: 'second run' }])
      const { submissionToken } = (await run(PUBLISH, [{ localId: 'unheard of' }])) as {
        submissionToken: string
      }
      const other = await serveAlso()
      // The process has heard of the import, and so has forgotten its pages, once it knows what is newer.
      const { headers: newer } = await other.get('/v1/occupations')
      const heard = async () => (await get('/v1/occupations', { 'if-none-match': String(newer.etag) })).status
      await until(async () => ((await heard()) === 304 ? true : undefined))

      const lagging = { page: await get('/v1/occupations'), results: await get(results) }
      for (const name of ['page', 'results'] as const) {
        expect([lagging[name].headers.etag, lagging[name].body]).toEqual([
          old[name].headers.etag,
          old[name].body,
        ])
      }
      expect(JSON.parse((await get(window)).body).totalCount).toBe(0)
      // Whoever has seen the newer state asks for it, and gets it from the primary.
      const since = await get('/v1/occupations', { 'x-min-revision': String(newer.etag) })
      expect([since.status, since.headers.etag]).toEqual([200, newer.etag])
      const { headers: newResults } = await other.get(results)
      const found = await get(results, { 'x-min-revision': String(newResults.etag) })
      expect([found.headers.etag, JSON.parse(found.body).results]).toEqual([
        newResults.etag,
        [{ localId: 'second run' }],
      ])
      // What the standby has never heard of is looked up at the primary.
      const { body } = await get(`/v1/submissions/${submissionToken}/validation-results`)
      expect(JSON.parse(body).results).toEqual([{ localId: 'unheard of' }])
    } finally {
      await standby.resumeReplay()
    }
    await standby.catchUp(primary)
    const after = await get('/v1/occupations')
    expect(after.headers.etag).not.toBe(old.page.headers.etag)
    expect(JSON.parse(after.body).data[0]).toMatchObject({ occupationCode: 'A-NEW' })
    // A mirror that asked while there was nothing to see asks again, and misses nothing.
    expect(JSON.parse((await get(window)).body).data).toMatchObject([{ occupationCode: 'A-NEW' }])
    expect(JSON.parse((await get(results)).body).results).toEqual([{ localId: 'second run' }])
  })

  test('a mirror that asks replicas of different lag loses nothing and never goes back', async () => {
    const { get, run, url, headers } = await serve('lagging_feed')
    const mahi = new Installation()
    const mirror = async (at: string) => {
      const { code, stderr } = await mahi.run(['mirror', at, 'copy', '--json'], {
        environment: { MAHI_API_KEY: String(headers['x-api-key']) },
      })
      expect([code, stderr]).toEqual([0, expect.any(String)])
      return toCodes(mahi.read('copy/occupations.ndjson'))
    }
    const other = await mahi.serve({ ...UNLIMITED, DATABASE_URL: primary.url('lagging_feed') })
    expect(await mirror(url)).toHaveLength(60)
    await standby.pauseReplay()
    try {
      await run(['occupations', 'import'], [{ occupationCode: 'A-NEW' }])
      // The replica that reads at the primary knows it, and the one that reads at the standby does not.
      await until(async () => ((await mirror(other.url)).includes('A-NEW') ? true : undefined))
      const page = JSON.parse((await get('/v1/occupations')).body) as { totalCount: number }
      expect(page.totalCount).toBe(60)
      // A token of the newer state is answered from the primary, not with an older state or 410.
      expect(await mirror(url)).toContain('A-NEW')
      await run(['occupations', 'import'], [{ occupationCode: 'A-NEWER' }])
      await until(async () => ((await mirror(url)).includes('A-NEWER') ? true : undefined))
    } finally {
      await standby.resumeReplay()
    }
    await standby.catchUp(primary)
    expect(await mirror(url)).toHaveLength(62)
  })

  test('when it goes away reads go to the primary, and back when it returns', async () => {
    const { url, command, questions } = await serve('going_away', { PAGE_CACHE_MB: '0' })
    const load = new Load([url], questions, { check: checkPage })
    await load.untilMore('ok', 200)

    for (const end of ['kill', 'stop'] as const) {
      const log = command.stdout.length
      await standby[end]()
      await until(() => (LEFT.test(command.stdout.slice(log)) ? true : undefined))
      await load.untilMore('ok', 200)
      await standby.start()
      await until(() => (RETURNED.test(command.stdout.slice(log)) ? true : undefined))
      await load.untilMore('ok', 200)
      // Between two pages the connection may have been used to ask for the lag.
      await until(async () => ((await countReaders(standby, 'going_away')) > 0 ? true : undefined))
    }
    const counts = await load.stop()
    process.stdout.write(load.describe('the standby is killed and stopped'))
    expect(counts.otherwise).toEqual([])
    expect(counts.unavailable).toBe(0)
  })

  test('when it becomes unreachable, no request fails', async () => {
    const proxy = await PausableProxy.start(standby.port)
    const { url, command, questions } = await serve('standby_cut_off', {
      PAGE_CACHE_MB: '0',
      DATABASE_READ_URL: standby.url('standby_cut_off', proxy.port),
    })
    const load = new Load([url], questions, { check: checkPage })
    await load.untilMore('ok', 100)
    proxy.pause()
    await command.output(LEFT)
    await load.untilMore('ok', 200)
    proxy.resume()
    await command.output(RETURNED)
    await load.untilMore('ok', 100)
    const counts = await load.stop()
    process.stdout.write(load.describe('the standby is cut off without a word'))
    expect(counts.otherwise).toEqual([])
    expect(counts.unavailable).toBe(0)
  })

  test('a query that it cancels to go on replaying is made at the primary', async () => {
    const { url, command, questions } = await serve('conflict', { PAGE_CACHE_MB: '0' })
    const load = new Load([url], questions, { check: checkPage })
    await load.untilMore('ok', 100)
    const conflicts = async () => {
      const [row] = await standby.query<{ count: string }>(
        `select confl_lock + confl_snapshot as count from pg_stat_database_conflicts where datname = 'conflict'`,
      )
      return Number(row?.count)
    }
    // A lock that is replayed cancels whatever reads the table.
    await until(async () => {
      for (let count = 0; count < 20; count++) {
        await primary.query(
          'begin; lock table occupation, result_entry in access exclusive mode; commit',
          'conflict',
        )
      }
      return (await conflicts()) > 0 ? true : undefined
    })
    await load.untilMore('ok', 100)
    const counts = await load.stop()
    process.stdout.write(load.describe(`${await conflicts()} queries cancelled by the standby`))
    expect(counts.otherwise).toEqual([])
    expect(counts.unavailable).toBe(0)
    expect(command.stdout).not.toMatch(LEFT)
  })

  test('one of another database, or that does not let us in, is not used', async () => {
    const other = await Cluster.start()
    try {
      await other.createDatabase('not_ready')
      for (const DATABASE_READ_URL of [other.url('not_ready'), other.url('absent')]) {
        const name = `refused_${DATABASE_READ_URL.length}`
        const { get, command } = await serve(name, { DATABASE_READ_URL })
        expect((await get('/v1/occupations')).status).toBe(200)
        await command.output(DATABASE_READ_URL.endsWith('not_ready') ? REFUSED : LEFT)
      }
    } finally {
      await other.remove()
    }
  })

  test('while the primary is away what needs no primary is still read at the standby', async () => {
    const { url, questions, headers } = await serve('primary_away', { PAGE_CACHE_MB: '0' })
    const load = new Load([url], questions, { check: checkPage })
    await load.untilMore('ok', 100)
    await primary.kill()
    try {
      await load.untilMore('ok', 100)
      expect(
        (
          await ask(`${url}/v1/occupations`, {
            ...headers,
            'x-api-key': `mahi_${'0'.repeat(12)}_${'A'.repeat(43)}`,
          })
        ).status,
      ).toBe(503)
    } finally {
      await primary.start()
    }
    await load.untilMore('ok', 100)
    const counts = await load.stop()
    process.stdout.write(load.describe('the primary is killed, the standby serves'))
    expect(counts.otherwise).toEqual([])
  })
})
