// `npm run bench`: makes the data, starts the contenders, measures, and keeps the figures. See README.md.

import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { cpus } from 'node:os'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import type { Figure, Row, Run } from './compare.ts'
import { buildMahi } from './mahi.ts'
import { assertIdle, assertPrograms } from './measure.ts'
import { benchMemory } from './suites/memory.ts'
import { benchOperations } from './suites/operations.ts'
import { benchParts } from './suites/parts.ts'
import { benchPeers } from './suites/peers.ts'
import { benchPostgres } from './suites/postgres.ts'
import { benchProcesses } from './suites/processes.ts'
import { benchStore } from './suites/store.ts'
import { benchStoring } from './suites/storing.ts'

const SUITES: Readonly<Record<string, (run: Run) => Promise<void>>> = {
  memory: benchMemory,
  parts: benchParts,
  store: benchStore,
  postgres: benchPostgres,
  processes: benchProcesses,
  storing: benchStoring,
  operations: benchOperations,
  peers: benchPeers,
}

const { values: flags } = parseArgs({
  options: {
    quick: { type: 'boolean', default: false },
    postgres: { type: 'string' },
    onet: { type: 'string' },
    wages: { type: 'string' },
    /** Names of suites, by commas; the figures of the others stay as they were. */
    only: { type: 'string' },
    rounds: { type: 'string' },
    seconds: { type: 'string' },
  },
})
// Some peers take longer to start than everything else of a quick run.
const names = flags.only?.split(',') ?? Object.keys(SUITES).filter((name) => !flags.quick || name !== 'peers')
const unknown = names.find((name) => !Object.hasOwn(SUITES, name))
if (unknown !== undefined) {
  process.stderr.write(`no such suite: ${unknown}; there are ${Object.keys(SUITES).join(', ')}\n`)
  process.exit(2)
}

assertPrograms('wrk')
// A quick run only shows that the programs work.
if (!flags.quick) assertIdle('bench/results.json')

buildMahi()
const folder = fileURLToPath(new URL('.data/', import.meta.url))
mkdirSync(folder, { recursive: true })
const run: Run = {
  quick: flags.quick,
  rounds: Number(flags.rounds ?? (flags.quick ? 1 : 5)),
  seconds: Number(flags.seconds ?? 1),
  connections: 32,
  folder,
  postgres: flags.postgres,
  onet:
    flags.onet === undefined || flags.wages === undefined
      ? undefined
      : { folder: flags.onet, wages: flags.wages },
  rows: [],
  figures: [],
}

export interface Results {
  /** When each suite was run, how, and on which machine. */
  readonly suites: Readonly<
    Record<
      string,
      { date: string; rounds: number; seconds: number; minutes: number; machine: string; node: string }
    >
  >
  readonly generator: string
  readonly rows: readonly Row[]
  readonly figures: readonly Figure[]
}

const output = fileURLToPath(new URL(run.quick ? '.data/quick.json' : 'results.json', import.meta.url))
for (const name of names) {
  const began = performance.now()
  const [rows, figures] = [run.rows.length, run.figures.length]
  await SUITES[name]?.(run)
  const minutes = Math.round((performance.now() - began) / 6_000) / 10
  await keep(name, run.rows.slice(rows), run.figures.slice(figures), minutes)
}

/** Puts the figures of a suite in the place of its earlier ones; those of the others stay. */
async function keep(name: string, rows: readonly Row[], figures: readonly Figure[], minutes: number) {
  const before = existsSync(output) ? (JSON.parse(readFileSync(output, 'utf8')) as Results) : undefined
  const order = Object.keys(SUITES)
  const replace = <T extends { readonly suite: string }>(earlier: readonly T[] = [], now: readonly T[]) =>
    [...earlier.filter(({ suite }) => suite !== name), ...now].sort(
      (a, b) => order.indexOf(a.suite) - order.indexOf(b.suite),
    )
  const date = new Date().toISOString().slice(0, 10)
  const results: Results = {
    suites: {
      ...before?.suites,
      [name]: {
        date,
        rounds: run.rounds,
        seconds: run.seconds,
        minutes,
        machine: `${cpus().length} x ${cpus()[0]?.model}`,
        node: process.version,
      },
    },
    generator: 'wrk, one thread',
    rows: replace(before?.rows, rows),
    figures: replace(before?.figures, figures),
  }
  writeFileSync(output, `${JSON.stringify(results, null, 2)}\n`)
}
