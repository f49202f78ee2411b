import { setTimeout as sleep } from 'node:timers/promises'
import type { FastifyInstance } from 'fastify'
import type { RevisionWatch } from '../../foundation/database/revision-watch.ts'
import type { Life } from '../../foundation/lifecycle.ts'
import { unavailable } from '../request/problems.ts'

/** How long `/readyz` waits for the database, in milliseconds. */
const PATIENCE = 200

/** A database that has responded within so many seconds is there, even if it is slow. */
const RECENT = 1

/**
 * Serves `/livez` (the process responds) and `/readyz` (it also reaches its database, knows what has changed and is
 * not stopping). The query has a connection of its own, and so waits for no caller.
 */
export function registerHealth(
  app: FastifyInstance,
  revisions: Pick<RevisionWatch, 'probe' | 'age' | 'stale'>,
  life: Life,
): void {
  const schema = { hide: true }
  app.get('/livez', { schema, config: { operation: 'livez' } }, async () => ({ status: 'alive' }))
  app.get('/readyz', { schema, config: { operation: 'readyz' } }, async () => {
    if (life.stopping) throw unavailable('The process is stopping.')
    if (revisions.stale) throw unavailable('The database has not responded for some seconds.')
    const answered = await Promise.race([
      revisions.probe().then(
        () => true,
        (cause: unknown) => {
          throw unavailable('The database does not respond.', 1, cause)
        },
      ),
      sleep(PATIENCE, false, { ref: false }),
    ])
    // A slow response alone must not take every replica out of the balancer at once.
    if (!answered && revisions.age > RECENT) throw unavailable('The database does not respond.')
    return { status: 'ready' }
  })
}
