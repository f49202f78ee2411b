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
  metrics.report([
    {
      name: 'mahi_primary_up',
      help: 'Whether the database of DATABASE_URL is available.',
      read: () => (revisions.reachable ? 1 : 0),
    },
    {
      name: 'mahi_revisions_age_seconds',
      help: 'Seconds since the process last read what has changed: it serves nothing that is older.',
      read: () => revisions.age,
    },
  ])
}

/** Reports the use of the connection pool; SQLite has none. */
export function reportPool(database: Database, metrics: Metrics): void {
  if (database.pool === undefined) return
  metrics.report([
    {
      name: 'mahi_database_connections_in_use',
      help: 'Connections to PostgreSQL that are in use, at most DATABASE_POOL_SIZE.',
      read: () => database.pool?.inUse ?? 0,
    },
    {
      name: 'mahi_database_waiting',
      help: 'Queries that wait for a connection to PostgreSQL.',
      read: () => database.pool?.waiting ?? 0,
    },
  ])
}
