import type { FastifyInstance } from 'fastify'
import type { Logger } from 'pino'
import { createMemoryLimiter, type RateLimits, rateLimitsOf } from './api/access/limits.ts'
import type { RedisLimiter, RedisLimiterOptions } from './api/access/redis-limits.ts'
import type { DemoCredentials } from './api/reference/docs.ts'
import { listen, listenForRequests } from './api/serving/listen.ts'
import { openLog } from './api/telemetry/log.ts'
import { Metrics, serveMetrics } from './api/telemetry/metrics.ts'
import { buildApp } from './app.ts'
import { assertWritable } from './foundation/command-line/writable.ts'
import type { Database } from './foundation/database/database.ts'
import { openDatabase } from './foundation/database/open.ts'
import { RevisionWatch } from './foundation/database/revision-watch.ts'
import { Lifecycle } from './foundation/lifecycle.ts'
import { reportBuild, reportPool, reportPrimary } from './observe.ts'
import { reportState } from './operate/gauges.ts'
import type { Settings } from './settings.ts'
import { WorkerProcess } from './submissions/runs/worker-process.ts'

export interface ServerOptions {
  /** Filled in on the reference page, for browsers on this machine. */
  readonly demo?: DemoCredentials | undefined
  /** The environment of the validation process; without it, or with WORKERS=0, none is started. */
  readonly workerEnvironment?: Readonly<Record<string, string | undefined>>
}

export interface RunningServer {
  readonly app: FastifyInstance
  readonly database: Database
  /** The URL of the server, such as `http://127.0.0.1:8080`. */
  readonly url: string
  readonly lifecycle: Lifecycle
  /** Ends the process on SIGTERM and SIGINT. */
  stopOnSignal(): void
}

/**
 * Opens the database, migrates it and serves until stopped.
 *
 * @throws {UserError} if the database cannot be used, or no port can be listened on
 */
export async function startServer(
  settings: Settings,
  { demo, workerEnvironment }: ServerOptions = {},
): Promise<RunningServer> {
  const metrics = new Metrics()
  const log = openLog(settings.LOG_LEVEL, metrics)
  reportBuild(metrics)
  const lifecycle = new Lifecycle()
  try {
    const database = lifecycle.own(
      await openDatabase(settings.DATABASE_URL, { poolSize: settings.DATABASE_POOL_SIZE }),
      (opened) => opened.close(),
    )
    const { CHECK_FOLDER, ERASURE_LOG, SNAPSHOT_FOLDER } = settings
    assertWritable({ CHECK_FOLDER, ERASURE_LOG, SNAPSHOT_FOLDER })
    const revisions = lifecycle.own(await RevisionWatch.start(database), (watch) => watch.stop())
    reportPrimary(revisions, metrics, log.logger)
    reportState(database, metrics)
    reportPool(database, metrics)
    const limits = rateLimitsOf(settings)
    const redis = lifecycle.own(
      settings.REDIS_URL === undefined
        ? undefined
        : await startRedisLimiter(limits, {
            url: settings.REDIS_URL,
            log: log.logger,
            metrics,
          }),
      (limiter) => limiter?.stop(),
    )
    if (settings.METRICS_PORT.port !== 0) {
      lifecycle.own(await listenForMetrics(settings, metrics, log.logger), (server) => server?.close())
    }
    const { app, cutOffRest } = await buildApp({
      settings,
      database,
      revisions,
      consume: redis?.consume ?? createMemoryLimiter(limits),
      metrics,
      lifecycle,
      log,
      demo,
    })
    const url = await listenForRequests(app, settings)
    if (workerEnvironment !== undefined && settings.WORKERS > 0)
      lifecycle.own(new WorkerProcess(workerEnvironment, app.log), (worker) => worker.stop())
    const stopOnSignal = () =>
      lifecycle.endOnSignal({
        logger: app.log,
        drainSeconds: settings.DRAIN_SECONDS,
        graceSeconds: settings.SHUTDOWN_GRACE,
        cutOffRest,
        cutOff: () => app.server.closeAllConnections(),
      })
    return { app, database, url, lifecycle, stopOnSignal }
  } catch (error) {
    await lifecycle.end()
    throw error
  }
}

/** Loads the driver of Redis only where it is used. */
async function startRedisLimiter(limits: RateLimits, options: RedisLimiterOptions): Promise<RedisLimiter> {
  const { RedisLimiter } = await import('./api/access/redis-limits.ts')
  return await RedisLimiter.start(limits, options)
}

/**
 * Opens the metrics port, unless it is in use, for example by another service on the same machine. The process then
 * reports this and runs without metrics.
 */
async function listenForMetrics(
  { METRICS_PORT: { host, port } }: Settings,
  metrics: Metrics,
  logger: Logger,
): Promise<Awaited<ReturnType<typeof serveMetrics>> | undefined> {
  try {
    return await listen({ setting: 'METRICS_PORT', host, port, hostSetting: 'METRICS_PORT' }, () =>
      serveMetrics(metrics, port, host),
    )
  } catch (error) {
    const { cause } = error as { cause?: NodeJS.ErrnoException }
    if (cause?.code !== 'EADDRINUSE') throw error
    logger.warn(
      `port ${port} is in use by another process, so metrics are off. Set METRICS_PORT to another port`,
    )
    return undefined
  }
}
