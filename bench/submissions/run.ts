// Measures submissions against the goals of docs/performance.md, and prints one table:
//   node bench/submissions/run.ts [--postgres postgres://...] [--only uploads,pages]
// Every size is an option; small ones only show that the program works.
import { execFileSync } from 'node:child_process'
import { createReadStream, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { request } from 'node:http'
import { loadavg, tmpdir } from 'node:os'
import { join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import type { SourceRecord } from '../../src/engines/records/source-record.ts'
import type { Database } from '../../src/foundation/database/database.ts'
import { openDatabase } from '../../src/foundation/database/open.ts'
import { publishResults } from '../../src/submissions/findings/publish.ts'
import { findAny } from '../../src/submissions/submission/submission.ts'
import { generateFindings } from '../data.ts'
import { buildMahi, PAGE, prepareDatabase, prepareSchema, script, startProgram } from '../mahi.ts'
import { assertPrograms, type Contender, measure, median, peakMemory, readStatus } from '../measure.ts'
import { Place, waitFor } from './place.ts'

const { values: flags } = parseArgs({
  options: {
    organisations: { type: 'string', default: '64' },
    enrolments: { type: 'string', default: '50000' },
    workers: { type: 'string', default: '2' },
    queue: { type: 'string', default: '8' },
    megabytes: { type: 'string', default: '200' },
    findings: { type: 'string', default: '1000000' },
    rounds: { type: 'string', default: '3' },
    postgres: { type: 'string' },
    only: { type: 'string', default: 'organisations,workers,uploads,pages,findings' },
  },
})
const rounds = Array.from({ length: Number(flags.rounds) }, (_, round) => round)
const RECORDS = 1000

const MEASUREMENTS: Readonly<Record<string, () => Promise<void>>> = {
  organisations: measureOrganisations,
  workers: measureWorkers,
  uploads: measureUploads,
  pages: measurePages,
  findings: measureFindings,
}
const rows: (readonly [name: string, value: string, goal: string])[] = []

assertPrograms('wrk')
buildMahi()
const folder = mkdtempSync(join(tmpdir(), 'mahi-bench-submissions-'))
try {
  for (const name of flags.only.split(',')) {
    if (!Object.hasOwn(MEASUREMENTS, name)) throw new Error(`no such measurement: ${name}`)
    await MEASUREMENTS[name]?.()
  }
} finally {
  rmSync(folder, { recursive: true, force: true })
}
process.stdout.write('\n| measured | result | goal |\n|---|--:|--:|\n')
for (const row of rows) process.stdout.write(`| ${row.join(' | ')} |\n`)
const load = loadavg().map((each) => each.toFixed(1))
process.stdout.write(`\n${flags.postgres ? 'PostgreSQL' : 'SQLite'}, load average ${load.join(', ')}\n`)

/** Runs work on a new database with a server. */
async function withPlace(organisations: number, work: (place: Place) => Promise<void>): Promise<void> {
  const name = `bench_${Date.now()}`
  const url = flags.postgres
    ? await prepareSchema(flags.postgres, name)
    : `sqlite:${join(folder, `${name}.db`)}`
  await prepareDatabase(url, { records: RECORDS })
  const place = await Place.start(url, organisations)
  try {
    await work(place)
  } finally {
    await place.stop()
  }
}

/** Files of a return, with this share of faulty records. */
function generate(faulty = '0.01'): string {
  const files = join(folder, `files-${faulty}`)
  const generator = script('../test/support/sdr/generate.ts')
  const size = ['--enrolments', flags.enrolments, '--faulty', faulty]
  execFileSync(process.execPath, [generator, '--to', files, ...size], { stdio: 'ignore' })
  return files
}

/** Organisations that upload and validate at once, and callers who read other data meanwhile. */
async function measureOrganisations(): Promise<void> {
  const files = generate()
  await withPlace(Number(flags.organisations), async (place) => {
    const read = async () => {
      const load = { path: PAGE, headers: { 'x-api-key': place.key }, seconds: 2, connections: 8 }
      const { requestsPerSecond, errors } = await measure(place.server, load)
      if (errors > 0) throw new Error(`${errors} reads failed`)
      return requestsPerSecond
    }
    await read()
    const idle = median([await read(), await read(), await read()])
    await place.startWorkers(Number(flags.workers))
    let [uploading, running, memory] = [place.clients.length, true, 0]
    const sampling = setInterval(() => {
      memory = Math.max(memory, place.workersMemory())
    }, 250)
    const waiting = Promise.all(
      place.clients.map(async (client) => {
        const token = await place.upload(client, files)
        uploading--
        return await waitFor(await place.request(client, token))
      }),
    ).finally(() => {
      running = false
    })
    // Once every upload is done, only the workers have something to do.
    while (running && uploading > 0) await sleep(20)
    const busy: number[] = []
    while (running) busy.push(await read())
    const waits = await waiting
    clearInterval(sampling)
    // The last read may have outlasted the runs.
    if (busy.length > 1) busy.pop()
    const [longest, mean] = [Math.max(...waits), waits.reduce((sum, each) => sum + each, 0) / waits.length]
    const what = `${flags.organisations} organisations, ${Number(flags.enrolments).toLocaleString('en')} enrolments each`
    rows.push([`${what}: mean wait`, `${mean.toFixed(1)} s`, ''])
    rows.push([`${what}: longest wait to mean`, (longest / mean).toFixed(2), 'bounded'])
    const part = busy.length === 0 ? 'too short' : (median(busy) / idle).toFixed(2)
    const bound = `${flags.workers} workers: memory with their checks, at most`
    rows.push([bound, `${memory.toFixed(0)} MB`, `does not grow with ${flags.organisations}`])
    rows.push([`reads while ${flags.workers} workers run, to idle (${Math.round(idle)}/s)`, part, '0.85'])
  })
}

/** The same queue, worked off by one worker and by two. */
async function measureWorkers(): Promise<void> {
  const files = generate()
  await withPlace(Number(flags.queue), async (place) => {
    // Workers read what is uploaded.
    await place.startWorkers(2)
    const tokens = await Promise.all(place.clients.map((client) => place.upload(client, files)))
    await place.stopWorkers()
    const ratios: number[] = []
    for (const _ of rounds) {
      const seconds: number[] = []
      for (const workers of [1, 2]) {
        const requested = await Promise.all(
          place.clients.map((client, index) => place.request(client, tokens[index] ?? '')),
        )
        const begun = performance.now()
        await place.startWorkers(workers)
        await Promise.all(requested.map(waitFor))
        seconds.push(performance.now() - begun)
        await place.stopWorkers()
      }
      ratios.push((seconds[0] ?? Number.NaN) / (seconds[1] ?? Number.NaN))
    }
    rows.push([`two workers to one, queue of ${flags.queue}`, median(ratios).toFixed(2), '1.8'])
  })
}

/** An upload beside a bare handler that gzips the same bytes to a file. */
async function measureUploads(): Promise<void> {
  const bytes = Number(flags.megabytes) * 1e6
  const file = join(folder, 'upload.csv')
  const row =
    'E0000001,9900000001,CRS1234,Q1330,24022025,04072025,,G1,685.00,FT,0.0417,0.0417,0.0417,0.0417\n'
  const header = 'localId,studentId,courseCode\n'
  writeFileSync(file, header + row.repeat(Math.ceil((bytes - header.length) / row.length)))
  await withPlace(1, async (place) => {
    await place.startWorkers(1)
    const bare = await startProgram('bare', 'bare-upload.ts', join(folder, 'upload.gz'))
    const [client] = place.clients
    const { submissionToken } = (await client?.submissions.create({ returnId: '202512' })) ?? {}
    const path = `/v1/submissions/${submissionToken}/files/enrolments`
    const headers = { 'x-api-key': place.key, eid: '7000' }
    const before = readStatus(place.server.pid, 'VmRSS') / 1024
    const [rates, ratios]: [number[], number[]] = [[], []]
    for (const _ of rounds) {
      const floor = await put(bare, '/', file)
      const own = await put(place.server, path, file, headers)
      rates.push(statSync(file).size / 1e6 / own)
      ratios.push(floor / own)
    }
    const memory = peakMemory(place.server.pid) - before
    await bare.stop()
    const what = `upload of ${flags.megabytes} MB (${median(rates).toFixed(0)} MB/s)`
    rows.push([`${what}, to a bare handler that gzips to a file`, median(ratios).toFixed(2), '0.3'])
    rows.push([`${what}: additional memory`, `${memory.toFixed(0)} MB`, '40 MB'])
  })
}

/** Sends a file, and returns the seconds until the response. */
async function put(
  { url }: Contender,
  path: string,
  file: string,
  headers: Record<string, string> = {},
): Promise<number> {
  const begun = performance.now()
  const sent = request(url + path, {
    method: 'PUT',
    headers: { ...headers, 'content-type': 'text/csv', 'content-length': statSync(file).size },
  })
  const status = new Promise<number | undefined>((resolve, reject) => {
    sent.once('error', reject)
    sent.once('response', (response) => {
      response.resume()
      response.once('end', () => resolve(response.statusCode))
    })
  })
  await Promise.all([pipeline(createReadStream(file), sent), status])
  if ((await status) !== 200) throw new Error(`the upload ended with ${await status}`)
  return (performance.now() - begun) / 1000
}

/** Pages with a filter that matches half of the findings: the last one beside the first. */
async function measurePages(): Promise<void> {
  const count = Number(flags.findings)
  const pageSize = 20
  await withPlace(1, async (place) => {
    const database = await openDatabase(place.url)
    const publication = { eid: '7000', returnId: '202512', token: 'bench-pages' }
    await publishResults(database, halfErrors(count), publication)
    await database.close()
    const headers = { 'x-api-key': place.key, eid: '7000' }
    const read = async (page: number) => {
      const path = `/v1/submissions/bench-pages/validation-results?Filter.ErrorType=Error&pageSize=${pageSize}&page=${page}`
      const { requestsPerSecond, errors } = await measure(place.server, {
        path,
        headers,
        seconds: 1,
        connections: 8,
      })
      if (errors > 0) throw new Error(`${errors} reads failed`)
      return requestsPerSecond
    }
    const last = Math.floor(count / 2 / pageSize)
    await read(1)
    await read(last)
    const ratios: number[] = []
    for (const _ of rounds) {
      const first = await read(1)
      ratios.push((await read(last)) / first)
    }
    const what = `last filtered page of ${count.toLocaleString('en')} findings to the first`
    rows.push([what, median(ratios).toFixed(2), '0.5'])
  })
}

/** What the run of a return with many faulty records stores, and the processor time of its pages. */
async function measureFindings(): Promise<void> {
  const files = generate('0.9')
  await withPlace(1, async (place) => {
    const [client] = place.clients
    if (client === undefined) throw new Error('there is no client')
    await place.startWorkers(1)
    const token = await place.upload(client, files)
    const database = await openDatabase(place.url)
    const before = await readSize(database)
    const requested = await place.request(client, token)
    await waitFor(requested)
    await place.stopWorkers()
    const bytes = (await readSize(database)) - before
    const totalCount = (await findAny(database, token))?.totalCount ?? 0
    await database.close()

    const enrolments = Number(flags.enrolments).toLocaleString('en')
    const what = `run of ${enrolments} enrolments, 90 % of the records faulty, ${totalCount.toLocaleString('en')} findings`
    rows.push([what, `${(bytes / 1e6).toFixed(1)} MB`, '40 MB'])

    // More than a process keeps unpacked, so that none of them is.
    const pageSize = 20
    const last = Math.floor(totalCount / pageSize)
    const step = Math.max(1, Math.floor(last / 3000))
    const numbers = Array.from({ length: Math.floor(last / step) }, (_, index) => 1 + index * step)
    const read = async (of: string, pages: readonly number[]) => {
      const paths = pages.map(
        (page) => `/v1/submissions/${of}/validation-results?pageSize=${pageSize}&page=${page}`,
      )
      const { cpuPerRequest, errors } = await measure(place.server, {
        path: paths[0] ?? '',
        headers: { 'x-api-key': place.key, eid: '7000' },
        script: script('contenders/in-turn.lua'),
        arguments: paths,
        seconds: 2,
        connections: 8,
      })
      if (errors > 0) throw new Error(`${errors} reads failed`)
      return cpuPerRequest
    }
    const cases = {
      cold: () => read(token, numbers),
      warm: () => read(token, numbers.slice(0, 1)),
    }
    const used: Record<keyof typeof cases, number[]> = { cold: [], warm: [] }
    for (const name of ['cold', 'warm'] as const) await cases[name]()
    for (const _ of rounds) for (const name of ['cold', 'warm'] as const) used[name].push(await cases[name]())
    const ratio = median(used.cold.map((each, round) => each / (used.warm[round] ?? Number.NaN))).toFixed(2)
    const cold = `page of ${pageSize}, unpacked for each request (${median(used.cold).toFixed(0)} µs): processor time`
    rows.push([`${cold}, to one that is kept unpacked`, ratio, ''])
  })
}

/** Bytes of everything that a database holds. */
async function readSize(database: Database): Promise<number> {
  const row = await database.get<{ bytes: number }>(
    database.dialect.name === 'sqlite'
      ? `select (page_count - freelist_count) * page_size as bytes
         from pragma_page_count, pragma_freelist_count, pragma_page_size`
      : `select cast(sum(pg_total_relation_size(oid)) as bigint) as bytes from pg_class
         where relnamespace = current_schema()::regnamespace and relkind in ('r', 'm')`,
  )
  return Number(row?.bytes)
}

async function* halfErrors(count: number): AsyncGenerator<SourceRecord> {
  let index = 0
  for await (const { value, ...rest } of generateFindings(count))
    yield { ...rest, value: { ...(value as object), errorType: index++ % 2 === 0 ? 'Error' : 'Warning' } }
}
