// `npm run bench:regressions`: what each operation costs, beside what it cost when `regressions.json` was kept.
// A cost is processor time for each request, as a multiple of what Fastify needs to send a constant page at the same
// time, because other work on the machine makes both dearer. What looks dearer is measured again. `--keep` keeps the
// costs of this run; `--runs 20` measures so many times, and shows how much the costs differ. Costs are kept for each
// model of processor: on one whose system calls are cheap, a page is, too, and what computes costs more of them.
import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { cpus, tmpdir } from 'node:os'
import { parseArgs } from 'node:util'
import type { Entry } from './compare.ts'
import { buildMahi, fetchPage, PAGE, startProgram } from './mahi.ts'
import { assertIdle, median, processorSeconds } from './measure.ts'
import { sendRequests } from './send-requests.ts'
import { startOperations } from './suites/operations.ts'

/** Costs that grew by more are printed. */
const NOTICED = 1.15
/** Costs that grew by more in every round fail the run. */
const REFUSED = 1.5
/** Processor time of a server in each measurement, in microseconds: a busy machine takes longer for it. */
const SAMPLE = 100_000
/** Processor time after which the compiler has done most of its work for an operation, in microseconds. */
const WARM_UP = 5 * SAMPLE
const ROUNDS = 5
/** How often what looks dearer is measured again. */
const AGAIN = 5
/** Rounds begin within this time, in milliseconds, though there are at least two. */
const LONGEST = 60_000

const KEPT = new URL('regressions.json', import.meta.url)
const FLOOR = 'Fastify, constant page'

const { values: flags } = parseArgs({
  options: { keep: { type: 'boolean', default: false }, runs: { type: 'string', default: '1' } },
})
const runs = Number(flags.runs)
if (!Number.isInteger(runs) || runs < 1 || (flags.keep && runs > 1)) {
  process.stderr.write('--runs must be a whole number from 1, and 1 with --keep.\n')
  process.exit(2)
}
if (flags.keep) assertIdle('bench/regressions.json')
buildMahi()
const folder = `${tmpdir()}/mahi-regressions-${process.pid}-`
const model = cpus()[0]?.model ?? 'unknown'
const known = JSON.parse(readFileSync(KEPT, 'utf8')) as Record<string, Record<string, number>>
const kept = known[model] ?? dearestOf(Object.values(known))
if (!flags.keep && known[model] === undefined)
  process.stdout.write(`No costs of ${model} are kept: the dearest of other processors are compared.\n`)
/** The costs of each operation, one for each round. */
const costs = new Map<string, number[]>()
/** How many requests of each operation make a sample. */
const samples = new Map<string, number>()
/** What each operation costs in each run, as a multiple of what it cost. */
const ofRuns = new Map<string, number[]>()
try {
  await measureCosts()
} finally {
  for (const end of ['', '-wal', '-shm']) rmSync(`${folder}operations.db${end}`, { force: true })
  rmSync(`${folder}page.json`, { force: true })
}
if (flags.keep) {
  const costs = { ...known, [model]: Object.fromEntries(mediansNow()) }
  writeFileSync(KEPT, `${JSON.stringify(costs, null, 2)}\n`)
}
if (runs > 1) describeRuns()

/** The dearest cost of each operation. */
function dearestOf(all: readonly Readonly<Record<string, number>>[]): Record<string, number> {
  const dearest: Record<string, number> = {}
  for (const [label, cost] of all.flatMap((costs) => Object.entries(costs)))
    dearest[label] = Math.max(cost, dearest[label] ?? 0)
  return dearest
}

type Labelled = Entry & { readonly label: string }

async function measureCosts(): Promise<void> {
  const { cached, place, loads, stop } = await startOperations({ folder, onet: undefined })
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
  // The compilers of all processes work in the first measurements, which also show how many requests make a sample.
  for (const each of [floor, ...entries]) await warmUp(each)
  for (let count = 0; count < runs; count++) {
    costs.clear()
    const begun = performance.now()
    for (let round = 0; round < ROUNDS && (round < 2 || performance.now() - begun < LONGEST); round++)
      await drive(floor, entries)
    for (let again = 0; again < AGAIN && !flags.keep; again++) {
      const dearer = new Set(growths().flatMap(({ label, middle }) => (middle > NOTICED ? [label] : [])))
      const begins = performance.now() - begun < LONGEST || growths().some(({ least }) => least > REFUSED)
      if (begins)
        await drive(
          floor,
          entries.filter(({ label }) => dearer.has(label)),
        )
    }
    if (!flags.keep) compareWithKept()
  }
  await Promise.all([contender.stop(), stop()])
}

/** Measures some operations in turn, each between two measurements of the floor. */
async function drive(floor: Labelled, entries: readonly Labelled[]): Promise<void> {
  if (entries.length === 0) return
  let before = await timeOf(floor)
  for (const entry of entries) {
    const time = await timeOf(entry)
    const after = await timeOf(floor)
    costs.set(entry.label, [...(costs.get(entry.label) ?? []), time / ((before + after) / 2)])
    before = after
  }
}

async function warmUp(entry: Labelled): Promise<void> {
  const { label } = entry
  for (let count = 64, used = 0; used < WARM_UP; count *= 2) {
    samples.set(label, count)
    used = count * (await timeOf(entry))
    samples.set(label, Math.ceil((count * SAMPLE) / used))
  }
}

/** Microseconds of processor time for a request. */
async function timeOf({ contender, label, load }: Labelled): Promise<number> {
  const count = samples.get(label) ?? 1
  const before = processorSeconds(contender.pid)
  await sendRequests(contender, load, count)
  return ((processorSeconds(contender.pid) - before) * 1e6) / count
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
  for (const { label, middle } of all) ofRuns.set(label, [...(ofRuns.get(label) ?? []), middle])
  const without = all.filter(({ middle }) => Number.isNaN(middle)).map(({ label }) => label)
  if (without.length > 0)
    process.stdout.write(`No cost is kept of ${without.join(', ')}: add it with --keep on an idle machine.\n`)
  const dearer = all.filter(({ middle }) => middle > NOTICED)
  for (const { label, cost, middle, least } of dearer)
    process.stdout.write(
      `${label} costs ${Math.round(middle * 100 - 100)} % more (at least ${Math.round(least * 100 - 100)} %): ${cost} times a constant page, not ${kept[label]}\n`,
    )
  if (dearer.length === 0) process.stdout.write('No operation costs more than 15 % more.\n')
  const refused = all.filter(({ least }) => least > REFUSED).map(({ label }) => label)
  if (refused.length === 0) return
  process.stdout.write(`More than 50 % dearer in every measurement: ${refused.join(', ')}.\n`)
  process.exitCode = 1
}

/** How much the costs of the runs differ. */
function describeRuns(): void {
  for (const [label, growth] of ofRuns) {
    const [least, middle, most] = [Math.min(...growth), median(growth), Math.max(...growth)].map((each) =>
      each.toFixed(2),
    )
    const noticed = growth.filter((each) => each > NOTICED).length
    process.stdout.write(
      `${label}: ${least} to ${most} times the kept cost, median ${middle}; noticed in ${noticed} of ${runs} runs\n`,
    )
  }
}
