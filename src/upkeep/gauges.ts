import type { Database, Reader } from '../database/database.ts'
import type { Metrics } from '../telemetry/metrics.ts'
import { EXPIRING_DAYS } from './status.ts'

/** How long a reading is reused, in milliseconds: the gauges of one scrape share a query. */
const FRESH = 1_000

const DAY = 86_400_000

type ByKind = Readonly<Record<string, number>>

interface State {
  readonly waiting: ByKind
  readonly running: ByKind
  readonly oldest: ByKind
  readonly valid: number
  readonly expiring: number
}

/**
 * Reports the queue and the keys from the database at each scrape; all processes of a database report the same. While
 * the database is unavailable, the values are `NaN` or absent.
 */
export function reportState(database: Database, metrics: Metrics): void {
  let read: { readonly at: number; readonly state: Promise<State | undefined> } | undefined
  const look = () => {
    if (read === undefined || performance.now() - read.at > FRESH)
      read = { at: performance.now(), state: readState(database).catch(() => undefined) }
    return read.state
  }
  metrics.gauge(
    'mahi_jobs_waiting',
    'Jobs that are due and that no worker has taken.',
    async () => (await look())?.waiting ?? {},
    'kind',
  )
  metrics.gauge(
    'mahi_jobs_running',
    'Jobs that workers hold.',
    async () => (await look())?.running ?? {},
    'kind',
  )
  metrics.gauge(
    'mahi_jobs_oldest_seconds',
    'Seconds for which the oldest waiting job has been due; 0 if none waits.',
    async () => (await look())?.oldest ?? {},
    'kind',
  )
  metrics.gauge('mahi_keys_valid', 'API keys that are valid.', async () => (await look())?.valid)
  metrics.gauge(
    'mahi_keys_expiring',
    `Valid API keys that expire within ${EXPIRING_DAYS} days.`,
    async () => (await look())?.expiring,
  )
}

async function readState(reader: Reader): Promise<State> {
  const now = Date.now()
  const jobs = await reader.all<{ kind: string; waiting: number; running: number; since: number | null }>(
    `select kind, count(case when due <= $1 and (worker is null or lease < $1) then 1 end) as waiting,
       count(case when worker is not null and lease >= $1 then 1 end) as running,
       min(case when due > $1 or (worker is not null and lease >= $1) then null
         when due > queued then due else queued end) as since
     from job group by kind`,
    [now],
  )
  const byKind = (value: (job: (typeof jobs)[number]) => number) =>
    // Each series starts at 0, even without jobs.
    ({ run: 0, purge: 0, retention: 0, ...Object.fromEntries(jobs.map((job) => [job.kind, value(job)])) })
  const keys = await reader.get<{ valid: number; expiring: number }>(
    `select count(*) as valid, count(case when expires <= $2 then 1 end) as expiring
     from api_key where revoked is null and expires > $1`,
    [now, now + EXPIRING_DAYS * DAY],
  )
  return {
    waiting: byKind(({ waiting }) => waiting),
    running: byKind(({ running }) => running),
    oldest: byKind(({ since }) => (since === null ? 0 : (now - since) / 1000)),
    valid: keys?.valid ?? 0,
    expiring: keys?.expiring ?? 0,
  }
}
