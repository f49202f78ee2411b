import { execFile } from 'node:child_process'
import { existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { cpus } from 'node:os'
import { fileURLToPath } from 'node:url'
import { parseArgs, promisify } from 'node:util'
import { brotliCompressSync, gzipSync } from 'node:zlib'
import { createKey } from '../src/access/keys.ts'
import { openDatabase } from '../src/database/open.ts'
import { importOccupations } from '../src/occupations/import.ts'
import { publishResults } from '../src/validation-results/publish.ts'
import { FIRST_DATE, generateFindings, generateOccupations, LAST_DATE } from './data.ts'
import {
  type Contender,
  type Load,
  type Measurement,
  measure,
  median,
  nameGenerator,
  peakMemory,
  startContender,
} from './measure.ts'

const { values: flags } = parseArgs({
  options: {
    quick: { type: 'boolean', default: false },
    /** A PostgreSQL in which a schema may be made. */
    postgres: { type: 'string' },
    only: { type: 'string' },
    rounds: { type: 'string' },
    seconds: { type: 'string' },
  },
})
const QUICK = flags.quick
const ROUNDS = Number(flags.rounds ?? (QUICK ? 3 : 5))
const SECONDS = Number(flags.seconds ?? (QUICK ? 1 : 3))
const CONNECTIONS = 32
const SIZES = QUICK ? [1_000, 20_000] : [1_000, 10_000, 100_000, 1_000_000]
const FINDINGS = QUICK ? 100_000 : 5_000_000
const LARGEST = SIZES.at(-1) ?? 0

const FOLDER = fileURLToPath(new URL('.data/', import.meta.url))
mkdirSync(FOLDER, { recursive: true })
const script = (name: string) => fileURLToPath(new URL(name, import.meta.url))
const run = promisify(execFile)

const EID = '1001'
const TOKEN = 'bench-submission'
/** No request of a benchmark is turned away, and each is counted all the same. */
const ENVIRONMENT = {
  PORT: '0',
  METRICS_PORT: '0',
  RATE_LIMIT_OCCUPATIONS: '100000000/60',
  RATE_LIMIT_RESULTS: '100000000/60',
}

interface Row {
  readonly case: string
  readonly contender: string
  readonly requestsPerSecond: number
  readonly spread: readonly [number, number]
  readonly p99: number
  readonly cpuPerRequest: number
  /** Of the floor, in the same round: by requests a second, and by processor time a request. */
  readonly ratio: number
  readonly cpuRatio: number
  readonly peakMemory: number
  readonly errors: number
}
const rows: Row[] = []
const figures: Record<string, unknown>[] = []

/** Runs contenders in turn, round after round; the first is the floor of the others. */
async function compare(
  name: string,
  entries: readonly { contender: Contender; label?: string; load: Omit<Load, 'seconds' | 'connections'> }[],
): Promise<void> {
  if (flags.only !== undefined && !name.includes(flags.only)) return
  const results = entries.map((): Measurement[] => [])
  for (let round = 0; round <= ROUNDS; round++) {
    for (const [index, { contender, load }] of entries.entries()) {
      const result = await measure(contender, { ...load, seconds: SECONDS, connections: CONNECTIONS })
      // The first round warms up: compilers, caches and connections.
      if (round > 0) results[index]?.push(result)
    }
  }
  const floor = results[0] ?? []
  for (const [index, { contender, label }] of entries.entries()) {
    const own = results[index] ?? []
    const rates = own.map(({ requestsPerSecond }) => requestsPerSecond)
    const row: Row = {
      case: name,
      contender: label ?? contender.name,
      requestsPerSecond: median(rates),
      spread: [Math.min(...rates), Math.max(...rates)],
      p99: median(own.map(({ p99 }) => p99)),
      cpuPerRequest: median(own.map(({ cpuPerRequest }) => cpuPerRequest)),
      ratio: median(
        own.map((each, round) => each.requestsPerSecond / (floor[round]?.requestsPerSecond ?? Number.NaN)),
      ),
      cpuRatio: median(
        own.map((each, round) => (floor[round]?.cpuPerRequest ?? Number.NaN) / each.cpuPerRequest),
      ),
      peakMemory: Math.max(...own.map((each) => each.peakMemory)),
      errors: own.reduce((sum, { errors }) => sum + errors, 0),
    }
    rows.push(row)
    print(row)
  }
}

function print(row: Row): void {
  process.stdout.write(
    `${row.case.padEnd(44)} ${row.contender.padEnd(26)} ${Math.round(row.requestsPerSecond).toLocaleString('en').padStart(8)}/s` +
      `  p99 ${row.p99.toFixed(1).padStart(6)} ms  ${row.cpuPerRequest.toFixed(0).padStart(6)} µs  ${row.ratio.toFixed(2)} of the floor (${row.cpuRatio.toFixed(2)} by processor time)` +
      `${row.errors === 0 ? '' : `  ${row.errors} ERRORS`}\n`,
  )
}

/** A database with so many records and, the largest one, the findings; made once and kept. */
async function prepareDatabase(url: string, records: number, findings: number): Promise<{ key: string }> {
  const database = await openDatabase(url)
  try {
    const kept = await database.get<{ total: number }>('select max(total) as total from occupation_filter')
    if (kept?.total !== records) {
      process.stdout.write(`making ${records.toLocaleString('en')} records in ${url}\n`)
      await importOccupations(database, generateOccupations(records), { replace: true, keepDates: true })
    }
    const submission = await database.get<{ total: number }>(
      'select total from submission where token = $1',
      [TOKEN],
    )
    if (findings > 0 && submission?.total !== findings) {
      process.stdout.write(`making ${findings.toLocaleString('en')} findings in ${url}\n`)
      await publishResults(database, generateFindings(findings), {
        eid: EID,
        returnId: 'bench',
        token: TOKEN,
      })
    }
    return await createKey(database, { client: 'bench', eids: [EID], expires: Date.now() + 86_400_000 })
  } finally {
    await database.close()
  }
}

const mahi = (url: string, label: string, environment: Record<string, string> = {}) =>
  startContender(label, [process.execPath, script('../bin/mahi.js'), 'serve'], {
    ...ENVIRONMENT,
    LOG_LEVEL: 'info',
    DATABASE_URL: url,
    ...environment,
  })

const sqliteUrl = (records: number) => `sqlite:${FOLDER}occupations-${records}.db`
const PAGE = '/v1/occupations?Limit=20'
const middleOf = (records: number) => `O${String(Math.floor(records / 2)).padStart(7, '0')}`
const lastOf = (records: number) => `O${String(records - 20).padStart(7, '0')}`
const dateAt = (part: number) => new Date(FIRST_DATE + part * (LAST_DATE - FIRST_DATE)).toISOString()
const windowOf = (part: number) =>
  `Filter.LastUpdatedAfter=${dateAt(0.4)}&Filter.LastUpdatedBefore=${dateAt(0.4 + part)}`

async function fetchBody(
  contender: Contender,
  path: string,
  headers: Record<string, string>,
): Promise<Response> {
  const response = await fetch(contender.url + path, { headers })
  if (response.status !== 200) throw new Error(`${path} answers ${response.status}: ${await response.text()}`)
  return response
}

async function benchMemory(): Promise<void> {
  const url = sqliteUrl(1_000)
  const { key } = await prepareDatabase(url, 1_000, 0)
  const headers = { 'X-API-Key': key }
  const server = await mahi(url, 'Mahi')
  const response = await fetchBody(server, PAGE, { ...headers, 'accept-encoding': 'identity' })
  const etag = response.headers.get('etag') ?? ''
  const body = Buffer.from(await response.arrayBuffer())
  for (const [encoding, bytes] of [
    ['identity', body],
    ['gzip', gzipSync(body, { level: 6 })],
    ['br', brotliCompressSync(body, { params: { 1: 5 } })],
  ] as const) {
    const file = `${FOLDER}page.${encoding}`
    writeFileSync(file, bytes)
    const fastify = await startContender('Fastify, one buffer', [
      process.execPath,
      script('contenders/floor-fastify.ts'),
      file,
      encoding,
    ])
    const http = await startContender('node:http, one buffer', [
      process.execPath,
      script('contenders/floor-http.ts'),
      file,
      encoding,
    ])
    await compare(`page of 20 from memory, ${encoding}`, [
      { contender: fastify, load: { path: PAGE } },
      { contender: http, load: { path: PAGE } },
      { contender: server, load: { path: PAGE, headers: { ...headers, 'Accept-Encoding': encoding } } },
    ])
    await Promise.all([fastify.stop(), http.stop()])
  }
  const empty = await startContender('Fastify, empty 304', [
    process.execPath,
    script('contenders/floor-fastify.ts'),
    '',
    'identity',
    '304',
  ])
  await compare('304', [
    { contender: empty, load: { path: PAGE } },
    { contender: server, load: { path: PAGE, headers: { ...headers, 'If-None-Match': etag } } },
  ])
  await Promise.all([empty.stop(), server.stop()])
}

async function benchStore(): Promise<void> {
  for (const records of SIZES) {
    const url = sqliteUrl(records)
    const { key } = await prepareDatabase(url, records, records === LARGEST ? FINDINGS : 0)
    const headers = { 'X-API-Key': key, EID }
    const started = performance.now()
    const server = await mahi(url, 'Mahi, no page cache', { PAGE_CACHE_MB: '0' })
    await fetchBody(server, PAGE, headers)
    figures.push({
      figure: 'start to first answer',
      records,
      seconds: (performance.now() - started) / 1000,
      memoryAtRest: peakMemory(server.pid),
    })
    const body = Buffer.from(await (await fetchBody(server, PAGE, headers)).arrayBuffer())
    const file = `${FOLDER}page.identity`
    writeFileSync(file, body)
    const fastify = await startContender('Fastify, one buffer', [
      process.execPath,
      script('contenders/floor-fastify.ts'),
      file,
    ])
    const bare = await startContender('bare handler', [
      process.execPath,
      script('contenders/bare-sqlite.ts'),
      url.slice('sqlite:'.length),
    ])
    const pages: [string, string][] = [
      ['first', PAGE],
      ['middle', `${PAGE}&Cursor=${middleOf(records)}`],
      ['last', `${PAGE}&Cursor=${lastOf(records)}`],
      ['one major group', `${PAGE}&Filter.MajorGroupCode=3&Cursor=${middleOf(records)}`],
      ['one minor group', `${PAGE}&Filter.MinorGroupCode=133&Cursor=${middleOf(records)}`],
      [
        'both groups',
        `${PAGE}&Filter.MajorGroupCode=3&Filter.MinorGroupCode=133&Cursor=${middleOf(records)}`,
      ],
      ['window of 0.01 %', `${PAGE}&${windowOf(0.0001)}`],
      ['window of 5 %', `${PAGE}&${windowOf(0.05)}&Cursor=${middleOf(records)}`],
      ['window of 50 %', `${PAGE}&${windowOf(0.5)}&Cursor=${middleOf(records)}`],
      [
        'group and window of 5 %',
        `${PAGE}&Filter.MajorGroupCode=3&${windowOf(0.05)}&Cursor=${middleOf(records)}`,
      ],
    ]
    await compare(`page of 20 from SQLite, ${records.toLocaleString('en')} records`, [
      { contender: fastify, load: { path: PAGE } },
      { contender: bare, load: { path: PAGE } },
      ...pages.map(([label, path]) => ({ contender: server, label, load: { path, headers } })),
    ])
    if (records === LARGEST) {
      const results = (page: number) =>
        `/v1/submissions/${TOKEN}/validation-results?page=${page}&pageSize=100`
      const lastPage = Math.floor(FINDINGS / 100)
      await compare(`results page of 100 of ${FINDINGS.toLocaleString('en')}, SQLite`, [
        { contender: bare, load: { path: results(1) } },
        { contender: server, label: 'Mahi, page 1', load: { path: results(1), headers } },
        { contender: server, label: `Mahi, page ${lastPage}`, load: { path: results(lastPage), headers } },
      ])
    }
    await Promise.all([server.stop(), fastify.stop(), bare.stop()])
  }
}

async function benchPostgres(address: string): Promise<void> {
  const records = QUICK ? 20_000 : 100_000
  const url = `${address}${address.includes('?') ? '&' : '?'}options=-c%20search_path%3Dmahi_bench_${records}`
  const { default: pg } = await import('pg')
  const client = new pg.Client({ connectionString: address })
  await client.connect()
  await client.query(`create schema if not exists mahi_bench_${records}`)
  await client.end()
  const { key } = await prepareDatabase(url, records, QUICK ? 20_000 : 1_000_000)
  const headers = { 'X-API-Key': key, EID }
  const server = await mahi(url, 'Mahi, no page cache', { PAGE_CACHE_MB: '0' })
  const bare = await startContender('bare handler', [
    process.execPath,
    script('contenders/bare-postgres.ts'),
    url,
  ])
  await compare(`page of 20 from PostgreSQL, ${records.toLocaleString('en')} records`, [
    { contender: bare, load: { path: PAGE } },
    { contender: server, label: 'first', load: { path: PAGE, headers } },
    { contender: server, label: 'last', load: { path: `${PAGE}&Cursor=${lastOf(records)}`, headers } },
    {
      contender: server,
      label: 'one major group',
      load: { path: `${PAGE}&Filter.MajorGroupCode=3`, headers },
    },
    { contender: server, label: 'window of 5 %', load: { path: `${PAGE}&${windowOf(0.05)}`, headers } },
  ])
  await Promise.all([server.stop(), bare.stop()])
}

async function benchProcesses(): Promise<void> {
  const url = sqliteUrl(1_000)
  const { key } = await prepareDatabase(url, 1_000, 0)
  const headers = { 'X-API-Key': key }
  const [one, two] = await Promise.all([mahi(url, 'one'), mahi(url, 'two')])
  const load = {
    path: '/v1/occupations?Limit=5',
    headers,
    seconds: SECONDS,
    connections: CONNECTIONS,
  }
  const alone: number[] = []
  const together: number[] = []
  for (let round = 0; round <= ROUNDS; round++) {
    const single = await measure(one, load)
    const pair = await Promise.all([measure(one, load), measure(two, load)])
    if (round === 0) continue
    alone.push(single.requestsPerSecond)
    together.push(pair.reduce((sum, each) => sum + each.requestsPerSecond, 0))
  }
  figures.push({
    figure: 'two processes against one',
    ratio: median(together.map((rate, round) => rate / (alone[round] ?? Number.NaN))),
  })
  await Promise.all([one.stop(), two.stop()])
}

async function benchStoring(): Promise<void> {
  const counts = { import: QUICK ? 10_000 : 100_000, publish: QUICK ? 100_000 : 1_000_000 }
  for (const kind of ['import', 'publish'] as const) {
    const seconds: Record<string, number[]> = {}
    let memory = 0
    for (let round = 0; round < Math.min(3, ROUNDS); round++) {
      for (const each of [`generate-${kind}`, `bare-${kind}`, kind]) {
        const file = `${FOLDER}storing.db`
        for (const ending of ['', '-wal', '-shm']) rmSync(file + ending, { force: true })
        const { stdout } = await run(process.execPath, [
          script('storing.ts'),
          each,
          String(counts[kind]),
          file,
        ])
        const result = JSON.parse(stdout) as { seconds: number; peakMemory: number }
        seconds[each] = [...(seconds[each] ?? []), result.seconds]
        if (each === kind) memory = Math.max(memory, result.peakMemory)
      }
    }
    const at = (each: string, round: number) => seconds[each]?.[round] ?? Number.NaN
    const own = (seconds[kind] ?? []).map((_, round) => at(kind, round) - at(`generate-${kind}`, round))
    const bare = (seconds[kind] ?? []).map(
      (_, round) => at(`bare-${kind}`, round) - at(`generate-${kind}`, round),
    )
    figures.push({
      figure: kind,
      rows: counts[kind],
      rowsPerSecond: Math.round(counts[kind] / median(own)),
      bareRowsPerSecond: Math.round(counts[kind] / median(bare)),
      ratio: median(own.map((time, round) => (bare[round] ?? Number.NaN) / time)),
      peakMemory: memory,
    })
  }
}

const began = performance.now()
await benchMemory()
await benchStore()
if (flags.postgres !== undefined) await benchPostgres(flags.postgres)
if (flags.only === undefined || 'processes'.includes(flags.only)) await benchProcesses()
if (flags.only === undefined || 'storing'.includes(flags.only)) await benchStoring()
for (const figure of figures) process.stdout.write(`${JSON.stringify(figure)}\n`)

const result = {
  date: new Date().toISOString(),
  machine: `${cpus().length} x ${cpus()[0]?.model}`,
  node: process.version,
  generator: await nameGenerator(),
  quick: QUICK,
  rounds: ROUNDS,
  seconds: SECONDS,
  minutes: (performance.now() - began) / 60_000,
  rows,
  figures,
}
const output = fileURLToPath(new URL(QUICK ? '.data/quick.json' : 'results.json', import.meta.url))
if (flags.only === undefined) writeFileSync(output, `${JSON.stringify(result, null, 2)}\n`)
if (!existsSync(FOLDER)) throw new Error('the folder of the data has gone')
