import { describe, expect, onTestFinished, test } from 'vitest'
import { Cluster, hasCluster } from '../support/cluster.ts'
import { Installation, until } from '../support/command.ts'
import { fillDatabase, UNLIMITED } from '../support/filled-database.ts'
import { ask } from '../support/load.ts'
import { PausableProxy } from '../support/pausable-proxy.ts'

const LOST = /"level":"error".*the database is unavailable/
const BACK = /the database is available again/

async function startCluster(): Promise<Cluster> {
  const cluster = await Cluster.start()
  onTestFinished(() => cluster.remove())
  return cluster
}

/** A server of a filled database, with its metrics. */
async function serve(primary: Cluster, environment: (name: string) => Record<string, string>) {
  const name = 'mahi'
  const filled = await fillDatabase(await primary.createDatabase(name))
  const mahi = new Installation({ inProcesses: true })
  const { url, command, readMetrics } = await mahi.serveWithMetrics({
    ...UNLIMITED,
    LOG_LEVEL: 'info',
    DATABASE_URL: primary.url(name),
    ...environment(name),
  })
  const get = (path: string, headers: Record<string, string> = {}) =>
    ask(url + path, { ...filled.headers, ...headers })
  const metric = async (series: string) => {
    const value = (await readMetrics()).split('\n').find((line) => line.startsWith(`${series} `))
    return Number(value?.slice(series.length + 1))
  }
  return { ...filled, mahi, url, command, get, metric }
}

describe.skipIf(!hasCluster)('where the primary goes', () => {
  test('a replica that lost the primary is not ready, keeps no pages, says so once and recovers', async () => {
    const primary = await startCluster()
    const proxy = await PausableProxy.start(primary.port)
    const { get, command, metric } = await serve(primary, (name) => ({
      DATABASE_URL: primary.url(name, proxy.port),
      OCCUPATIONS_ACCESS: 'public',
    }))
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
    // Needs the primary.
    expect(await statusOf('/v1/occupations?Limit=3')).toBe(503)

    proxy.resume()
    await command.output(BACK)
    await until(async () => ((await statusOf('/readyz')) === 200 ? true : undefined))
    expect((await get('/v1/occupations?Limit=3', { 'if-none-match': etag })).status).toBe(304)
    expect(command.stdout.match(new RegExp(LOST, 'g'))).toHaveLength(1)
  })

  test('when no more connections are allowed, changes are still followed over the open ones', async () => {
    const primary = await startCluster()
    await fillDatabase(await primary.createDatabase('mahi'))
    const mahi = new Installation({ inProcesses: true })
    await primary.query('create role limited login')
    await primary.query('grant all on all tables in schema public to limited', 'mahi')
    const DATABASE_URL = primary.url('mahi').replace('mahi@', 'limited@')
    const { url } = await mahi.serve({ ...UNLIMITED, DATABASE_URL, OCCUPATIONS_ACCESS: 'public' })
    const count = async () => JSON.parse((await ask(`${url}/v1/occupations`, {})).body).totalCount as number
    const before = await count()
    // The connection that follows is ended, and a new one is refused.
    await primary.query('alter role limited connection limit 1')
    await primary.query(
      `select pg_terminate_backend(pid) from pg_stat_activity where usename = 'limited' and application_name = 'mahi-follower'`,
    )
    const input = '{"occupationCode":"ZZZ"}\n'
    const environment = { DATABASE_URL: primary.url('mahi') }
    await mahi.runJson(['occupations', 'import', '-'], { input, environment })
    await until(async () => ((await count()) === before + 1 ? true : undefined))
  })

  test('the procedure of a failover: promote, move the address, and nothing acknowledged is lost', async () => {
    const primary = await startCluster()
    const standby = await primary.startStandby()
    onTestFinished(() => standby.remove())
    // With synchronous replication a commit is acknowledged once the standby has it.
    await primary.query(`alter system set synchronous_standby_names = '*'`)
    await primary.query('select pg_reload_conf()')
    const proxy = await PausableProxy.start(primary.port)
    const address = (name: string) => primary.url(name, proxy.port)
    const { get, command, mahi, metric } = await serve(primary, (name) => ({ DATABASE_URL: address(name) }))
    const environment = { DATABASE_URL: address('mahi') }
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
})
