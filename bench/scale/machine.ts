// What is measured of this machine, for docs/scale.md and as service times of the simulations.
import { execFile } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { createKey } from '../../src/access/keys.ts'
import { openDatabase } from '../../src/database/open.ts'
import { importOccupations } from '../../src/occupations/import.ts'
import { publishResults } from '../../src/validation-results/publish.ts'
import type { Cluster } from '../../test/support/cluster.ts'
import { generateFindings, generateOccupations } from '../data.ts'
import { type Contender, measure, median, startContender } from '../measure.ts'
import type { ServiceTimes } from './closing-hour.ts'

const run = promisify(execFile)
export const MAHI = fileURLToPath(new URL('../../bin/mahi.js', import.meta.url))
const PUBLISH = fileURLToPath(new URL('publish.ts', import.meta.url))

const RECORDS = 1_000
const ENTRIES = 20_000
const TOKEN = 'scale-submission'

/** No request of a measurement is turned away. */
export const UNLIMITED = {
  PORT: '0',
  METRICS_PORT: '0',
  RATE_LIMIT_OCCUPATIONS: 'off',
  RATE_LIMIT_RESULTS: 'off',
  OVERLOAD_DELAY_MS: '0',
}

export function startMahi(databaseUrl: string, environment: Record<string, string> = {}): Promise<Contender> {
  return startContender('Mahi', [process.execPath, MAHI, 'serve'], {
    ...UNLIMITED,
    DATABASE_URL: databaseUrl,
    ...environment,
  })
}

/** Does some work in a folder that is gone afterwards. */
export async function inFolder<T>(work: (folder: string) => Promise<T>): Promise<T> {
  const folder = mkdtempSync(join(tmpdir(), 'mahi-scale-'))
  try {
    return await work(folder)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

/** A catalogue of 1,000 records and a submission of 20,000 entries, and the headers that read them. */
export async function fill(databaseUrl: string): Promise<Record<string, string>> {
  const database = await openDatabase(databaseUrl)
  try {
    await importOccupations(database, generateOccupations(RECORDS), { keepDates: true })
    await publishResults(database, generateFindings(ENTRIES), {
      eid: '1001',
      returnId: 'scale',
      token: TOKEN,
    })
    const { key } = await createKey(database, {
      client: 'scale',
      eids: ['1001'],
      expires: Date.now() + 86_400_000,
    })
    return { 'X-API-Key': key, EID: '1001' }
  } finally {
    await database.close()
  }
}

const CATALOGUE_PAGE = '/v1/occupations?Limit=20&Cursor=O0000500'
const RESULTS_PAGE = `/v1/submissions/${TOKEN}/validation-results?pageSize=1000&page=7`
const RESULTS_POLL = `/v1/submissions/${TOKEN}/validation-results?pageSize=1000`

async function etagOf(url: string, headers: Record<string, string>): Promise<string> {
  const response = await fetch(url, { headers })
  await response.text()
  return response.headers.get('etag') ?? ''
}

export interface ReadFigures {
  /** Seconds of the process's own processor time for each request. */
  readonly poll: number
  readonly page: number
  readonly cataloguePage: number
  /** Requests that two processes answer for one of a single process, at the same time of day. */
  readonly twoProcesses: number
}

/** What one process reads, and how much two do: each page comes from the database. */
export async function measureReads(
  databaseUrl: string,
  seconds: number,
  rounds: number,
): Promise<ReadFigures> {
  const headers = await fill(databaseUrl)
  const environment = { PAGE_CACHE_MB: '0' }
  const [one, other] = await Promise.all([
    startMahi(databaseUrl, environment),
    startMahi(databaseUrl, environment),
  ])
  try {
    const etag = await etagOf(one.url + RESULTS_POLL, headers)
    const timeOf = async (path: string, more: Record<string, string> = {}) => {
      const load = { path, headers: { ...headers, ...more }, connections: 32, seconds }
      const times: number[] = []
      for (let round = 0; round < rounds; round++) times.push((await measure(one, load)).cpuPerRequest / 1e6)
      return median(times)
    }
    const load = { path: CATALOGUE_PAGE, headers, connections: 32, seconds }
    const ratios: number[] = []
    for (let round = 0; round <= rounds; round++) {
      const alone = await measure(one, load)
      const pair = await Promise.all([measure(one, load), measure(other, load)])
      const together = pair.reduce((sum, each) => sum + each.requestsPerSecond, 0)
      // The first round warms up.
      if (round > 0) ratios.push(together / alone.requestsPerSecond)
    }
    return {
      poll: await timeOf(RESULTS_POLL, { 'If-None-Match': etag }),
      page: await timeOf(RESULTS_PAGE),
      cataloguePage: await timeOf(CATALOGUE_PAGE),
      twoProcesses: median(ratios),
    }
  } finally {
    await Promise.all([one.stop(), other.stop()])
  }
}

/** Seconds of each publish of a process that makes so many of them. */
async function publishSome(
  databaseUrl: string,
  token: string,
  entries: number,
  count: number,
): Promise<number[]> {
  const { stdout } = await run(process.execPath, [
    PUBLISH,
    databaseUrl,
    token,
    String(entries),
    String(count),
  ])
  return JSON.parse(stdout) as number[]
}

export interface PublishFigures {
  /**
   * Seconds: of a transaction, for each of its entries, and of processor time that the command takes besides, most of it
   * to start.
   */
  readonly publish: number
  readonly publishEntry: number
  readonly start: number
  /** Publishes that two publishers make for one of a single publisher. */
  readonly twoPublishers: number
}

/** What a publish that replaces a run of the same size takes. */
export async function measurePublishes(databaseUrl: string, count: number): Promise<PublishFigures> {
  const small = median(await publishSome(databaseUrl, 'scale-small', 100, count))
  const large = median(await publishSome(databaseUrl, 'scale-large', 10_000, Math.ceil(count / 4)))
  const publishEntry = (large - small) / 9_900
  const alone = median(await publishSome(databaseUrl, 'scale-first', 1_000, count))
  const pair = await Promise.all(
    ['scale-first', 'scale-second'].map((token) => publishSome(databaseUrl, token, 1_000, count)),
  )
  const sum = (values: readonly number[]) => values.reduce((total, each) => total + each, 0)
  const together = Math.max(...pair.map(sum)) / (2 * count)
  return {
    publish: Math.max(0, small - 100 * publishEntry),
    publishEntry,
    start: await measureStart(databaseUrl),
    twoPublishers: alone / together,
  }
}

/** Seconds of processor time of a command that publishes one entry. */
async function measureStart(databaseUrl: string): Promise<number> {
  return await inFolder(async (folder) => {
    const file = join(folder, 'entries.ndjson')
    writeFileSync(file, '{"localId":"1"}\n')
    const publish = [
      'results',
      'publish',
      '--eid',
      '1001',
      '--return',
      'scale',
      '--token',
      'scale-start',
      file,
    ]
    const seconds: number[] = []
    for (let round = 0; round < 5; round++) {
      // The shell knows what its children used: the second line that `times` prints.
      const script = '"$@" >/dev/null && times'
      const { stdout } = await run('bash', ['-c', script, 'bash', process.execPath, MAHI, ...publish], {
        env: { ...process.env, DATABASE_URL: databaseUrl },
      })
      const used = [...(stdout.split('\n')[1] ?? '').matchAll(/(\d+)m([\d.]+)s/g)]
      seconds.push(used.reduce((sum, [, minutes, rest]) => sum + 60 * Number(minutes) + Number(rest), 0))
    }
    return median(seconds)
  })
}

export function toServiceTimes(reads: ReadFigures, publishes: PublishFigures): ServiceTimes {
  const { publish, publishEntry, start } = publishes
  return { start, publish, publishEntry, poll: reads.poll, page: reads.page }
}

export interface ReplicaFigures {
  readonly reads: number
  /** Statements' transactions on either server while those reads were made, and without any reads. */
  readonly primary: number
  readonly standby: number
  readonly primaryIdle: number
  /** Milliseconds after a publish was acknowledged until the standby had it. */
  readonly lag: number
}

/** Which server works for the reads of a process that has a standby. */
export async function measureReplica(
  primary: Cluster,
  standby: Cluster,
  reads: number,
): Promise<ReplicaFigures> {
  const name = 'scale_replica'
  const url = await primary.createDatabase(name)
  const headers = await fill(url)
  await standby.catchUp(primary)
  const transactions = async (cluster: Cluster) => {
    const sql = `select xact_commit as count from pg_stat_database where datname = '${name}'`
    return Number((await cluster.query<{ count: string }>(sql))[0]?.count)
  }
  const during = async (count: number) => {
    const before = [await transactions(primary), await transactions(standby)]
    const environment = { PAGE_CACHE_MB: '0', DATABASE_READ_URL: standby.url(name) }
    const mahi = await startMahi(url, environment)
    const begun = performance.now()
    for (let index = 0; index < count; index++) {
      const path = `/v1/occupations?Limit=20&Cursor=O${String(index % 900).padStart(7, '0')}`
      await (await fetch(mahi.url + path, { headers })).text()
    }
    const seconds = (performance.now() - begun) / 1000
    // The counts of a connection are complete when it has ended.
    await mahi.stop()
    const after = [await transactions(primary), await transactions(standby)]
    const [onPrimary = 0, onStandby = 0] = after.map((each, index) => each - (before[index] ?? 0))
    return { onPrimary, onStandby, seconds }
  }
  const idle = await during(0)
  const busy = await during(reads)

  const lags: number[] = []
  const database = await openDatabase(url)
  for (let index = 0; index < 10; index++) {
    await publishResults(database, generateFindings(1_000), { eid: '1001', returnId: 'scale', token: TOKEN })
    const begun = performance.now()
    await standby.catchUp(primary)
    lags.push(performance.now() - begun)
  }
  await database.close()
  return {
    reads,
    primary: busy.onPrimary,
    standby: busy.onStandby,
    // Revisions are read four times a second, whether anybody asks or not.
    primaryIdle: idle.onPrimary + Math.round(busy.seconds * 4),
    lag: median(lags),
  }
}
