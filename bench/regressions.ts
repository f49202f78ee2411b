// `npm run bench:regressions`: what each operation costs, beside what it cost when `regressions.json` was kept.
// A cost is processor time for each request, as a multiple of what Fastify needs to send a constant page in the seconds
// before, because other work on the machine makes both dearer. What looks dearer is measured again. `--keep` keeps the
// costs of this run.
import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import type { Entry, Run } from './compare.ts'
import { assertIdle } from './idle.ts'
import { buildMahi, fetchPage, PAGE, startProgram } from './mahi.ts'
import { assertPrograms, measure, median } from './measure.ts'
import { startOperations } from './suites/operations.ts'

/** Costs that grew by more are printed. */
const NOTICED = 1.15
/** Costs that grew by more in every round fail the run. */
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
  rounds: 2,
  seconds: 1,
  connections: 16,
  folder,
  postgres: undefined,
  onet: undefined,
  rows: [],
  figures: [],
}
/** How often what looks dearer is measured again. */
const AGAIN = 3

const kept = JSON.parse(readFileSync(KEPT, 'utf8')) as Record<string, number>
/** The costs of each operation, one for each round. */
const costs = new Map<string, number[]>()
const FLOOR = 'Fastify, constant page'
try {
  await measureCosts()
} finally {
  for (const end of ['', '-wal', '-shm']) rmSync(`${folder}operations.db${end}`, { force: true })
  rmSync(join(`${folder}page.json`), { force: true })
}
if (flags.keep) writeFileSync(KEPT, `${JSON.stringify(Object.fromEntries(mediansNow()), null, 2)}\n`)
else compareWithKept()

type Labelled = Entry & { readonly label: string }

async function measureCosts(): Promise<void> {
  const { cached, place, loads, stop } = await startOperations(run)
  const { headers } = loads
  const page = await fetchPage(cached, PAGE, headers)
  writeFileSync(`${folder}page.json`, Buffer.from(await page.arrayBuffer()))
  const contender = await startProgram(FLOOR, 'floor-fastify.ts', `${folder}page.json`)
  const floor: Labelled = { contender, label: FLOOR, load: { path: PAGE } }
  const fromMemory: readonly [string, Record<string, string>][] = [
    ['page of 20 from memory', {}],
    ['the same, gzip', { 'accept-encoding': 'gzip' }],
    ['the same, not modified', { 'if-none-match': page.headers.get('etag') ?? '' }],
  ]
  const entries: Labelled[] = [
    ...fromMemory.map(([label, more]) => ({
      contender: cached,
      label,
      load: { path: PAGE, headers: { ...headers, ...more } },
    })),
    ...loads.entries.map(([label, load]) => ({ contender: place.server, label, load })),
  ]
  // The first round lets the compilers of all processes work.
  await drive(floor, entries)
  costs.clear()
  for (let round = 0; round < run.rounds; round++) await drive(floor, entries)
  for (let again = 0; again < AGAIN && !flags.keep; again++) {
    const dearer = new Set(growths().flatMap(({ label, middle }) => (middle > NOTICED ? [label] : [])))
    await drive(
      floor,
      entries.filter(({ label }) => dearer.has(label)),
    )
  }
  await Promise.all([contender.stop(), stop()])
}

/** Drives some operations in turn, with the floor before every second one. */
async function drive(floor: Labelled, entries: readonly Labelled[]): Promise<void> {
  let time = 0
  for (const [index, entry] of entries.entries()) {
    if (index % 2 === 0) time = await timeOf(floor)
    costs.set(entry.label, [...(costs.get(entry.label) ?? []), (await timeOf(entry)) / time])
  }
}

async function timeOf({ contender, label, load }: Labelled): Promise<number> {
  const { seconds, connections } = run
  const { cpuPerRequest, errors } = await measure(contender, { ...load, seconds, connections })
  if (errors > 0) throw new Error(`${errors} requests of "${label}" failed, so the costs mean nothing`)
  return cpuPerRequest
}

function mediansNow(): [string, number][] {
  return [...costs].map(([label, measured]) => [label, Math.round(100 * median(measured)) / 100])
}

/** What each operation costs, as a multiple of what it cost: in the middle and at least. */
function growths() {
  return mediansNow().map(([label, cost]) => {
    const before = kept[label] ?? Number.NaN
    return { label, cost, middle: cost / before, least: Math.min(...(costs.get(label) ?? [])) / before }
  })
}

function compareWithKept(): void {
  const all = growths()
  const without = all.filter(({ middle }) => Number.isNaN(middle)).map(({ label }) => label)
  if (without.length > 0)
    process.stdout.write(`No cost is kept of ${without.join(', ')}: add it with --keep on an idle machine.\n`)
  const dearer = all.filter(({ middle }) => middle > NOTICED)
  for (const { label, cost, middle, least } of dearer)
    process.stdout.write(
      `${label} costs ${Math.round(middle * 100 - 100)} % more (at least ${Math.round(least * 100 - 100)} %): ${cost} times a constant page, not ${kept[label]}\n`,
    )
  if (dearer.length === 0) process.stdout.write('No operation costs more than 15 % more.\n')
  if (all.some(({ least }) => least > REFUSED)) process.exitCode = 1
}
