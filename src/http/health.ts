import type { FastifyInstance } from 'fastify'
import type { Reader } from '../database/database.ts'
import { Problem } from './problems.ts'

/** The state of the process that its health checks report. */
export interface Life {
  /** Set when the process has been told to stop. It still serves requests, and closes each connection. */
  stopping: boolean
}

/** What a process has to reach to respond to requests. */
export interface Reach {
  /** Where keys are read, and where the data is: the same database, or standbys of it. */
  readonly readers: readonly Reader[]
  /** Whether it knows of every change up to a few seconds ago. */
  isCurrent(): boolean
}

/** `/livez`: the process responds. `/readyz`: it also reaches its databases and is not stopping. */
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
