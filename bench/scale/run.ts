// The measurements of docs/scale.md: `npm run scale` prints them, `npm run scale -- --write` also writes them there.
import { execFileSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { cpus, loadavg } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { openDatabase } from '../../src/foundation/database/open.ts'
import { Cluster, hasCluster } from '../../test/support/cluster.ts'
import { partitionResults } from '../../test/support/partition.ts'
import { buildMahi, prepareDatabase, script } from '../mahi.ts'
import { assertIdle, assertPrograms } from '../measure.ts'
import { type ClosingHour, measureClosingHour } from './closing-hour.ts'
import { inFolder, measureReads, type ReadFigures } from './machine.ts'
import { findParent } from './processor-time.ts'

const { values: flags } = parseArgs({
  options: {
    quick: { type: 'boolean', default: false },
    write: { type: 'boolean', default: false },
  },
})
assertPrograms('wrk')
if (flags.write) assertIdle('docs/scale.md')
const SECONDS = 1
const ROUNDS = flags.quick ? 1 : 5
/** Enrolments of a return, and organisations that send one at once. */
const RETURNS = flags.quick
  ? [[1_500, 4]]
  : ([
      [1_500, 32],
      [50_000, 8],
    ] as const)

const number = (value: number, digits = 0) => value.toLocaleString('en', { maximumFractionDigits: digits })
const seconds = (value: number) => `${number(value, 2)} s`
const milliseconds = (value: number) => `${number(value * 1000, 2)} ms`

/** Tables of docs/scale.md, by the name between its marks. */
const tables = new Map<string, string>()
function report(name: string, heads: readonly string[], rows: readonly (readonly string[])[]): void {
  const lines = [heads, heads.map(() => '---'), ...rows].map((cells) => `| ${cells.join(' | ')} |`)
  tables.set(name, lines.join('\n'))
  process.stdout.write(`\n${name}\n${lines.join('\n')}\n`)
}

interface Engine {
  readonly name: string
  readonly reads: ReadFigures
  /** By number of enrolments. */
  readonly hours: ReadonlyMap<number, ClosingHour>
}

/** Returns with one fault in a hundred records. */
function generateReturn(folder: string, enrolments: number): void {
  const files = join(folder, String(enrolments))
  const generator = script('../test/support/sdr/generate.ts')
  const flags = ['--to', files, '--enrolments', String(enrolments), '--faulty', '0.01']
  execFileSync(process.execPath, [generator, ...flags], { stdio: 'ignore' })
}

async function measureEngine(
  name: string,
  folder: string,
  open: (database: string) => Promise<string>,
  postmaster?: number,
): Promise<Engine> {
  const hours = new Map<number, ClosingHour>()
  for (const [enrolments, organisations] of RETURNS) {
    const url = await open(`returns_${enrolments}`)
    await prepareDatabase(url, { records: 1_000 })
    const files = join(folder, String(enrolments))
    hours.set(enrolments, await measureClosingHour(url, files, organisations, ROUNDS, postmaster))
  }
  return { name, reads: await measureReads(await open('reads'), SECONDS, ROUNDS), hours }
}

async function measureEngines(folder: string): Promise<Engine[]> {
  for (const [enrolments] of RETURNS) generateReturn(folder, enrolments)
  const engines = [await measureEngine('SQLite', folder, async (name) => `sqlite:${folder}/${name}.db`)]
  if (!hasCluster) return engines
  const cluster = await Cluster.start()
  try {
    const [row] = await cluster.query<{ pid: number }>(
      `select pid from pg_stat_activity where backend_type = 'checkpointer'`,
    )
    const postmaster = findParent(row?.pid ?? 0)
    engines.push(
      await measureEngine('PostgreSQL', folder, (name) => cluster.createDatabase(name), postmaster),
    )
    const openPartitioned = async (name: string) => {
      const url = await cluster.createDatabase(`parts_${name}`)
      await (await openDatabase(url)).close()
      await partitionResults(url)
      return url
    }
    engines.push(await measureEngine('PostgreSQL, 16 partitions', folder, openPartitioned, postmaster))
  } finally {
    await cluster.remove()
  }
  return engines
}

function reportReads(engines: readonly Engine[]): void {
  report(
    'processes',
    ['', 'page of 20 records', 'page of 1,000 entries', 'poll, 304', 'two processes against one'],
    engines.map(({ name, reads }) => [
      name,
      milliseconds(reads.cataloguePage),
      milliseconds(reads.page),
      milliseconds(reads.poll),
      number(reads.twoProcesses, 2),
    ]),
  )
}

function reportClosingHour(engines: readonly Engine[]): void {
  const rows = engines.flatMap(({ name, hours }) =>
    [...hours].map(([enrolments, { cost, rates }]) => {
      const all = cost.server + cost.worker + (cost.database ?? 0)
      return [
        name,
        number(enrolments),
        seconds(cost.server),
        seconds(cost.worker),
        cost.database === undefined ? '–' : seconds(cost.database),
        ...rates.map((rate) => number(Math.floor(rate * 3600))),
        number(Math.floor((16 * 3600) / all)),
        cost.database === undefined ? '–' : number(Math.floor((16 * 3600) / cost.database)),
      ]
    }),
  )
  report(
    'closing-hour',
    [
      '',
      'enrolments',
      'server',
      'worker',
      'database',
      'returns in an hour, one worker',
      'two workers',
      '*16 cores*',
      '*a database with 16 cores*',
    ],
    rows,
  )
}

/** Where and when the tables of a section were made. */
function reportMachine(name: string): void {
  const command = [
    'npm run scale',
    ...(process.argv.length > 2 ? ['--'] : []),
    ...process.argv.slice(2),
  ].join(' ')
  const text = `Made by \`${command}\` on ${new Date().toISOString().slice(0, 10)}: ${cpus().length} x ${cpus()[0]?.model}, Node.js ${process.version}, in ${number((performance.now() - begun) / 1000)} s. Load average before: ${number(loadBefore, 1)}.`
  tables.set(name, text)
  process.stdout.write(`\n${text}\n`)
  begun = performance.now()
}

let begun = performance.now()
buildMahi()
const [loadBefore = 0] = loadavg()
const engines = await inFolder(measureEngines)
reportReads(engines)
reportClosingHour(engines)
reportMachine('machine')

if (flags.write) {
  const page = new URL('../../docs/scale.md', import.meta.url)
  let text = readFileSync(page, 'utf8')
  for (const [name, table] of tables) {
    const [start, end] = [`<!-- ${name} -->`, `<!-- end of ${name} -->`]
    if (!text.includes(start) || !text.includes(end))
      throw new Error(`docs/scale.md has no place for ${name}`)
    text = `${text.slice(0, text.indexOf(start) + start.length)}\n${table}\n${text.slice(text.indexOf(end))}`
  }
  writeFileSync(page, text)
}
