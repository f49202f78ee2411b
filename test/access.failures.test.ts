import type { AddressInfo } from 'node:net'
import { expect, onTestFinished, test, vi } from 'vitest'
import { AccessState } from '../src/api/access/access-state.ts'
import { Audit } from '../src/api/access/audit.ts'
import { KeyUse } from '../src/api/access/keys.ts'
import { storeSuspension } from '../src/api/access/suspensions.ts'
import { Metrics, serveMetrics } from '../src/api/telemetry/metrics.ts'
import { planLaunch } from '../src/foundation/command-line/memory.ts'
import { DatabaseUnavailable } from '../src/foundation/database/database.ts'
import { RevisionWatch } from '../src/foundation/database/revision-watch.ts'
import { claim, enqueue } from '../src/foundation/jobs/queue.ts'
import { takeOne } from '../src/foundation/jobs/worker.ts'
import { readSettings } from '../src/settings.ts'
import { Installation, untilHolds } from './support/command.ts'
import { Issuer } from './support/jwks.ts'
import { openTemporary } from './support/reused-schemas.ts'
import { Service } from './support/service.ts'

test('what a key is refused does not count for its organisation', async () => {
  const service = await Service.start({ RATE_LIMIT_RESULTS: '2/3600', RATE_LIMIT_ORGANISATION: '5/3600' })
  await service.publish([], { token: 'submission' })
  const get = async (key: string) => {
    const url = '/v1/submissions/submission/validation-results'
    return (await service.get(url, { 'x-api-key': key, eid: '1001' })).statusCode
  }
  const noisy = await service.createKey({ client: 'noisy', eids: ['1001'] })
  const other = await service.createKey({ client: 'other', eids: ['1001'] })
  const statuses = await Promise.all(Array.from({ length: 20 }, () => get(noisy.key)))
  expect(statuses.filter((status) => status === 200)).toHaveLength(2)
  expect([await get(other.key), await get(other.key), await get(other.key)]).toEqual([200, 200, 429])
})

test('no organisation is served before the suspensions have been read', async () => {
  let fails = true
  const database = await openTemporary()
  const reader = {
    ...database,
    all: async <Row>(sql: string, parameters?: Parameters<typeof database.all>[1]): Promise<Row[]> => {
      if (fails && sql.includes('organisation_suspension')) throw new Error('away')
      return await database.all<Row>(sql, parameters)
    },
  } as typeof database
  const revisions = await RevisionWatch.start(database)
  const audit = new Audit({ warn: () => undefined })
  const state = await AccessState.start(reader, revisions, audit, new KeyUse(database))
  onTestFinished(async () => {
    state.stop()
    await revisions.stop()
  })
  expect(() => state.isSuspended('1001')).toThrow(expect.objectContaining({ slug: 'unavailable' }))
  fails = false
  await untilHolds(() => expect(state.isSuspended('1001')).toBe(false))
})

/** Lets every read of a table fail until the returned function is called. */
function failReads({ database }: Service, table: string): () => void {
  const read = database.all.bind(database)
  const spy = vi.spyOn(database, 'all').mockImplementation(async (sql, parameters) => {
    if (sql.includes(table)) throw new DatabaseUnavailable('away')
    return await read(sql, parameters)
  })
  return () => spy.mockRestore()
}

test('while the keys cannot be read, one that was valid is no failed credential', async () => {
  const service = await Service.start({ RATE_LIMIT_FAILED_CREDENTIALS: '1/3600' })
  const repair = failReads(service, 'api_key')
  await service.createKey({ client: 'another' })
  await service.revisions.refresh()
  const ask = async () => (await service.get('/v1/occupations')).statusCode
  expect([await ask(), await ask(), await ask()]).toEqual([503, 503, 503])
  repair()
  // Also while many wait for the reading.
  expect(await Promise.all([ask(), ask(), ask()])).toEqual([200, 200, 200])
})

test('while the suspensions cannot be read, no token of an identity provider gets data', async () => {
  const issuer = await Issuer.start()
  const key = await issuer.addKey()
  const service = await Service.start(issuer.settings)
  await service.publish([], { token: 'submission' })
  const authorization = `Bearer ${await issuer.sign(key, { eid: '1001', scope: 'validation-results:read' })}`
  const ask = async () => {
    const headers = { 'x-api-key': undefined, authorization, eid: '1001' }
    return (await service.get('/v1/submissions/submission/validation-results', headers)).statusCode
  }
  expect(await ask()).toBe(200)
  const repair = failReads(service, 'organisation_suspension')
  await storeSuspension(service.database, { eid: '1001', reason: '' })
  await service.revisions.refresh()
  expect(await ask()).toBe(503)
  repair()
  expect(await ask()).toBe(401)
})

test('a job of a kind that a worker has no handler for stays in the queue', async () => {
  const database = await openTemporary()
  await database.write('job:test', (writer) => enqueue(writer, { kind: 'index', subject: '1', eid: '' }))
  const options = {
    database,
    handlers: {},
    onError: () => undefined,
    onOutage: () => undefined,
  }
  expect(await takeOne(options, ['index'], new AbortController().signal)).toBe(false)
  expect(await claim(database, 'another', ['index'])).toMatchObject({ attempts: 1 })
})

test('a metric that cannot be read hides no other, and a counter never falls', async () => {
  const metrics = new Metrics()
  let fails = false
  const read = async () => {
    if (fails) throw new Error('the database is away')
    return 7
  }
  metrics.gauge('mahi_gauge', 'One.', read)
  metrics.counter('mahi_counter_total', 'Another.', read)
  metrics.gauge('mahi_other', 'A third.', () => 1)
  const lines = async () =>
    (await metrics.registry.metrics())
      .split('\n')
      .filter((line) => /^mahi_(?:gauge|counter|other)/.test(line))
  expect(await lines()).toEqual(['mahi_gauge 7', 'mahi_counter_total 7', 'mahi_other 1'])
  fails = true
  expect(await lines()).toEqual(['mahi_gauge Nan', 'mahi_counter_total 7', 'mahi_other 1'])
  metrics.gauge('mahi_wrong', 'No number.', () => 'none' as unknown as number)
  const server = await serveMetrics(metrics, 0)
  onTestFinished(() => void server.close())
  const { port } = server.address() as AddressInfo
  expect((await fetch(`http://127.0.0.1:${port}/metrics`)).status).toBe(500)
})

test('a token that expires later than any date is refused', async () => {
  const issuer = await Issuer.start()
  const key = await issuer.addKey()
  const service = await Service.start(issuer.settings)
  for (const [exp, status] of [
    [253_402_300_739, 200],
    [253_402_300_740, 401],
    [1e300, 401],
  ] as const) {
    const authorization = `Bearer ${await issuer.sign(key, { exp })}`
    expect((await service.get('/v1/me', { 'x-api-key': undefined, authorization })).statusCode).toBe(status)
  }
})

test('a folder or a log that cannot be written stops the start, and names its setting', async () => {
  const mahi = new Installation()
  const wrong = mahi.write('file', '')
  for (const name of ['CHECK_FOLDER', 'ERASURE_LOG', 'SNAPSHOT_FOLDER']) {
    const path = `${mahi.folder}/${wrong}/${name}`
    expect(await mahi.run(['serve'], { environment: { [name]: path } })).toMatchObject({
      code: 1,
      stderr: expect.stringContaining(`${name} names ${path}, which this user cannot write to (E`),
    })
  }
})

test('settings that cannot work stop the start with a sentence', () => {
  // V8 ends with a fault at the first of these, and Node does not start with the others.
  for (const MEMORY_MB of ['10', '0x1000000000000', 'Infinity', '1e300']) {
    expect(planLaunch({ MEMORY_MB }).flags).toEqual(planLaunch({}).flags)
    expect(() => readSettings({ MEMORY_MB })).toThrow(/MEMORY_MB must be/)
  }
  expect(planLaunch({ MEMORY_MB: ' 1024 ' }).flags).toContain('--max-old-space-size=448')
  for (const [name, meant] of [
    ['OCCUPATION_ACCESS', 'OCCUPATIONS_ACCESS'],
    ['ENCRYPTION_KEY', 'ENCRYPTION_KEYS'],
    ['DATABASE_URI', 'DATABASE_URL'],
    ['erasure_log', 'ERASURE_LOG'],
    // Only secrets are read from files.
    ['ERASURE_LOG_FILE', 'ERASURE_LOG'],
    ['ENCRYPTION_KEY_FILE', 'ENCRYPTION_KEYS'],
    ['ENCRYPTION_KEYS_FIEL', 'ENCRYPTION_KEYS'],
    ['DATABASE_URL_FILES', 'DATABASE_URL'],
  ] as const) {
    const refused = `${name} is not a setting. Write ${meant}, or remove it`
    expect(() => readSettings({ [name]: 'x' })).toThrow(refused)
  }
  // Another program's name, and one beside the setting that it resembles.
  const environment = { HOSTNAME: 'x', NODE_ENV: 'x', DATABASE_URI: 'x', DATABASE_URL: 'sqlite:mahi.db' }
  expect(readSettings(environment).DATABASE_URL).toBe('sqlite:mahi.db')
})
