// `npm run bench:regressions`: what each operation costs, beside what it cost when `regressions.json` was kept.
// A cost is processor time for each request, as a multiple of what Fastify needs to send a constant page in the same
// round: a busy machine slows both. `--keep` keeps the costs of this run.
import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { compare, type Entry, type Run } from './compare.ts'
import { assertIdle } from './idle.ts'
import { buildMahi, fetchPage, PAGE, startProgram } from './mahi.ts'
import { assertPrograms } from './measure.ts'
import { startOperations } from './suites/operations.ts'

/** Costs that grew by more are printed. */
const NOTICED = 1.15
/** Costs that grew by more fail the run. */
const REFUSED = 1.5

const KEPT = new URL('regressions.json', import.meta.url)

const { values: flags } = parseArgs({ options: { keep: { type: 'boolean', default: false } } })
assertPrograms('wrk')
if (flags.keep) assertIdle('bench/regressions.json')
// The machine may be busy: no request is refused because of it.
process.env.OVERLOAD_DELAY_MS = '0'
buildMahi()
const folder = `${tmpdir()}/mahi-regressions-${process.pid}-`
const run: Run = {
  quick: false,
  rounds: 3,
  seconds: 1,
  connections: 16,
  folder,
  postgres: undefined,
  onet: undefined,
  rows: [],
  figures: [],
}
try {
  await measureCosts()
} finally {
  for (const end of ['', '-wal', '-shm']) rmSync(`${folder}operations.db${end}`, { force: true })
  rmSync(join(`${folder}page.json`), { force: true })
}
const costs = Object.fromEntries(
  run.rows.slice(1).map(({ contender, cpuRatio }) => [contender, Math.round(100 / cpuRatio) / 100]),
)
const errors = run.rows.reduce((sum, row) => sum + row.errors, 0)
if (errors > 0) throw new Error(`${errors} requests failed, so the costs mean nothing`)
if (flags.keep) writeFileSync(KEPT, `${JSON.stringify(costs, null, 2)}\n`)
else compareWithKept(JSON.parse(readFileSync(KEPT, 'utf8')) as Record<string, number>)

async function measureCosts(): Promise<void> {
  const { cached, place, loads, stop } = await startOperations(run)
  const { headers } = loads
  const page = await fetchPage(cached, PAGE, headers)
  writeFileSync(`${folder}page.json`, Buffer.from(await page.arrayBuffer()))
  const floor = await startProgram('Fastify, constant page', 'floor-fastify.ts', `${folder}page.json`)
  const fromMemory: readonly [string, Record<string, string>][] = [
    ['page of 20 from memory', {}],
    ['the same, gzip', { 'accept-encoding': 'gzip' }],
    ['the same, not modified', { 'if-none-match': page.headers.get('etag') ?? '' }],
  ]
  const entries: Entry[] = [
    { contender: floor, load: { path: PAGE } },
    ...fromMemory.map(([label, more]) => ({
      contender: cached,
      label,
      load: { path: PAGE, headers: { ...headers, ...more } },
    })),
    ...loads.entries.map(([label, load]) => ({ contender: place.server, label, load })),
  ]
  await compare(run, 'regressions', 'processor time', entries)
  await Promise.all([floor.stop(), stop()])
}

function compareWithKept(kept: Readonly<Record<string, number>>): void {
  const changes = Object.entries(costs).map(([name, cost]) => ({
    name,
    cost,
    growth: cost / (kept[name] ?? Number.NaN),
  }))
  const unknown = [
    ...changes.filter(({ growth }) => Number.isNaN(growth)).map(({ name }) => name),
    ...Object.keys(kept).filter((name) => costs[name] === undefined),
  ]
  if (unknown.length > 0) throw new Error(`regressions.json and the operations differ: ${unknown.join(', ')}`)
  const dearer = changes.filter(({ growth }) => growth > NOTICED)
  for (const { name, cost, growth } of dearer)
    process.stdout.write(
      `${name} costs ${Math.round(growth * 100 - 100)} % more: ${cost} times a constant page, not ${kept[name]}\n`,
    )
  if (dearer.length === 0) process.stdout.write('No operation costs more than 15 % more.\n')
  if (changes.some(({ growth }) => growth > REFUSED)) process.exitCode = 1
}
