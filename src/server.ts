import closeWithGrace from 'close-with-grace'
import type { FastifyInstance } from 'fastify'
import pino from 'pino'
import { createMemoryLimiter } from './access/rate-limit.ts'
import { buildApp, rateLimitsOf } from './app.ts'
import type { Database } from './database/database.ts'
import { openDatabase } from './database/open.ts'
import { RevisionWatch } from './database/revision-watch.ts'
import type { Life } from './http/health.ts'
import { Metrics, serveMetrics } from './http/metrics.ts'
import type { Settings } from './settings.ts'

/** The port is taken, or can't be had; the message says what to do. */
export class CannotListen extends Error {}

export interface RunningServer {
  readonly app: FastifyInstance
  readonly database: Database
  /** Where it listens, such as `http://127.0.0.1:8080`. */
  readonly url: string
  close(): Promise<void>
}

/**
 * Opens the database, brings it up to date and serves until it is told to stop.
 *
 * @throws {DatabaseUnusable | CannotListen}
 */
export async function startServer(settings: Settings): Promise<RunningServer> {
  const logger = pino({
    level: settings.LOG_LEVEL,
    base: null,
    timestamp: pino.stdTimeFunctions.isoTime,
    serializers: { err: pino.stdSerializers.err },
  })
  const database = await openDatabase(settings.DATABASE_URL)
  const revisions = await RevisionWatch.start(database)
  const life: Life = { stopping: false }
  const metrics = new Metrics()
  const app = await buildApp({
    settings,
    database,
    revisions,
    consume: createMemoryLimiter(rateLimitsOf(settings)),
    metrics,
    life,
    logger,
  })

  let metricsServer: Awaited<ReturnType<typeof serveMetrics>> | undefined
  const close = async () => {
    life.stopping = true
    await app.close()
    metricsServer?.close()
    revisions.stop()
    await database.close()
  }
  try {
    if (settings.METRICS_PORT !== 0) {
      metricsServer = await listen('METRICS_PORT', settings.METRICS_PORT, () =>
        serveMetrics(metrics, settings.METRICS_PORT),
      )
    }
    const url = await listen('PORT', settings.PORT, () =>
      app.listen({ host: settings.HOST, port: settings.PORT }),
    )
    return { app, database, url, close }
  } catch (error) {
    await close()
    throw error
  }
}

/** Stops gracefully on SIGTERM and SIGINT: requests in flight finish first, within ten seconds. */
export function stopOnSignal(server: RunningServer): void {
  closeWithGrace({ delay: 10_000, logger: server.app.log }, () => server.close())
}

async function listen<T>(setting: string, port: number, start: () => Promise<T>): Promise<T> {
  try {
    return await start()
  } catch (error) {
    const reason = LISTEN_ERRORS[(error as NodeJS.ErrnoException).code ?? '']
    if (reason === undefined) throw error
    throw new CannotListen(`port ${port} ${reason}: choose another with ${setting}`, { cause: error })
  }
}

const LISTEN_ERRORS: Record<string, string> = {
  EADDRINUSE: 'is in use by another process',
  EACCES: 'needs more rights than this user has',
  EADDRNOTAVAIL: 'is on an address that this machine does not have (HOST)',
  ENOTFOUND: 'is on an address that is not known (HOST)',
}
