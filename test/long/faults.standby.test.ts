import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { Cluster, hasCluster } from '../support/cluster.ts'
import { Installation, toLines, until } from '../support/command.ts'
import { checkPage, fillDatabase, UNLIMITED } from '../support/filled-database.ts'
import { ask, Load } from '../support/load.ts'
import { PausableProxy } from '../support/pausable-proxy.ts'

const PUBLISH = ['results', 'publish', '--eid', '1001', '--return', 'R1']
const LEFT = /the standby is unavailable: reads go to the primary/
const REFUSED = /it belongs to a different database cluster than the primary.*the standby is not used/
const RETURNED = /the standby is available again and serves reads/

const toCodes = (ndjson: string) =>
  ndjson
    .trim()
    .split('\n')
    .map((line) => (JSON.parse(line) as { occupationCode: string }).occupationCode)

const toLocalIds = (ndjson: string) =>
  ndjson
    .trim()
    .split('\n')
    .map((line) => (JSON.parse(line) as { localId: string }).localId)

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
    const run = async (parameters: readonly string[], records?: readonly unknown[]) => {
      const environment = { DATABASE_URL }
      if (records === undefined) return await mahi.runJson(parameters, { environment })
      return await mahi.runJson([...parameters, '-'], { input: toLines(records), environment })
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
       where datname = '${name}' and application_name = 'mahi' and query ~ 'document|result_block'`,
    )
    return Number(row?.count)
  }

  test('pages of both operations are read there, and not at the primary', async () => {
    const { get, token } = await serve('read_there', { PAGE_CACHE_MB: '0' })
    for (const path of ['/v1/occupations', `/v1/submissions/${token}/validation-results`]) {
      await until(async () => {
        expect((await get(path)).status).toBe(200)
        // The connection may have been used to measure the lag since.
        return (await countReaders(standby, 'read_there')) > 0 ? true : undefined
      })
    }
    expect(await countReaders(primary, 'read_there')).toBe(0)
  })

  test('while it lags, no response is older than what a caller knows', async () => {
    const { get, run, token } = await serve('lagging', { DATABASE_READ_MAX_LAG: '3600' })
    const results = `/v1/submissions/${token}/validation-results`
    const [before] = JSON.parse((await get('/v1/occupations')).body).data as [{ lastUpdatedDate: string }]
    const window = `/v1/occupations?Filter.LastUpdatedAfter=${before.lastUpdatedDate}`
    const catalogue = [
      '/v1/occupations/A-NEW',
      '/v1/occupations',
      window,
      '/v1/occupation-groups',
      '/v1/occupations/changes?Since=latest',
    ]
    const paths = [
      results,
      `${results}?Filter.ErrorType=Error`,
      `${results}/summary`,
      `${results}/changes?from=1`,
    ]
    for (const path of [...catalogue, ...paths]) await get(path)
    await standby.pauseReplay()
    try {
      const imported = run(['occupations', 'import'], [{ occupationCode: 'A-NEW' }])
      await run([...PUBLISH, '--token', token], [{ localId: 'second run', errorType: 'Error' }])
      // The caller knows of the run at once, because every process reads the state of a submission at the primary.
      const state = JSON.parse((await get(`/v1/submissions/${token}`)).body)
      expect(state.validationRun).toMatchObject({ runId: 2, totalCount: 1 })
      expect(JSON.parse((await get(results)).body).results).toEqual([
        { localId: 'second run', errorType: 'Error' },
      ])
      const filtered = await get(`${results}?Filter.ErrorType=Error`)
      expect(JSON.parse(filtered.body).totalCount).toBe(1)
      const lines = await get(results, { accept: 'application/x-ndjson' })
      expect(toLocalIds(lines.body)).toEqual(['second run'])
      expect(JSON.parse((await get(`${results}/summary`)).body)).toMatchObject({ runId: 2, errorCount: 1 })
      expect(JSON.parse((await get(`${results}/changes?from=1`)).body)).toMatchObject({ to: 2, newCount: 1 })
      const { submissionToken } = (await run(PUBLISH, [{ localId: 'unheard of' }])) as {
        submissionToken: string
      }
      const { body } = await get(`/v1/submissions/${submissionToken}/validation-results`)
      expect(JSON.parse(body).results).toEqual([{ localId: 'unheard of' }])

      // Once the process knows of the import, nothing that it serves is older.
      await imported
      await until(async () => ((await get('/v1/occupations/A-NEW')).status === 200 ? true : undefined))
      expect(JSON.parse((await get('/v1/occupations')).body).totalCount).toBe(61)
      expect(JSON.parse((await get(window)).body).totalCount).toBe(1)
      expect((await get('/v1/occupation-groups')).headers.etag).toMatch(/^W\/"c2\./)
      const latest = JSON.parse((await get('/v1/occupations/changes?Since=latest')).body)
      expect(latest).toMatchObject({ revision: 2, totalCount: 61 })

      await run(['submissions', 'delete', submissionToken])
      expect((await get(`/v1/submissions/${submissionToken}/validation-results`)).status).toBe(410)
    } finally {
      await standby.resumeReplay()
    }
  })

  test('a caller that has seen a newer state elsewhere names it, whatever the operation', async () => {
    const { get, run, token, serveAlso } = await serve('seen_elsewhere', { DATABASE_READ_MAX_LAG: '3600' })
    const other = await serveAlso()
    await standby.pauseReplay()
    try {
      await run(['occupations', 'import'], [{ occupationCode: 'A-NEW' }])
      const seen = await until(async () => {
        const { headers } = await other.get('/v1/occupations')
        return String(headers.etag).startsWith('W/"c2.') ? String(headers.etag) : undefined
      })
      for (const path of ['/v1/occupations', '/v1/occupation-groups', '/v1/occupations/changes']) {
        const since = await get(path, { 'x-min-revision': seen })
        expect([path, since.status, since.headers.etag]).toEqual([
          path,
          200,
          expect.stringMatching(/^W\/"c2\./),
        ])
      }
      await run([...PUBLISH, '--token', token], [{ localId: 'second run' }])
      const { headers } = await other.get(`/v1/submissions/${token}`)
      const revision = String(headers['x-revision'])
      expect(revision).toMatch(/^r\d+\.[0-9a-z]+$/)
      const found = await get(`/v1/submissions/${token}/validation-results`, { 'x-min-revision': revision })
      expect(String(found.headers.etag).slice(3).startsWith(revision)).toBe(true)
    } finally {
      await standby.resumeReplay()
    }
  })

  test('a mirror that asks replicas of different lag loses nothing and never goes back', async () => {
    const { run, url, headers } = await serve('lagging_feed', { DATABASE_READ_MAX_LAG: '3600' })
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
      await until(async () => ((await mirror(other.url)).includes('A-NEW') ? true : undefined))
      // The state of that token is read at the primary, neither an older state nor 410.
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
    // Readers wait for it until they go to the primary, and balancers do not.
    for (let count = 0; count < 20; count++) expect((await ask(`${url}/readyz`, {})).status).toBe(200)
    await command.output(LEFT)
    expect((await ask(`${url}/readyz`, {})).status).toBe(200)
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
          'begin; lock table occupation, result_block in access exclusive mode; commit',
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
