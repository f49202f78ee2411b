import { spawnSync } from 'node:child_process'
import { expect, test } from 'vitest'
import { createKey } from '../../src/api/access/keys.ts'
import { claim, enqueue } from '../../src/foundation/jobs/queue.ts'
import { Installation } from '../support/command.ts'
import { fillDatabase, withDatabase } from '../support/filled-database.ts'
import { engine } from '../support/temporary.ts'
import { testWhere } from '../support/test-where.ts'

const testPromtool = testWhere(
  spawnSync('promtool', ['--version']).status === 0,
  'promtool is not installed (Debian has it in the package prometheus): the format of the metrics',
)

/** What a fresh service reports, at an address with a query, as some scrapers ask. */
async function scrape(environment: Readonly<Record<string, string>> = {}): Promise<string> {
  const { settings } = await new Installation({ inProcesses: true }).serveWithMetrics(environment)
  const response = await fetch(`http://127.0.0.1:${settings.METRICS_PORT}/metrics?x=1`)
  expect(response.status).toBe(200)
  return await response.text()
}

testPromtool('promtool has nothing to say against any series of the service', async () => {
  const metrics = await scrape({ REDIS_URL: 'redis://127.0.0.1:1' })
  const own = metrics
    .split('\n')
    .filter((line) => /^(?:# (?:HELP|TYPE) )?mahi_/.test(line))
    .join('\n')
  const { status, stdout, stderr } = spawnSync('promtool', ['check', 'metrics'], {
    input: `${own}\n`,
    encoding: 'utf8',
  })
  expect([status, stdout, stderr]).toEqual([0, '', ''])
})

test('the queue, the keys and the search index are reported as they are', async () => {
  const mahi = new Installation()
  await fillDatabase(mahi.databaseUrl)
  const now = Date.now()
  await withDatabase(mahi.databaseUrl, async (database) => {
    await database.write('job:test', async (writer) => {
      for (const subject of ['1', '2', '3']) await enqueue(writer, { kind: 'run', subject, eid: '1001' })
      await enqueue(writer, { kind: 'purge', subject: 'later', eid: '1001', due: now + 3_600_000 })
    })
    expect(await claim(database, 'worker', ['run'])).toMatchObject({ attempts: 1 })
    // However long the service takes to start.
    await database.write('job:test', (writer) => writer.run('update job set lease = lease + 3600000'))
    await createKey(database, { client: 'soon', expires: now + 86_400_000 })
    await createKey(database, { client: 'replaced', expires: now + 86_400_000 })
    await createKey(database, { client: 'replaced', expires: now + 1000 * 86_400_000 })
  })
  await mahi.runJson(['occupations', 'index'])
  const { url, readMetrics } = await mahi.serveWithMetrics({ OCCUPATIONS_ACCESS: 'public' })
  // The index is loaded right after the start.
  expect((await fetch(`${url}/v1/occupations/search?q=title`)).status).toBe(200)
  const lines = (await readMetrics()).split('\n')
  for (const series of [
    'mahi_jobs_waiting{kind="run"} 2',
    'mahi_jobs_running{kind="run"} 1',
    'mahi_jobs_waiting{kind="purge"} 0',
    'mahi_jobs_oldest_seconds{kind="purge"} 0',
    'mahi_keys_valid 4',
    // Of three that end tomorrow, one of which is that of the filled database, another key replaces one.
    'mahi_keys_expiring 2',
    'mahi_search_index_behind_seconds 0',
    'mahi_search_index_failed 0',
    'mahi_jobs_waiting{kind="index"} 0',
    'mahi_jobs_waiting{kind="upload"} 0',
    'mahi_jobs_waiting{kind="copies"} 0',
  ])
    expect(lines).toContain(series)
  const numberOf = (series: string) =>
    Number(lines.find((line) => line.startsWith(`${series} `))?.split(' ')[1])
  expect(numberOf('mahi_jobs_oldest_seconds{kind="run"}')).toBeGreaterThan(0)
  expect(numberOf('mahi_search_index_bytes')).toBeGreaterThan(0)
  expect(numberOf('mahi_search_index_age_seconds')).toBeGreaterThanOrEqual(0)
})

test.skipIf(engine === 'sqlite')('a locked table does not hold up the metrics that show it', async () => {
  const mahi = await new Installation().migrate()
  await mahi.createKey({ client: 'one' })
  const { readMetrics } = await mahi.serveWithMetrics()
  await withDatabase(mahi.databaseUrl, (database) =>
    database.write('catalogue', async (writer) => {
      await writer.run('lock table occupation in access exclusive mode')
      expect((await readMetrics()).split('\n')).toContain('mahi_keys_valid 1')
    }),
  )
})

test('every series begins at 0, so that the first error of a process is an increase', async () => {
  const metrics = await scrape()
  for (const series of [
    'mahi_http_requests_total{operation="occupations",status="500"} 0',
    'mahi_http_requests_total{operation="validation-results",status="401"} 0',
    'mahi_http_requests_total{operation="broken-request",status="400"} 0',
    'mahi_http_request_duration_seconds_count{operation="occupations"} 0',
    'mahi_http_responses_incomplete_total{operation="occupations",outcome="left"} 0',
    'mahi_http_responses_incomplete_total{operation="occupations",outcome="cut-off"} 0',
    'mahi_http_response_bytes_total{operation="occupations"} 0',
    'mahi_log_lines_dropped_total{kind="request"} 0',
    'mahi_log_lines_dropped_total{kind="audit"} 0',
    'mahi_primary_up 1',
  ]) {
    expect(metrics.split('\n')).toContain(series)
  }
  expect(metrics).toMatch(/^mahi_build_info\{version="\d[^"]*",node="\d[^"]*"\} 1$/m)
  expect(metrics).toMatch(/^mahi_revisions_age_seconds [\d.e-]+$/m)
})
