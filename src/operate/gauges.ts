import { countUnreplaced, EXPIRING_DAYS, listKeys, listValid } from '../api/access/keys.ts'
import type { Metrics } from '../api/telemetry/metrics.ts'
import { readIndexState } from '../catalogue/search/index-store.ts'
import type { Database, Reader } from '../foundation/database/database.ts'
import { countJobs } from '../foundation/jobs/queue.ts'
import { countOrphans } from '../submissions/retention/orphans.ts'
import { countEndings, type Ending, type EndingCount } from '../submissions/runs/run-counts.ts'
import { type BackupState, readBackupState } from './backups.ts'

/** How long a reading is reused, in milliseconds: the gauges of one scrape share a query. */
const FRESH = 1_000

type ByKind = Readonly<Record<string, number>>

interface State {
  readonly waiting: ByKind
  readonly running: ByKind
  readonly oldest: ByKind
  readonly orphans: ByKind
  readonly endings: Readonly<Record<Ending, EndingCount>>
  readonly valid: number
  readonly expiring: number
  readonly indexFailed: number
  readonly backup: BackupState
}

/**
 * Reports the queue, the keys, the backups and what sweeps found from the database at each scrape; all processes of a database report the same. While
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
  metrics.counter(
    'mahi_orphans_total',
    'Submissions, files and runs whose rows had no owner and were deleted, by table.',
    async () => (await look())?.orphans ?? {},
    'table',
  )
  metrics.counter(
    'mahi_runs_total',
    'Validations that have ended, by status.',
    async () => {
      const endings = (await look())?.endings
      return endings === undefined
        ? {}
        : Object.fromEntries(Object.entries(endings).map(([status, { total }]) => [status, total]))
    },
    'status',
  )
  metrics.histogram(
    'mahi_run_duration_seconds',
    'From the start of a validation to its end, by status.',
    async () => (await look())?.endings ?? {},
    'status',
  )
  metrics.gauge(
    'mahi_search_index_failed',
    'Whether building the search index of the current catalogue has failed.',
    async () => (await look())?.indexFailed,
  )
  metrics.gauge(
    'mahi_backup_age_seconds',
    'Seconds since the newest recorded backup, or since the database was created if there is none.',
    async () => (await look())?.backup.age,
  )
  metrics.gauge('mahi_backup_failed', 'Whether the last backup of a program has failed.', async () => {
    const backup = (await look())?.backup
    return backup === undefined ? undefined : Number(backup.failed)
  })
  metrics.gauge('mahi_keys_valid', 'API keys that are valid.', async () => (await look())?.valid)
  metrics.gauge(
    'mahi_keys_expiring',
    `Valid API keys that expire within ${EXPIRING_DAYS} days and that no other key replaces.`,
    async () => (await look())?.expiring,
  )
}

async function readState(reader: Reader): Promise<State> {
  const now = Date.now()
  const jobs = await countJobs(reader, now)
  const byKind = (value: (job: (typeof jobs)[number]) => number) =>
    // Each series starts at 0, even without jobs.
    ({
      run: 0,
      purge: 0,
      retention: 0,
      index: 0,
      ...Object.fromEntries(jobs.map((job) => [job.kind, value(job)])),
    })
  const keys = await listKeys(reader)
  return {
    waiting: byKind(({ waiting }) => waiting),
    running: byKind(({ running }) => running),
    oldest: byKind(({ due }) => (due === null ? 0 : (now - due) / 1000)),
    orphans: await countOrphans(reader),
    endings: await countEndings(reader),
    indexFailed: (await readIndexState(reader)).failure === undefined ? 0 : 1,
    backup: await readBackupState(reader, now),
    valid: listValid(keys, now).length,
    expiring: countUnreplaced(keys, now),
  }
}
