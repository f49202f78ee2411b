import { EXPIRING_DAYS } from '../api/access/keys.ts'
import type { Metrics } from '../api/telemetry/metrics.ts'
import type { Database } from '../foundation/database/database.ts'
import { JOB_KINDS, type JobCounts } from '../foundation/jobs/queue.ts'
import { listUnreplaced, readState, type State } from './state.ts'

/** How long the state is reused, in milliseconds: the metrics of one scrape share it. */
const FRESH = 1_000

/** Each series starts at 0, even without jobs. */
const NO_JOBS = Object.fromEntries(JOB_KINDS.map((kind) => [kind, 0]))

/**
 * Reports the state of the database at each scrape; all its processes report the same. While the database is
 * unavailable, gauges are `NaN` or absent, and counters stay as they were.
 */
export function reportState(database: Database, metrics: Metrics): void {
  let read: { readonly at: number; readonly state: Promise<State | undefined> } | undefined
  const recall = () => {
    if (read === undefined || performance.now() - read.at > FRESH)
      read = { at: performance.now(), state: readState(database).catch(() => undefined) }
    return read.state
  }
  const show = <T>(value: (state: State) => T) => {
    return async () => {
      const state = await recall()
      return state === undefined ? undefined : value(state)
    }
  }
  const byKind = (value: (job: JobCounts) => number) => async () => {
    const state = await recall()
    if (state === undefined) return {}
    return { ...NO_JOBS, ...Object.fromEntries(state.jobs.map((job) => [job.kind, value(job)])) }
  }
  const totals = ({ endings }: State) =>
    Object.fromEntries(Object.entries(endings).map(([status, { total }]) => [status, total]))
  metrics.report([
    {
      name: 'mahi_jobs_waiting',
      help: 'Jobs that are due and that no worker has taken.',
      read: byKind(({ waiting }) => waiting),
      label: 'kind',
    },
    {
      name: 'mahi_jobs_running',
      help: 'Jobs that workers hold.',
      read: byKind(({ running }) => running),
      label: 'kind',
    },
    {
      name: 'mahi_jobs_oldest_seconds',
      help: 'Seconds for which the oldest waiting job has been due; 0 if none waits.',
      read: byKind(({ due }) => (due === null ? 0 : (Date.now() - due) / 1000)),
      label: 'kind',
    },
    {
      name: 'mahi_runs_total',
      help: 'Validations that have ended, by status.',
      read: show(totals),
      label: 'status',
    },
    {
      name: 'mahi_search_index_failed',
      help: 'Whether building the search index of the current catalogue has failed.',
      read: show(({ searchIndex }) => Number(searchIndex.failure !== undefined)),
    },
    {
      name: 'mahi_backup_age_seconds',
      help: 'Seconds since the newest recorded backup, or since the database was created if there is none.',
      read: show(({ backupAge }) => backupAge),
    },
    {
      name: 'mahi_backup_failed',
      help: 'Whether the last backup of a program has failed.',
      read: show(({ backups }) => Number(backups.some(({ failed }) => failed !== null))),
    },
    {
      name: 'mahi_keys_valid',
      help: 'API keys that are valid.',
      read: show(({ validKeys }) => validKeys),
    },
    {
      name: 'mahi_keys_expiring',
      help: `Valid API keys that expire within ${EXPIRING_DAYS} days and that no other key replaces.`,
      read: show((state) => listUnreplaced(state).length),
    },
  ])
  metrics.histogram(
    'mahi_run_duration_seconds',
    'From the start of a validation to its end, by status.',
    async () => (await recall())?.endings ?? {},
    'status',
  )
}
