import { spawnSync } from 'node:child_process'
import { expect, test } from 'vitest'
import { Installation } from './support/command.ts'
import { findFreePort } from './support/free-port.ts'
import { testWhere } from './support/test-where.ts'

const testPromtool = testWhere(
  spawnSync('promtool', ['--version']).status === 0,
  'promtool is not installed (Debian has it in the package prometheus): the format of the metrics',
)

/** What a fresh service reports, at an address with a query, as some scrapers ask. */
async function scrape(environment: Readonly<Record<string, string>> = {}): Promise<string> {
  const port = await findFreePort()
  await new Installation().serve({ METRICS_PORT: `${port}`, ...environment })
  const response = await fetch(`http://127.0.0.1:${port}/metrics?x=1`)
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
