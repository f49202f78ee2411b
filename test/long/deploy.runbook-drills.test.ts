import { spawnSync } from 'node:child_process'
import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { createClient } from '../../client/src/index.ts'
import { createKey } from '../../src/api/access/keys.ts'
import { Cluster, hasCluster } from '../support/cluster.ts'
import { DEADLINE, Installation, until } from '../support/command.ts'
import { fillDatabase, UNLIMITED, withDatabase } from '../support/filled-database.ts'
import { hasRedisServer, OwnRedis } from '../support/redis.ts'
import { Operator, serveWithMetrics } from '../support/runbook.ts'
import { temporaryFolder } from '../support/temporary.ts'
import { testOnSqlite } from '../support/test-where.ts'

/** Waits until a condition of an alert holds, or no longer does. */
const reached = (check: () => Promise<boolean>) => until(async () => ((await check()) ? true : undefined))

const DAY = 86_400_000

const testSqlite = testOnSqlite('backups by mahi: PostgreSQL has programs of its own')

/** A service in trouble, and an operator who follows a procedure. */
async function startService(environment: Readonly<Record<string, string>> = {}) {
  const mahi = new Installation({ inProcesses: true })
  const filled = await fillDatabase(environment.DATABASE_URL ?? mahi.databaseUrl)
  const served = await serveWithMetrics(mahi, { ...UNLIMITED, ...environment })
  const change = (sql: string) =>
    withDatabase(mahi.databaseUrl, (database) => database.write('schema', (writer) => writer.run(sql)))
  return { mahi, change, ...filled, ...served, operator: new Operator(mahi, served.settings) }
}

describe('procedures that are followed from the first step to the last', () => {
  testSqlite('MahiBackupOld: no backup for nine days', async () => {
    const { change, read, operator } = await startService()
    await change(`update migration set applied = applied - ${9 * DAY}`)
    await reached(async () => (await read('mahi_backup_age_seconds')) > 26 * 3600)
    const { 'mahi status': status } = await operator.follow('MahiBackupOld')
    expect(status).toMatch(/^Backup +\d{4}-\S+.* by mahi$/m)
    await reached(async () => (await read('mahi_backup_age_seconds')) < 26 * 3600)
  })

  test('MahiNoWorker and MahiSearchBehind: jobs wait, and nobody does them', async () => {
    const { read, operator } = await startService()
    const countWaiting = () => read('mahi_jobs_waiting', 'kind="index"')
    await reached(async () => (await countWaiting()) === 1)
    await reached(async () => (await read('mahi_search_index_behind_seconds')) > 0)
    await operator.follow('MahiNoWorker')
    await reached(async () => (await countWaiting()) === 0)
    await reached(async () => (await read('mahi_search_index_behind_seconds')) === 0)
  })
})

describe('procedures for a process', () => {
  test('MahiDown: the process was killed, and later only its metrics are missing', async () => {
    const { mahi, url, command, operator } = await startService()
    const address = (at: string) => ({ 'http://127.0.0.1:8080': at })
    command.kill('SIGKILL')
    await command.ended
    expect((await operator.run('MahiDown', 'curl', address(url))).code).not.toBe(0)
    expect((await operator.run('MahiDown', 'mahi status')).code).toBe(0)
    // The port of its metrics is that of another process.
    const other = await serveWithMetrics(new Installation({ inProcesses: true }))
    const again = await mahi.serve({ METRICS_PORT: other.settings.METRICS_PORT })
    expect((await operator.run('MahiDown', 'curl', address(again.url))).code).toBe(0)
    await again.command.output(/METRICS_PORT/)
  })

  test('MahiErrors: a table is missing', async () => {
    const { url, headers, change, command, read, operator } = await startService()
    await change('alter table occupation_filter rename to lost')
    const response = await fetch(`${url}/v1/occupations`, { headers })
    expect(response.status).toBe(500)
    expect(await read('mahi_http_requests_total', 'status="500"')).toBe(1)
    const id = response.headers.get('x-request-id')
    const [line] = await command.output(new RegExp(`^\\{"level":"error".*${id}.*$`, 'm'))
    const stack = expect.stringContaining('occupation_filter')
    expect(JSON.parse(line)).toMatchObject({ id, err: { stack } })
    // It reads some tables only, this one among them.
    const status = await operator.run('MahiErrors', 'mahi status')
    expect([status.code, status.stdout]).toEqual([
      1,
      expect.stringMatching(/^DATABASE_URL +bad .*occupation_filter/m),
    ])
    await change('alter table lost rename to occupation_filter')
    expect((await fetch(`${url}/v1/occupations`, { headers })).status).toBe(200)
  })

  test('MahiRefusesMany: somebody guesses the secret of a key', async () => {
    const { url, headers, keyId, command, operator } = await startService()
    const key = headers['x-api-key'] ?? ''
    const askWith = async (credential: string) =>
      (await fetch(`${url}/v1/occupations`, { headers: { 'x-api-key': credential } })).status
    expect(await askWith(`${key.slice(0, -4)}AAAA`)).toBe(401)
    const [line] = await command.output(/^.*"audit":"refused".*$/m)
    expect(JSON.parse(line)).toMatchObject({ reason: 'secret', key: keyId, client: 'load' })
    const values = { KEY_ID: keyId }
    const rotated = await operator.run('MahiRefusesMany', 'mahi keys rotate KEY_ID --overlap', values)
    const [fresh = ''] = /mahi_[0-9a-f]{12}_\S+/.exec(rotated.stdout) ?? []
    await reached(async () => (await askWith(fresh)) === 200)
    expect((await operator.run('MahiRefusesMany', 'mahi keys revoke', values)).code).toBe(0)
    await reached(async () => (await askWith(key)) === 401)
    expect(await askWith(fresh)).toBe(200)
  })

  testSqlite('MahiBackupFails: the folder of the backups cannot be written', async () => {
    const { mahi, read, operator } = await startService()
    const folder = join(temporaryFolder(), 'backups')
    writeFileSync(folder, '')
    expect((await mahi.run(['backup', '--keep', '7', folder])).code).toBe(1)
    await reached(async () => (await read('mahi_backup_failed')) === 1)
    const FOLDER = join(temporaryFolder(), 'series')
    expect(await operator.run('MahiBackupFails', 'mahi backup --keep', { FOLDER })).toMatchObject({ code: 0 })
    await reached(async () => (await read('mahi_backup_failed')) === 0)
  })

  test.skipIf(!hasRedisServer)('MahiLimitsAlone: Redis has died', async () => {
    const redis = await OwnRedis.start()
    const { read, operator } = await startService({ REDIS_URL: redis.url })
    await redis.kill()
    await reached(async () => (await read('mahi_rate_limit_redis_up')) === 0)
    const status = await operator.run('MahiLimitsAlone', 'mahi status')
    expect([status.code, status.stdout]).toEqual([1, expect.stringMatching(/^REDIS_URL +bad/m)])
    await redis.start()
    await reached(async () => (await read('mahi_rate_limit_redis_up')) === 1)
  })
})

test('MahiRunsWait, MahiRunsFail and MahiRunsHalt: a return waits, its worker loses a folder, and it takes too long', async () => {
  const CHECK_FOLDER = join(temporaryFolder(), 'checks')
  const { mahi, url, change, read, operator } = await startService({ CHECK_FOLDER })
  const scopes = ['validation-results:read', 'submissions:write'] as const
  const { key } = await withDatabase(mahi.databaseUrl, (database) =>
    createKey(database, { client: 'provider', scopes, eids: ['1001'], expires: Date.now() + DAY }),
  )
  const { submissions } = createClient({ baseUrl: url, apiKey: key, eid: '1001', deadline: DEADLINE })
  const { submissionToken: token = '' } = await submissions.create({ returnId: '202512' })
  const rows = Array.from({ length: 20_000 }, (_, index) => `L${index},S${index}\n`)
  // It also reads what is uploaded.
  const reader = operator.work()
  await submissions.putFile(token, 'learners', `localId,studentIdentificationCode\n${rows.join('')}`)
  reader.kill('SIGTERM')
  await reader.ended
  const request = async () => (await submissions.validate(token)).runId ?? 0
  const wait = async (run: number) => (await submissions.waitForRun(token, run)).status

  const waiting = await request()
  await change(`update job set queued = queued - 660000, due = due - 660000 where kind = 'run'`)
  await reached(async () => (await read('mahi_jobs_oldest_seconds', 'kind="run"')) > 600)
  const { stdout } = await operator.run('MahiRunsWait', 'mahi status')
  expect(stdout).toMatch(/^Queue +\d+ waiting, 0 running/m)
  const worker = operator.work()
  expect(await wait(waiting)).toBe('Processed')

  rmSync(CHECK_FOLDER, { recursive: true })
  writeFileSync(CHECK_FOLDER, '')
  const failing = await request()
  // Its last attempt.
  await change(`update job set attempts = 2 where kind = 'run'`)
  expect(await wait(failing)).toBe('UnknownError')
  const status = await operator.run('MahiRunsFail', 'mahi status')
  expect([status.code, status.stdout]).toEqual([1, expect.stringMatching(/^CHECK_FOLDER +bad/m)])
  rmSync(CHECK_FOLDER)
  mkdirSync(CHECK_FOLDER)
  expect(await wait(await request())).toBe('Processed')
  worker.kill('SIGTERM')
  await worker.ended

  const slow = mahi.start(['work'], { environment: { CHECK_SECONDS: '1' } })
  const halting = await request()
  // However fast the machine is.
  const check = await until(() => {
    const listed = spawnSync('ps', ['--ppid', `${slow.child.pid}`, '-o', 'pid=,args='], { encoding: 'utf8' })
    const [, pid] = /^ *(\d+) .*\/checking\//m.exec(listed.stdout) ?? []
    return pid === undefined ? undefined : Number(pid)
  })
  process.kill(check, 'SIGSTOP')
  expect(await wait(halting)).toBe('Halted')
  const shown = await operator.run('MahiRunsHalt', 'mahi submissions show', { TOKEN: token })
  expect(shown.stdout).toContain('The check was stopped: it took more than 1 second.')
})

describe.skipIf(!hasCluster)('procedures for PostgreSQL', () => {
  async function startPostgres(settings: Readonly<Record<string, string>> = {}) {
    const primary = await Cluster.start()
    onTestFinished(() => primary.remove())
    const DATABASE_URL = await primary.createDatabase('mahi')
    const service = await startService({ ...settings, DATABASE_URL })
    const operator = new Operator(service.mahi, { ...service.settings, PGPORT: `${primary.port}` })
    return { ...service, primary, operator }
  }

  test('MahiDatabaseLost: the primary was killed', async () => {
    const { primary, url, command, read, operator } = await startPostgres()
    await primary.kill()
    await reached(async () => (await read('mahi_primary_up')) === 0)
    expect((await operator.run('MahiDatabaseLost', 'mahi status')).code).toBe(1)
    const ready = async () =>
      (await operator.run('MahiDatabaseLost', 'pg_isready', { db: '127.0.0.1' })).stdout
    expect(await ready()).toContain('no response')
    await primary.start()
    expect(await ready()).toContain('accepting connections')
    await command.output(/the database is available again/)
    await reached(async () => (await fetch(`${url}/readyz`)).status === 200)
  })

  test('MahiWaitsForConnections: a transaction holds a lock', async () => {
    const { primary, url, headers, read, operator } = await startPostgres({
      DATABASE_POOL_SIZE: '2',
      PAGE_CACHE_MB: '0',
    })
    await primary.session(async (client) => {
      await client.query('begin; lock table occupation in access exclusive mode')
      // Each another page: the same one is read once for all.
      const asked = Array.from({ length: 40 }, (_, index) =>
        fetch(`${url}/v1/occupations?Cursor=C${index + 100}`, { headers }),
      )
      await reached(async () => (await read('mahi_database_waiting')) > 10)
      const command = (start: string) => operator.commandOf('MahiWaitsForConnections', start)
      const rows = await primary.query<{ pid: number; left: string }>(command('select pid'), 'mahi')
      const { pid } = rows.find(({ left }) => left.includes('lock table')) ?? {}
      await primary.query(command('select pg_terminate').replace('PID', `${pid}`))
      await reached(async () => (await read('mahi_database_waiting')) === 0)
      await Promise.all(asked)
    }, 'mahi')
    expect((await fetch(`${url}/v1/occupations`, { headers })).status).toBe(200)
  })
})
