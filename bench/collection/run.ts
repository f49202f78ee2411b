// Measures what an agency and an analyst wait for, and prints one table:
//   node bench/collection/run.ts [--postgres postgres://…] [--organisations 400] [--findings 5000000]
// The overview of a return with many organisations, its causes and its page, and the workbench of a submission with
// 200 causes and 500,000 findings in Chromium. Small sizes only show that the program works.
import { mkdtempSync, rmSync } from 'node:fs'
import { loadavg, tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import type { Page } from 'playwright-core'
import { createKey } from '../../src/api/access/keys.ts'
import { Sessions } from '../../src/console/sessions.ts'
import type { Database } from '../../src/foundation/database/database.ts'
import { openDatabase } from '../../src/foundation/database/open.ts'
import { storeReturns } from '../../src/submissions/returns/returns.ts'
import { startBrowser } from '../../test/support/browser.ts'
import { buildMahi, fetchPage, prepareSchema, startMahi } from '../mahi.ts'
import { type Contender, median } from '../measure.ts'
import { timePage } from '../page-timing.ts'
import { StoredRuns } from './stored-runs.ts'

const { values: flags } = parseArgs({
  options: {
    postgres: { type: 'string' },
    organisations: { type: 'string', default: '400' },
    findings: { type: 'string', default: '5000000' },
    causes: { type: 'string', default: '200' },
    'own-findings': { type: 'string', default: '500000' },
    rounds: { type: 'string', default: '15' },
  },
})
const GOAL = '≤ 100 ms'
const DAY = 86_400_000
const RETURN = '202512'
/** Of each organisation in the overview. */
const CAUSES = 25
const rounds = Number(flags.rounds)
const rows: (readonly [name: string, value: string, goal: string])[] = []

buildMahi()
const folder = mkdtempSync(join(tmpdir(), 'mahi-bench-collection-'))
const url =
  flags.postgres === undefined
    ? `sqlite:${join(folder, 'mahi.db')}`
    : await prepareSchema(flags.postgres, `bench_${Date.now()}`)
const database = await openDatabase(url)
try {
  const eids = Array.from({ length: Number(flags.organisations) }, (_, at) => String(7000 + at))
  const token = await fill(database, eids)
  const server = await startMahi(url, 'Mahi', { WORKERS: '0', CONSOLE: 'on', RATE_LIMIT_SUBMISSIONS: 'off' })
  try {
    await measureOverview(database, server, eids)
    await measureWorkbench(database, server, token)
  } finally {
    await server.stop()
  }
} finally {
  await database.close()
  rmSync(folder, { recursive: true, force: true })
}
process.stdout.write('\n| measured | median | goal |\n|---|--:|--:|\n')
for (const row of rows) process.stdout.write(`| ${row.join(' | ')} |\n`)
const load = loadavg().map((each) => each.toFixed(1))
process.stdout.write(`\n${flags.postgres ? 'PostgreSQL' : 'SQLite'}, load average ${load.join(', ')}\n`)

/** Stores the return and the runs of all organisations, and returns the token of the analyst's submission. */
async function fill(database: Database, eids: readonly string[]): Promise<string> {
  const now = Date.now()
  const described = { name: 'December 2025', definition: 'sdr', version: '2025.12.0', type: 'Full' } as const
  const dates = { opens: now - DAY, due: now + DAY, closes: now + 2 * DAY, zone: 'UTC' }
  await storeReturns(database, [
    { returnId: RETURN, ...described, ...dates, eids },
    { returnId: '202508', ...described, ...dates, eids: ['1001'] },
  ])
  const runs = new StoredRuns(database)
  try {
    const findings = Math.round(Number(flags.findings) / eids.length)
    for (const [at, eid] of eids.entries()) {
      await runs.store(eid, RETURN, { findings, causes: CAUSES })
      if ((at + 1) % 50 === 0) process.stdout.write(`${at + 1} organisations are stored\n`)
    }
    const size = { findings: Number(flags['own-findings']), causes: Number(flags.causes) }
    return await runs.store('1001', '202508', size)
  } finally {
    await runs.stop()
  }
}

async function measureOverview(
  database: Database,
  server: Contender,
  eids: readonly string[],
): Promise<void> {
  const expires = Date.now() + DAY
  const { key } = await createKey(database, { client: 'agency', scopes: ['operate'], eids: [], expires })
  const path = `/v1/returns/${RETURN}`
  const size = `${eids.length} organisations, ${Number(flags.findings).toLocaleString('en')} findings`
  for (const [name, at] of [
    ['overview', `${path}/overview`],
    ['overview on one page', `${path}/overview?pageSize=1000`],
    ['causes', `${path}/causes`],
  ] as const) {
    const times: number[] = []
    for (let round = 0; round < rounds + 1; round++) {
      const start = performance.now()
      await (await fetchPage(server, at, { 'x-api-key': key })).arrayBuffer()
      times.push(performance.now() - start)
    }
    // The first request opens connections.
    rows.push([`${name}, ${size}`, `${median(times.slice(1)).toFixed(0)} ms`, name === 'causes' ? '' : GOAL])
  }
}

async function measureWorkbench(database: Database, server: Contender, token: string): Promise<void> {
  const browser = await startBrowser()
  try {
    const page = await signIn(database, server, await browser.newPage())
    const at = `${server.url}/console/submissions/${token}/findings`
    const size = `${flags.causes} causes, ${Number(flags['own-findings']).toLocaleString('en')} findings`
    for (const [name, address] of [
      [`Fix, ${size}`, at],
      [`Fix with all causes, ${size}`, `${at}?all=yes`],
      [`records, ${size}`, `${at}/records`],
      ['page of the return', `${server.url}/console/returns/${RETURN}`],
    ] as const) {
      const { response, paint } = await timePage(page, address, rounds)
      rows.push([`${name}: response`, `${response.toFixed(0)} ms`, ''])
      rows.push([`${name}: first paint after the last byte`, `${paint.toFixed(0)} ms`, GOAL])
    }
  } finally {
    await browser.close()
  }
}

async function signIn(database: Database, server: Contender, page: Page): Promise<Page> {
  const scopes = ['validation-results:read', 'submissions:write', 'operate'] as const
  const expires = Date.now() + DAY
  const { id } = await createKey(database, { client: 'analyst', scopes, eids: ['1001'], expires })
  await page.goto(`${server.url}/console/link/${await new Sessions(database).createLink(id)}`)
  await page.waitForURL(/\/console\/submissions/)
  return page
}
