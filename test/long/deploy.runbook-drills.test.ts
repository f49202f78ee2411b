import { spawnSync } from 'node:child_process'
import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { Agent } from 'node:http'
import { connect } from 'node:net'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { createClient } from '../../client/src/index.ts'
import { createKey } from '../../src/api/access/keys.ts'
import { publishResults } from '../../src/submissions/findings/publish.ts'
import { Cluster, hasCluster } from '../support/cluster.ts'
import { Installation, type RunningCommand, until } from '../support/command.ts'
import { fillDatabase, UNLIMITED, withDatabase } from '../support/filled-database.ts'
import { ask, Load } from '../support/load.ts'
import { PausableProxy } from '../support/pausable-proxy.ts'
import { hasRedisServer, OwnRedis } from '../support/redis.ts'
import { Operator, serveWithMetrics } from '../support/runbook.ts'
import { sourceOf } from '../support/service.ts'
import { temporaryFolder } from '../support/temporary.ts'

/** Waits until a condition of an alert holds, or no longer does. */
const reached = (check: () => Promise<boolean>) => until(async () => ((await check()) ? true : undefined))

/** Requests the submissions of many organisations, on a few connections. */
async function requestEach(url: string, key: string, eids: readonly string[]): Promise<void> {
  const callers = Array.from({ length: 8 }, (_, index) => eids.filter((_, at) => at % 8 === index))
  await Promise.all(
    callers.map(async (own) => {
      const agent = new Agent({ keepAlive: true, maxSockets: 1 })
      for (const eid of own) await ask(`${url}/v1/submissions`, { 'x-api-key': key, eid }, agent)
      agent.destroy()
    }),
  )
}

/** The process in which a worker checks files, while there is one. */
function findCheck({ child }: RunningCommand): number | undefined {
  const { stdout } = spawnSync('ps', ['--ppid', `${child.pid}`, '-o', 'pid=,args='], { encoding: 'utf8' })
  const [, pid] = /^ *(\d+) .*\/checking\//m.exec(stdout) ?? []
  return pid === undefined ? undefined : Number(pid)
}

/** A service over its own SQLite database, and an operator of it. */
async function startService(environment: Readonly<Record<string, string>> = {}) {
  const mahi = new Installation()
  const filled = await fillDatabase(mahi.databaseUrl)
  const served = await serveWithMetrics(mahi, environment)
  return { mahi, ...filled, ...served, operator: new Operator(mahi, served.settings) }
}

describe('procedures for a process, step by step', () => {
  test('MahiDown: the process was killed, and later only its metrics are missing', async () => {
    const { mahi, url, command, read, operator } = await startService()
    const address = (at: string) => ({ 'http://127.0.0.1:8080': at })
    command.kill('SIGKILL')
    await command.ended
    await expect(read('up')).rejects.toThrow()
    const asked = await operator.run('MahiDown', 'curl', address(url))
    expect(asked.code).not.toBe(0)
    expect((await operator.run('MahiDown', 'mahi doctor')).code).toBe(0)
    // The port of its metrics is that of another process.
    const other = await serveWithMetrics(new Installation())
    const again = await mahi.serve({ METRICS_PORT: other.settings.METRICS_PORT })
    expect((await operator.run('MahiDown', 'curl', address(again.url))).code).toBe(0)
    await again.command.output(/METRICS_PORT/)
    const { stdout } = await new Operator(mahi, other.settings).run('MahiDown', 'mahi config')
    expect(stdout).toMatch(new RegExp(`METRICS_PORT.*${other.settings.METRICS_PORT}`))
  })

  test('MahiErrors: a table is missing. MahiLogLinesDropped: many read, and nobody the log', async () => {
    const service = await startService({
      ...UNLIMITED,
      RATE_LIMIT_SUBMISSIONS: 'off',
      PAGE_CACHE_MB: '0',
      // Long stacks fill the room for lines that nobody reads with fewer requests.
      NODE_OPTIONS: '--stack-trace-limit=100',
    })
    const { mahi, url, headers, command, read, operator } = service
    const rename = (from: string, to: string) =>
      withDatabase(mahi.databaseUrl, (database) =>
        database.write('schema', (writer) => writer.run(`alter table ${from} rename to ${to}`)),
      )
    await rename('occupation_filter', 'occupation_filter_lost')
    const response = await fetch(`${url}/v1/occupations`, { headers })
    expect(response.status).toBe(500)
    expect(await read('mahi_http_requests_total', 'status="500"')).toBe(1)
    const id = response.headers.get('x-request-id')
    const [line] = await command.output(new RegExp(`^\\{"level":"error".*${id}.*$`, 'm'))
    expect(JSON.parse(line)).toMatchObject({
      id,
      err: { stack: expect.stringContaining('occupation_filter') },
    })
    // They look at other things: the log has the cause.
    for (const start of ['mahi doctor', 'mahi status'])
      expect((await operator.run('MahiErrors', start)).code).toBe(0)
    await rename('occupation_filter_lost', 'occupation_filter')
    expect((await fetch(`${url}/v1/occupations`, { headers })).status).toBe(200)

    // Requests of many organisations, whose failures fill the log.
    const eids = Array.from({ length: 10_500 }, (_, index) => `E${index}`)
    const { key } = await withDatabase(mahi.databaseUrl, (database) =>
      createKey(database, {
        client: 'many',
        scopes: ['validation-results:read'],
        eids,
        expires: Date.now() + 86_400_000,
      }),
    )
    await rename('submission', 'submission_lost')
    command.child.stdout?.pause()
    await requestEach(url, key, eids)
    expect(await read('mahi_log_lines_dropped_total', 'kind="request"')).toBeGreaterThan(0)
    await rename('submission_lost', 'submission')
    const config = await operator.run('MahiLogLinesDropped', 'mahi config')
    expect(config.stdout).toMatch(/^LOG_LEVEL +info/m)
    // The reader works again, and the process is restarted with fewer lines.
    command.child.stdout?.resume()
    await command.output(
      /"dropped":\{[^}]+\},"msg":"log lines were dropped because the log was read too slowly"/,
    )
    expect(command.stdout).toMatch(/"id":"[^"]+".*"operation":"list-submissions".*"client":"many"/)
    command.kill('SIGTERM')
    await command.ended
    const restarted = mahi.start(['serve'], { environment: { ...service.settings, LOG_LEVEL: 'warn' } })
    await reached(async () => (await read('mahi_primary_up').catch(() => 0)) === 1)
    expect(await read('mahi_log_lines_dropped_total')).toBe(0)
    expect(restarted.stdout).toBe('')
  })

  test('MahiRefusesMany: somebody guesses the secret of a key', async () => {
    const { url, headers, keyId, command, read, operator } = await startService()
    const key = headers['x-api-key'] ?? ''
    const askWith = async (credential: string) =>
      (await fetch(`${url}/v1/occupations`, { headers: { 'x-api-key': credential } })).status
    expect(await askWith(`${key.slice(0, -4)}AAAA`)).toBe(401)
    expect(await read('mahi_http_requests_total', 'status="401"')).toBe(1)
    const [line] = await command.output(/^.*"audit":"refused".*$/m)
    const { reason, key: named, client, address } = JSON.parse(line)
    expect({ reason, named, client, address }).toEqual({
      reason: 'secret',
      named: keyId,
      client: 'load',
      address: '127.0.0.1',
    })
    const listed = await operator.run('MahiRefusesMany', 'mahi keys list')
    expect(listed.stdout).toMatch(new RegExp(`${keyId}.*load`))
    const rotated = await operator.run('MahiRefusesMany', 'mahi keys rotate KEY_ID --overlap', {
      KEY_ID: keyId,
    })
    const [fresh = ''] = /mahi_[0-9a-f]{12}_\S+/.exec(rotated.stdout) ?? []
    await reached(async () => (await askWith(fresh)) === 200)
    expect((await operator.run('MahiRefusesMany', 'mahi keys revoke', { KEY_ID: keyId })).code).toBe(0)
    await reached(async () => (await askWith(key)) === 401)
    expect(await askWith(fresh)).toBe(200)
  })

  test('MahiBackupFails: the folder of the backups cannot be written', async () => {
    const { mahi, read, operator } = await startService()
    const folder = join(temporaryFolder(), 'backups')
    writeFileSync(folder, '')
    expect((await mahi.run(['backup', '--keep', '7', folder])).code).toBe(1)
    await reached(async () => (await read('mahi_backup_failed')) === 1)
    expect((await operator.run('MahiBackupFails', 'mahi status')).stdout).toMatch(
      /^Backup.*(?:fail|cannot be written)/im,
    )
    const elsewhere = join(temporaryFolder(), 'series')
    const series = await operator.run('MahiBackupFails', 'mahi backup --keep', { FOLDER: elsewhere })
    expect([series.code, series.stderr]).toEqual([0, expect.any(String)])
    await operator.run('MahiBackupFails', 'mahi backup FILE', { FILE: join(elsewhere, 'now.backup') })
    await reached(async () => (await read('mahi_backup_failed')) === 0)
  })

  test('MahiSearchBehind: no worker has built the index. MahiTurnsAway: more requests than a process can handle', async () => {
    const { mahi, url, headers, settings, read, operator } = await startService({
      ...UNLIMITED,
      PAGE_CACHE_MB: '0',
      OVERLOAD_DELAY_MS: '20',
    })
    await reached(async () => (await read('mahi_search_index_behind_seconds')) > 0)
    await operator.follow('MahiSearchBehind')
    await reached(async () => (await read('mahi_search_index_behind_seconds')) === 0)

    const questions = Array.from({ length: 60 }, (_, index) => ({
      path: `/v1/occupations?Limit=60&Cursor=C${100 + index}`,
      headers,
    }))
    const load = new Load([url], questions, { callers: 300 })
    await reached(async () => {
      const [all, refused] = [
        await read('mahi_http_requests_total'),
        await read('mahi_http_requests_total', 'status="503"'),
      ]
      return refused / all > 0.05
    })
    expect(await read('mahi_budget_refused_total')).toBe(0)
    expect(await read('mahi_requests_overdue_total')).toBeGreaterThan(0)
    expect((await operator.run('MahiTurnsAway', 'mahi status')).stdout).toMatch(/^Disk .* free$/m)
    // Another process serves beside it, and callers get responses again.
    const other = await mahi.serve({ ...settings, METRICS_PORT: '0', OVERLOAD_DELAY_MS: '500' })
    await load.stop()
    const rest = new Load([url, other.url], questions, { callers: 4 })
    await rest.untilMore('ok', 40)
    expect((await rest.stop()).otherwise).toEqual([])
  })

  test('MahiTurnsAway and MahiClientsLeave: a client begins downloads and stops reading them', async () => {
    const service = await startService({ ...UNLIMITED, RATE_LIMIT_SUBMISSIONS: 'off' })
    const { mahi, url, headers, token, command, read, operator } = service
    // More than the system accepts for a reader that has stopped.
    const recordText = 'x'.repeat(2_000)
    const entries = Array.from({ length: 8_000 }, (_, index) => ({ localId: `L${index}`, recordText }))
    await withDatabase(mahi.databaseUrl, (database) =>
      publishResults(database, sourceOf(entries), { eid: '1001', returnId: 'R1', token }),
    )
    const { key } = await withDatabase(mahi.databaseUrl, (database) =>
      createKey(database, { client: 'slow', eids: ['1001'], expires: Date.now() + 86_400_000 }),
    )
    const path = `/v1/submissions/${token}/validation-results`
    const download = async (credential: string) => {
      const response = await fetch(url + path, {
        headers: { 'x-api-key': credential, eid: '1001', accept: 'application/x-ndjson' },
      })
      await response.body?.cancel()
      return response.status
    }
    const stopped = Array.from({ length: 16 }, () => {
      const socket = connect(Number(new URL(url).port), '127.0.0.1').on('error', () => undefined)
      onTestFinished(() => {
        socket.destroy()
      })
      socket.pause()
      socket.write(
        `GET ${path} HTTP/1.1\r\nHost: a\r\nX-API-Key: ${key}\r\nEID: 1001\r\nAccept: application/x-ndjson\r\n\r\n`,
      )
      return socket
    })
    await reached(async () => (await read('mahi_budget_used', 'budget="streams"')) === stopped.length)

    // MahiTurnsAway: the downloads of this client, and of no other, find no room.
    expect(await download(key)).toBe(503)
    expect(await download(headers['x-api-key'] ?? '')).toBe(200)
    expect(await read('mahi_http_requests_total', 'status="503"')).toBe(1)
    expect(await read('mahi_budget_refused_total')).toBe(1)
    expect(await read('mahi_budget_refused_total', 'budget="streams"')).toBe(1)
    expect(await read('mahi_requests_overdue_total')).toBe(0)
    const [refused] = await command.output(/^.*"status":503.*$/m)
    expect(JSON.parse(refused)).toMatchObject({ operation: 'validation-results', client: 'slow' })
    expect((await operator.run('MahiTurnsAway', 'mahi status')).stdout).toMatch(/^Disk .* free$/m)

    // MahiClientsLeave: once it has read nothing for long enough, a connection of it makes room for another request.
    await reached(async () => (await download(key)) === 200)
    await reached(async () => (await read('mahi_http_responses_incomplete_total', 'outcome="cut-off"')) >= 1)
    const [cut] = await command.output(/^.*"outcome":"cut-off".*$/m)
    const { id, client, operation } = JSON.parse(cut) as Record<string, string>
    expect([client, operation]).toEqual(['slow', 'validation-results'])
    expect(
      command.stdout.split('\n').filter((line) => line.includes(`"${id}"`) && line.includes('"err"')),
    ).toEqual([])
    // The client reads what it asked for.
    for (const socket of stopped) socket.resume()
    await reached(async () => (await read('mahi_budget_used', 'budget="streams"')) === 0)
    expect(await download(key)).toBe(200)
  })
})

describe('procedures for validations, step by step', () => {
  /** A service without a worker, and a submission that waits. */
  async function startWaiting(learners = 1) {
    const CHECK_FOLDER = join(temporaryFolder(), 'checks')
    const service = await startService({ ...UNLIMITED, CHECK_FOLDER })
    const { key } = await withDatabase(service.mahi.databaseUrl, (database) =>
      createKey(database, {
        client: 'provider',
        scopes: ['validation-results:read', 'submissions:write'],
        eids: ['1001'],
        expires: Date.now() + 86_400_000,
      }),
    )
    const { submissions } = createClient({ baseUrl: service.url, apiKey: key, eid: '1001' })
    const { submissionToken: token = '' } = await submissions.create({ returnId: '202512' })
    const rows = Array.from({ length: learners }, (_, index) => `L${index},S${index}\n`)
    await submissions.putFile(token, 'learners', `localId,studentIdentificationCode\n${rows.join('')}`)
    const request = async () => (await submissions.validate(token)).runId ?? 0
    const wait = async (run: number) => await submissions.waitForRun(token, run)
    return { ...service, key, folder: CHECK_FOLDER, token, request, wait }
  }

  test('MahiRunsWait, MahiRunsFail and MahiOrphans: a submission waits, its worker loses a folder, and data has no submission', async () => {
    const { mahi, url, key, folder, token, read, operator, request, wait } = await startWaiting()
    const change = (sql: string) =>
      withDatabase(mahi.databaseUrl, (database) => database.write('schema', (writer) => writer.run(sql)))
    const run = await request()
    await change(`update job set queued = queued - 660000, due = due - 660000 where kind = 'run'`)
    await reached(async () => (await read('mahi_jobs_oldest_seconds', 'kind="run"')) > 600)
    expect((await operator.run('MahiRunsWait', 'mahi status')).stdout).toMatch(
      /^Queue +\d+ waiting, 0 running/m,
    )
    const worker = operator.work()
    expect((await wait(run)).status).toBe('Processed')
    await reached(async () => (await read('mahi_jobs_oldest_seconds', 'kind="run"')) === 0)

    rmSync(folder, { recursive: true })
    writeFileSync(folder, '')
    const failing = await request()
    // Its last attempt.
    await change(`update job set attempts = 2 where kind = 'run'`)
    expect((await wait(failing)).status).toBe('UnknownError')
    await reached(async () => (await read('mahi_runs_total', 'status="UnknownError"')) === 1)
    const [cause] = await worker.output(/^.*"msg":"the job failed".*$/m)
    expect(JSON.parse(cause)).toMatchObject({ job: 'run', err: { stack: expect.stringContaining('mkdir') } })
    const [attempt] = await worker.output(/^.*"outcome":"failed".*$/m)
    expect(JSON.parse(attempt)).toMatchObject({ job: 'run', request: expect.stringMatching(/^[\w-]{36}$/) })
    const doctor = await operator.run('MahiRunsFail', 'mahi doctor')
    expect([doctor.code, doctor.stdout]).toEqual([
      1,
      expect.stringMatching(/^bad +CHECK_FOLDER .* is not a folder/m),
    ])
    rmSync(folder)
    mkdirSync(folder)
    mahi.write('files/learners.csv', 'localId,studentIdentificationCode\nL0,S0\n')
    const [, ...submit] = operator.commandOf('MahiRunsFail', 'mahi submit').split(' ')
    const options = ['--url', url, '--eid', '1001', '--return', '202512', '--wait', 'files']
    const sent = await mahi.run([...submit, ...options], { environment: { MAHI_API_KEY: key } })
    expect([sent.code, sent.stderr]).toEqual([1, expect.any(String)])
    const listed = await operator.run('MahiRunsFail', 'mahi submissions list')
    expect(listed.stdout).toMatch(new RegExp(`${token}.*Validated|Validated.*${token}`))

    await change(
      `insert into result_posting (run, field, value, block, total, ordinals) values (999, 'a', 'b', 0, 1, x'00')`,
    )
    await change(`update job set due = 0 where kind = 'retention' and subject = 'orphans'`)
    await reached(async () => (await read('mahi_orphans_total')) === 1)
    const [swept] = await worker.output(/^.*"audit":"orphans".*$/m)
    expect(JSON.parse(swept)).toMatchObject({ result_posting: 1 })
    const version = (await operator.run('MahiOrphans', 'mahi --version')).stdout.trim()
    expect(await read('mahi_build_info', `version="${version}"`)).toBe(1)
  })

  test('MahiRunsHalt: a return takes longer than CHECK_SECONDS', async () => {
    const { mahi, token, read, operator, request, wait } = await startWaiting(20_000)
    const worker = mahi.start(['work'], { environment: { CHECK_SECONDS: '1' } })
    const run = await request()
    // However fast the machine is.
    process.kill(await until(() => findCheck(worker)), 'SIGSTOP')
    expect((await wait(run)).status).toBe('Halted')
    await reached(async () => (await read('mahi_runs_total', 'status="Halted"')) === 1)
    expect((await operator.run('MahiRunsHalt', 'mahi submissions list')).stdout).toContain(token)
    const shown = await operator.run('MahiRunsHalt', 'mahi submissions show', { TOKEN: token })
    expect(shown.stdout).toContain('The check was stopped: it took more than 1 seconds.')
    expect((await operator.run('MahiRunsHalt', 'mahi config')).stdout).toMatch(/CHECK_SECONDS +3600/)
    worker.kill('SIGTERM')
    await worker.ended
    operator.work()
    expect((await wait(await request())).status).toBe('Processed')
  })
})

describe.skipIf(!hasCluster)('procedures for PostgreSQL, step by step', () => {
  async function startServers(
    settings: (urls: { primary: Cluster; standby: Cluster; proxy: PausableProxy }) => Record<string, string>,
  ) {
    const primary = await Cluster.start()
    onTestFinished(() => primary.remove())
    const DATABASE_URL = await primary.createDatabase('mahi')
    const filled = await fillDatabase(DATABASE_URL)
    const standby = await primary.startStandby()
    onTestFinished(() => standby.remove())
    const proxy = await PausableProxy.start(standby.port)
    const mahi = new Installation()
    const environment = { ...UNLIMITED, DATABASE_URL, ...settings({ primary, standby, proxy }) }
    const served = await serveWithMetrics(mahi, environment)
    return {
      primary,
      standby,
      proxy,
      mahi,
      ...filled,
      ...served,
      operator: new Operator(mahi, { ...served.settings, PGPORT: `${primary.port}` }),
    }
  }

  test('MahiDatabaseLost: the primary was killed', async () => {
    const { primary, url, command, read, operator } = await startServers(() => ({}))
    await primary.kill()
    await reached(async () => (await read('mahi_primary_up')) === 0)
    const doctor = await operator.run('MahiDatabaseLost', 'mahi doctor')
    expect([doctor.code, doctor.stdout + doctor.stderr]).toEqual([
      1,
      expect.stringMatching(/DATABASE_URL.*ECONNREFUSED/),
    ])
    const ready = () => operator.run('MahiDatabaseLost', 'pg_isready', { db: '127.0.0.1' })
    expect((await ready()).stdout).toBe(`127.0.0.1:${primary.port} - no response\n`)
    await primary.start()
    expect((await ready()).stdout).toBe(`127.0.0.1:${primary.port} - accepting connections\n`)
    await command.output(/the database is available again/)
    await reached(async () => (await fetch(`${url}/readyz`)).status === 200)
    expect(await read('mahi_primary_up')).toBe(1)
  })

  test('MahiStandbyUnused: after a promotion, both URLs lead to one server', async () => {
    const { standby, primary, proxy, command, read, operator } = await startServers(({ primary, proxy }) => ({
      DATABASE_READ_URL: primary.url('mahi', proxy.port),
    }))
    await reached(async () => (await read('mahi_standby_up')) === 1)
    await standby.remove()
    proxy.redirect(primary.port)
    await command.output(/it is the same server as the primary.*the standby is not used/)
    expect(await read('mahi_standby_up')).toBe(0)
    const doctor = await operator.run('MahiStandbyUnused', 'mahi doctor')
    expect(doctor.stdout).toMatch(/DATABASE_READ_URL/)
    const built = await primary.startStandby()
    onTestFinished(() => built.remove())
    proxy.redirect(built.port)
    await reached(async () => (await read('mahi_standby_up')) === 1)
  })

  test('MahiStandbyLags: the standby does not replay', async () => {
    const { standby, primary, mahi, read, operator } = await startServers(({ standby }) => ({
      DATABASE_READ_URL: standby.url('mahi'),
    }))
    await reached(async () => (await read('mahi_standby_up')) === 1)
    await standby.pauseReplay()
    const environment = { DATABASE_URL: primary.url('mahi') }
    await mahi.runJson(['occupations', 'import', '-'], { input: '{"occupationCode":"ZZZ"}\n', environment })
    await reached(async () => (await read('mahi_standby_lag_seconds')) > 1)
    const rows = await primary.query(operator.commandOf('MahiStandbyLags', 'select'))
    expect(rows).toEqual([expect.objectContaining({ state: 'streaming' })])
    expect((await operator.run('MahiStandbyLags', 'mahi status')).stdout).toMatch(
      /^Occupations .*last import \d{4}-/m,
    )
    await standby.resumeReplay()
    await reached(async () => (await read('mahi_standby_lag_seconds')) === 0)
  })

  test('MahiWaitsForConnections, MahiSlow and MahiClientsLeave: a transaction holds a lock', async () => {
    const { primary, url, headers, command, read, operator } = await startServers(() => ({
      DATABASE_POOL_SIZE: '2',
      PAGE_CACHE_MB: '0',
    }))
    await primary.session(async (client) => {
      await client.query('begin; lock table occupation in access exclusive mode')
      const impatient = connect(Number(new URL(url).port), '127.0.0.1')
      impatient.write(`GET /v1/occupations HTTP/1.1\r\nHost: a\r\nX-API-Key: ${headers['x-api-key']}\r\n\r\n`)
      // Each another page: the same one is read once for all.
      const asked = Array.from({ length: 40 }, (_, index) =>
        fetch(`${url}/v1/occupations?Cursor=C${index + 100}`, { headers }),
      )
      await reached(async () => (await read('mahi_database_waiting')) > 10)
      const begun = performance.now()
      impatient.resetAndDestroy()
      await reached(async () => performance.now() - begun > 1_000)
      const { stdout } = await operator.run('MahiWaitsForConnections', 'mahi config')
      expect(stdout).toMatch(/DATABASE_POOL_SIZE +2\b/)
      const rows = await primary.query<{ pid: number; left: string }>(
        operator.commandOf('MahiWaitsForConnections', 'select pid'),
        'mahi',
      )
      const { pid } = rows.find(({ left }) => left.includes('lock table')) ?? {}
      await primary.query(
        operator.commandOf('MahiWaitsForConnections', 'select pg_terminate').replace('PID', `${pid}`),
      )
      await reached(async () => (await read('mahi_database_waiting')) === 0)
      await Promise.all(asked)
    }, 'mahi')
    expect((await fetch(`${url}/v1/occupations`, { headers })).status).toBe(200)

    // Pages took longer than a second, although the process had time: the connections were all in use.
    const pages = 'operation="occupations"'
    const fast = await read('mahi_http_request_duration_seconds_bucket', `le="1",${pages}`)
    expect(await read('mahi_http_request_duration_seconds_count', pages)).toBeGreaterThan(fast)
    expect(await read('nodejs_eventloop_lag_p99_seconds')).toBeGreaterThan(0)
    expect(await read('mahi_database_connections_in_use', 'server="primary"')).toBe(0)
    expect((await operator.run('MahiSlow', 'mahi status')).stdout).toMatch(
      /^Occupations .*last import[\s\S]*^Queue /m,
    )
    expect(await read('mahi_http_responses_incomplete_total', 'outcome="left"')).toBe(1)
    expect(command.stdout).toMatch(/"outcome":"left".*"client":"load"/)
  })
})

test.skipIf(!hasRedisServer)('MahiLimitsAlone: Redis has died', async () => {
  const redis = await OwnRedis.start()
  const { read, operator } = await startService({ REDIS_URL: redis.url })
  expect(await read('mahi_rate_limit_redis_up')).toBe(1)
  await redis.kill()
  await reached(async () => (await read('mahi_rate_limit_redis_up')) === 0)
  const doctor = await operator.run('MahiLimitsAlone', 'mahi doctor')
  expect([doctor.code, doctor.stdout + doctor.stderr]).toEqual([
    1,
    expect.stringMatching(/REDIS_URL.*is it running/),
  ])
  await redis.start()
  await reached(async () => (await read('mahi_rate_limit_redis_up')) === 1)
})
