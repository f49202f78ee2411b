import type { FastifyInstance } from 'fastify'
import type { Reader } from '../database/database.ts'
import { Problem } from './problems.ts'

/** The state of the process that its health checks report. */
export interface Life {
  /** Set when the process is told to stop. It still serves requests, but closes each connection. */
  stopping: boolean
}

/** The databases that a process must reach to serve requests. */
export interface Reach {
  /** The databases of keys and of data: the same one, or standbys of it. */
  readonly readers: readonly Reader[]
  /** Whether it knows every change up to a few seconds ago. */
  isCurrent(): boolean
}

/** Serves `/livez` (the process responds) and `/readyz` (it also reaches its databases and is not stopping). */
export function registerHealth(app: FastifyInstance, { readers, isCurrent }: Reach, life: Life): void {
  const schema = { hide: true }
  app.get('/livez', { schema, config: { operation: 'livez' } }, async () => ({ status: 'alive' }))
  app.get('/readyz', { schema, config: { operation: 'readyz' } }, async () => {
    if (life.stopping) throw unavailable('The process is stopping.')
    if (!isCurrent()) throw unavailable('The database has not responded for some seconds.')
    try {
      await Promise.all(readers.map((reader) => reader.get('select name from migration limit 1')))
    } catch (cause) {
      throw unavailable('The database does not respond.', cause)
    }
    return { status: 'ready' }
  })
}

function unavailable(detail: string, cause?: unknown): Problem {
  return new Problem('unavailable', detail, { headers: { 'retry-after': '1' }, cause })
}
