import type { Logger } from 'pino'
import type { Metrics } from './api/telemetry/metrics.ts'
import type { Database } from './foundation/database/database.ts'
import type { RevisionWatch } from './foundation/database/revision-watch.ts'
import { VERSION } from './foundation/package/root.ts'

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

/** Reports the use of the connection pool; SQLite has none. */
export function reportPool(database: Database, metrics: Metrics): void {
  if (database.pool === undefined) return
  metrics.gauge(
    'mahi_database_connections_in_use',
    'Connections to PostgreSQL that are in use, at most DATABASE_POOL_SIZE.',
    () => database.pool?.inUse ?? 0,
  )
  metrics.gauge(
    'mahi_database_waiting',
    'Queries that wait for a connection to PostgreSQL.',
    () => database.pool?.waiting ?? 0,
  )
}
