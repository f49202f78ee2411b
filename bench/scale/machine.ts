// What processes and servers do for reads, for docs/scale.md.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { EID, fetchPage, prepareDatabase, startMahi, TOKEN } from '../mahi.ts'
import { measure, median } from '../measure.ts'

/** Every page comes from the database, and none is turned away. */
const UNCACHED = { PAGE_CACHE_MB: '0' }

/** Does some work in a folder that is gone afterwards. */
export async function inFolder<T>(work: (folder: string) => Promise<T>): Promise<T> {
  const folder = mkdtempSync(join(tmpdir(), 'mahi-scale-'))
  try {
    return await work(folder)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

/** A catalogue and a submission, and the headers that read them. */
async function fill(databaseUrl: string): Promise<Record<string, string>> {
  const { key } = await prepareDatabase(databaseUrl, { records: 1_000, findings: 20_000 })
  return { 'X-API-Key': key, EID }
}

const CATALOGUE_PAGE = '/v1/occupations?Limit=20&Cursor=O0000500'
const RESULTS_PAGE = `/v1/submissions/${TOKEN}/validation-results?pageSize=1000&page=7`
const RESULTS_POLL = `/v1/submissions/${TOKEN}/validation-results?pageSize=1000`

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
  const [one, other] = await Promise.all([
    startMahi(databaseUrl, 'one', UNCACHED),
    startMahi(databaseUrl, 'two', UNCACHED),
  ])
  try {
    const etag = (await fetchPage(one, RESULTS_POLL, headers)).headers.get('etag') ?? ''
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
