import type { Logger } from 'pino'
import type { Metrics } from './api/telemetry/metrics.ts'
import type { Database } from './foundation/database/database.ts'
import type { RevisionWatch } from './foundation/database/revision-watch.ts'
import { StandbyReader, StandbyUnusable } from './foundation/database/standby.ts'
import { VERSION } from './foundation/package/root.ts'
import type { Settings } from './settings.ts'

/** Reports the running versions. */
export function reportBuild(metrics: Metrics): void {
  metrics.info('mahi_build_info', 'The versions of Mahi and of Node.js.', {
    version: VERSION,
    node: process.versions.node,
  })
}

/** Reports whether the primary is available: logs every change, even without requests. */
export function reportPrimary(revisions: RevisionWatch, metrics: Metrics, logger: Logger): void {
  revisions.onReachable((reachable, reason) => {
    if (reachable) logger.info('the database is available again')
    else
      logger.error(
        { err: reason },
        'the database is unavailable: requests that need it get 503 until it is back',
      )
  })
  metrics.gauge('mahi_primary_up', 'Whether the database of DATABASE_URL is available.', () =>
    revisions.reachable ? 1 : 0,
  )
  metrics.gauge(
    'mahi_revisions_age_seconds',
    'Seconds since the process last read what has changed: it serves nothing that is older.',
    () => revisions.age,
  )
}

/** Reports the use of the connection pools. */
function reportPools(metrics: Metrics, servers: Readonly<Record<string, Database | undefined>>): void {
  const pools = Object.entries(servers).flatMap(([name, server]) =>
    server?.pool === undefined ? [] : [[name, server] as const],
  )
  const read = (field: 'inUse' | 'waiting') => () =>
    Object.fromEntries(pools.map(([name, server]) => [name, server.pool?.[field] ?? 0]))
  metrics.gauge(
    'mahi_database_connections_in_use',
    'Connections to PostgreSQL that are in use, at most DATABASE_POOL_SIZE.',
    read('inUse'),
    'server',
  )
  metrics.gauge(
    'mahi_database_waiting',
    'Queries that wait for a connection to PostgreSQL.',
    read('waiting'),
    'server',
  )
}

/** Opens the reader of the standbys in DATABASE_READ_URL, if any. */
export async function openReads(
  { DATABASE_READ_URL, DATABASE_READ_MAX_LAG, DATABASE_POOL_SIZE }: Settings,
  primary: Database,
  metrics: Metrics,
  logger: Logger,
): Promise<StandbyReader | undefined> {
  if (DATABASE_READ_URL === undefined) {
    reportPools(metrics, { primary })
    return undefined
  }
  const { openStandby } = await import('./foundation/database/postgres.ts')
  const standby = openStandby(DATABASE_READ_URL, DATABASE_POOL_SIZE)
  reportPools(metrics, { primary, standby })
  const reads = await StandbyReader.start({
    standby,
    primary,
    maxLag: DATABASE_READ_MAX_LAG,
    onChange: (available, reason) => {
      if (available) logger.info('the standby is available again and serves reads')
      else if (reason instanceof StandbyUnusable)
        logger.warn({ reason: reason.message }, 'the standby is not used: reads go to the primary')
      else logger.warn({ err: reason }, 'the standby is unavailable: reads go to the primary')
    },
  })
  metrics.gauge('mahi_standby_up', 'Whether the standby serves reads.', () => (reads.available ? 1 : 0))
  metrics.gauge(
    'mahi_standby_lag_seconds',
    'Seconds by which the standby is behind the primary; NaN where that is not known.',
    () => reads.lag,
  )
  return reads
}
