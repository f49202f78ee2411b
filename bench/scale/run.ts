// The figures of docs/scale.md: `npm run scale` prints them, `npm run scale -- --write` also writes them there.
import { readFileSync, writeFileSync } from 'node:fs'
import { cpus, loadavg } from 'node:os'
import { parseArgs } from 'node:util'
import { openDatabase } from '../../src/database/open.ts'
import { importOccupations } from '../../src/occupations/import.ts'
import { Cluster, hasCluster } from '../../test/support/cluster.ts'
import { partitionResults } from '../../test/support/partition.ts'
import { generateOccupations } from '../data.ts'
import { assertIdle } from '../idle.ts'
import { type CdnCounts, simulateCdn } from './cdn.ts'
import { findMostSubmissions, simulateClosingHour } from './closing-hour.ts'
import { countWrongPages } from './foreign.ts'
import {
  inFolder,
  measurePublishes,
  measureReads,
  measureReplica,
  type PublishFigures,
  type ReadFigures,
  startMahi,
  toServiceTimes,
} from './machine.ts'
import { listUrls, RealOrigin, simulatedOrigin } from './origin.ts'

const { values: flags } = parseArgs({
  options: { quick: { type: 'boolean', default: false }, write: { type: 'boolean', default: false } },
})
if (flags.write) assertIdle('docs/scale.md')
const SEED = 20260301
const SECONDS = 1
const ROUNDS = flags.quick ? 1 : 5
const PUBLISHES = flags.quick ? 4 : 20

const number = (value: number, digits = 0) => value.toLocaleString('en', { maximumFractionDigits: digits })
const percent = (part: number, digits = 1) => `${number(part * 100, digits)} %`
const milliseconds = (seconds: number, digits = 2) => `${number(seconds * 1000, digits)} ms`
const seconds = (value: number) => (value < 10 ? `${number(value, 1)} s` : `${number(value)} s`)

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
  readonly publishes: PublishFigures
}

async function measureEngines(): Promise<Engine[]> {
  const engines = [
    await inFolder(async (folder) => {
      const url = `sqlite:${folder}/scale.db`
      const reads = await measureReads(url, SECONDS, ROUNDS)
      return { name: 'SQLite', reads, publishes: await measurePublishes(url, PUBLISHES) }
    }),
  ]
  if (!hasCluster) return engines
  const cluster = await Cluster.start()
  try {
    const plain = await cluster.createDatabase('plain')
    const parts = await cluster.createDatabase('parts')
    await (await openDatabase(parts)).close()
    await partitionResults(parts)
    for (const [name, url] of [
      ['PostgreSQL', plain],
      ['PostgreSQL, 16 partitions', parts],
    ] as const) {
      const reads = await measureReads(url, SECONDS, ROUNDS)
      engines.push({ name, reads, publishes: await measurePublishes(url, PUBLISHES) })
    }
    await reportForeign(cluster)
    const standby = await cluster.startStandby()
    try {
      const {
        reads,
        primary,
        primaryIdle,
        standby: there,
        lag,
      } = await measureReplica(cluster, standby, flags.quick ? 200 : 2_000)
      report(
        'replica',
        ['while a process answers', 'transactions on the primary', 'on the standby'],
        [
          ['nothing, for the same time', number(primaryIdle), '–'],
          [`${number(reads)} pages from the database`, number(primary), number(there)],
        ],
      )
      process.stdout.write(`the standby had a publish ${number(lag, 1)} ms after it was acknowledged\n`)
      tables.set(
        'lag',
        `The standby had a publish of 1,000 entries ${number(lag, 1)} ms after it was acknowledged (median of ten).`,
      )
    } finally {
      await standby.remove()
    }
  } finally {
    await cluster.remove()
  }
  return engines
}

/** Entries on another server than submissions, and what becomes of the pages. */
async function reportForeign(near: Cluster): Promise<void> {
  const far = await Cluster.start()
  try {
    const publishes = flags.quick ? 50 : 300
    const pages = await countWrongPages(near, far, publishes)
    report(
      'foreign',
      [
        'publishes',
        'pages read whole',
        'read again, as the run had changed',
        'without the entries of their run',
      ],
      [[publishes, pages.whole, pages.anotherRun, pages.empty].map((each) => number(each))],
    )
  } finally {
    await far.remove()
  }
}

function reportEngines(engines: readonly Engine[]): void {
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
  report(
    'publishes',
    ['', 'start of the command', 'publish', 'and for each 1,000 entries', 'two publishers against one'],
    engines.map(({ name, publishes }) => [
      name,
      milliseconds(publishes.start, 0),
      milliseconds(publishes.publish, 1),
      milliseconds(publishes.publishEntry * 1000, 1),
      number(publishes.twoPublishers, 2),
    ]),
  )
}

function reportClosingHour(engines: readonly Engine[]): void {
  const rows = engines.slice(0, 2).flatMap(({ name, reads, publishes }) => {
    const options = {
      seed: SEED,
      times: toServiceTimes(reads, publishes),
      cores: 2,
      // SQLite has one writer. PostgreSQL has as many as there are cores.
      publishers: name === 'SQLite' ? 1 : 2,
      processes: 2,
    }
    const most = findMostSubmissions(options, 60)
    return [1_000, 5_000, most, Math.round(most * 1.5)].map((submissions, index) => {
      const hour = simulateClosingHour({ ...options, submissions })
      return [
        `${name}${['', '', ', the most', ', half as many again'][index]}`,
        number(submissions),
        `${percent(hour.starts.utilisation, 0)}, ${number(hour.starts.backlog)}`,
        `${percent(hour.publishes.utilisation, 0)}, ${number(hour.publishes.backlog)}`,
        `${percent(hour.reads.utilisation, 0)}, ${number(hour.reads.backlog)}`,
        number(hour.readsPerSecond.busiest),
        seconds(hour.untilRead.median),
        seconds(hour.untilRead.p99),
        hour.drained < 0 ? 'in time' : seconds(hour.drained),
      ]
    })
  })
  report(
    'closing-hour',
    [
      '',
      'submissions',
      'commands start',
      'publishing',
      'reading',
      'reads/s',
      'until read: half',
      '99 %',
      'all read after the close',
    ],
    rows,
  )
}

const describeCdn = (counts: CdnCounts) => {
  const outdatedAfter = (time: number) => {
    const { answers = 0, outdated = 0 } = counts.since[time / 10] ?? {}
    return answers === 0 ? '–' : percent(outdated / answers)
  }
  return [
    percent((counts.fresh + counts.stale) / counts.requests),
    percent(counts.notModified / Math.max(1, counts.origin), 0),
    number(counts.originPeak),
    outdatedAfter(60),
    outdatedAfter(300),
    seconds(counts.oldest),
  ]
}

/** A catalogue of thousands of records is read through a network of caches; one import comes in the middle. */
async function reportCdn(): Promise<void> {
  const rows: string[][] = []
  const [warmUp, importAt, end] = flags.quick ? [660, 700, 1400] : [900, 1100, 1900]
  for (const [pointsOfPresence, shield] of [
    [10, false],
    [100, false],
    [100, true],
  ] as const) {
    for (const requestsPerSecond of flags.quick ? [100] : [10, 100, 1000]) {
      const imports = [importAt]
      const counts = await simulateCdn({
        seed: SEED,
        pointsOfPresence,
        shield,
        requestsPerSecond,
        seconds: end,
        warmUp,
        urls: listUrls(1500),
        zipfExponent: 1,
        roundTrip: 0.1,
        imports,
        askOrigin: simulatedOrigin(imports),
      })
      rows.push([
        `${pointsOfPresence}${shield ? ' and one in the middle' : ''}`,
        number(requestsPerSecond),
        number(counts.origin / (end - warmUp), 1),
        ...describeCdn(counts),
      ])
    }
  }
  report(
    'cdn',
    [
      'points of presence',
      'requests/s',
      'of them at the origin',
      'answered at once',
      'origin: 304',
      'most in a second',
      'outdated 60 s after an import',
      'after 300 s',
      'oldest answer',
    ],
    rows,
  )
}

/** The same caches with a real Mahi behind them, which is imported into while they ask. */
async function reportRealOrigin(): Promise<void> {
  await inFolder(async (folder) => {
    const url = `sqlite:${folder}/origin.db`
    const database = await openDatabase(url)
    await importOccupations(database, generateOccupations(2_000))
    const mahi = await startMahi(url, { OCCUPATIONS_ACCESS: 'public' })
    try {
      const origin = await RealOrigin.of(mahi.url)
      const options = { pointsOfPresence: 5, requestsPerSecond: 10, seconds: flags.quick ? 1_500 : 3_000 }
      const counts = await simulateCdn({
        ...options,
        seed: SEED,
        shield: false,
        warmUp: 0,
        urls: listUrls(100),
        zipfExponent: 1,
        roundTrip: 0.1,
        imports: [600, 1_200, 1_220],
        askOrigin: origin.ask,
        onImport: async (index) => {
          await importOccupations(database, oneChange(index))
          await origin.untilChanged()
        },
        onAnswer: origin.check,
      })
      const { full, notModified, bytes } = origin.counts
      report(
        'real-origin',
        ['requests', 'at Mahi', 'answered 200', 'answered 304', 'bytes sent', 'oldest answer'],
        [
          [
            number(counts.requests),
            number(counts.origin),
            number(full),
            number(notModified),
            `${number(bytes / 2 ** 20, 1)} MB`,
            seconds(counts.oldest),
          ],
        ],
      )
    } finally {
      await mahi.stop()
      await database.close()
    }
  })
}

async function* oneChange(index: number) {
  yield { file: 'change', line: 1, value: { occupationCode: 'O0000000', titleEnglish: `Title ${index}` } }
}

const begun = performance.now()
const [loadBefore = 0] = loadavg()
const engines = await measureEngines()
reportEngines(engines)
reportClosingHour(engines)
await reportCdn()
await reportRealOrigin()
tables.set(
  'machine',
  `Made by \`npm run scale -- --write\` on ${new Date().toISOString().slice(0, 10)}: ${cpus().length} x ${cpus()[0]?.model}, Node.js ${process.version}, in ${number((performance.now() - begun) / 1000)} s. Load average before: ${number(loadBefore, 1)}`,
)
process.stdout.write(`\n${tables.get('machine')}\n`)

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
