import { setTimeout as sleep } from 'node:timers/promises'
import closeWithGrace from 'close-with-grace'
import type { FastifyInstance } from 'fastify'
import type { Logger } from 'pino'
import { createMemoryLimiter, type RateLimits } from './access/rate-limit.ts'
import type { RedisLimiter, RedisLimiterOptions } from './access/redis-limit.ts'
import { buildApp, rateLimitsOf } from './app.ts'
import { Connections } from './connection/connections.ts'
import { listen } from './connection/listen.ts'
import type { Database } from './database/database.ts'
import { assertComplete } from './database/instance.ts'
import { openDatabase } from './database/open.ts'
import { RevisionWatch } from './database/revision-watch.ts'
import type { DemoCredentials } from './documentation/reference.ts'
import type { Life } from './http/health.ts'
import { Lifecycle } from './lifecycle.ts'
import { openReads, openTraces, reportBuild, reportPrimary } from './observe.ts'
import type { Settings } from './settings.ts'
import { WorkerProcess } from './submissions/worker-process.ts'
import { openLog } from './telemetry/log.ts'
import { Metrics, serveMetrics } from './telemetry/metrics.ts'
import { reportState } from './upkeep/gauges.ts'

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
  readonly drainSeconds: number
  readonly life: Life
  /** Stops listening, lets requests in flight finish, and closes everything. */
  close(): Promise<void>
}

/**
 * Opens the database, migrates it and serves until stopped.
 *
 * @throws {DatabaseUnusable | CannotListen}
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
    // Ends last, after everything that it records.
    const traces = lifecycle.own(
      await openTraces(settings.OTEL_EXPORTER_OTLP_ENDPOINT, log.logger),
      (opened) => opened?.stop(),
    )
    const database = lifecycle.own(
      await openDatabase(settings.DATABASE_URL, { poolSize: settings.DATABASE_POOL_SIZE }),
      (opened) => opened.close(),
    )
    await assertComplete(database)
    const revisions = lifecycle.own(await RevisionWatch.start(database), (watch) => watch.stop())
    const life: Life = { stopping: false }
    reportPrimary(revisions, metrics, log.logger)
    reportState(database, metrics)
    const standby = lifecycle.own(await openReads(settings, database, metrics, log.logger), (reads) =>
      reads?.close(),
    )
    const limits = rateLimitsOf(settings)
    const redis = lifecycle.own(
      settings.REDIS_URL === undefined
        ? undefined
        : await startRedisLimiter(limits, {
            url: settings.REDIS_URL,
            keyPrefix: settings.REDIS_KEY_PREFIX,
            log: log.logger,
            metrics,
          }),
      (limiter) => limiter?.stop(),
    )
    if (settings.METRICS_PORT !== 0) {
      lifecycle.own(await listenForMetrics(settings, metrics, log.logger), (server) => server?.close())
    }
    const traced = traces?.traceReader(database) ?? database
    const app = await buildApp({
      settings,
      database: traced,
      reads: standby === undefined ? traced : (traces?.traceReader(standby) ?? standby),
      revisions,
      consume: redis?.consume ?? createMemoryLimiter(limits),
      metrics,
      life,
      log,
      traces,
      demo,
    })
    const connections = new Connections(app.server)
    lifecycle.own(app, () => connections.endDuring(app.close()))
    const at = { setting: 'PORT', port: settings.PORT, host: settings.HOST }
    const url = await listen(at, () =>
      app.listen({ host: settings.HOST, port: settings.PORT, backlog: BACKLOG }),
    )
    if (workerEnvironment !== undefined && settings.WORKERS > 0)
      lifecycle.own(new WorkerProcess(workerEnvironment, app.log), (worker) => worker.stop())
    const close = async () => {
      life.stopping = true
      await lifecycle.end()
    }
    return { app, database, url, drainSeconds: settings.DRAIN_SECONDS, life, close }
  } catch (error) {
    await lifecycle.end()
    throw error
  }
}

/** Loads the driver of Redis only where it is used. */
async function startRedisLimiter(limits: RateLimits, options: RedisLimiterOptions): Promise<RedisLimiter> {
  const { RedisLimiter } = await import('./access/redis-limit.ts')
  return await RedisLimiter.start(limits, options)
}

/**
 * Connections that may wait to be accepted. More would only be older, and of clients that may have left; a client that
 * finds no room connects again after a second.
 */
const BACKLOG = 256

/** The time after which slow readers are cut off, so that everything else can still close in order. */
const CUT_OFF = 9_000

/**
 * Stops gracefully on SIGTERM and SIGINT, within ten seconds. `/readyz` responds with 503 and every response closes
 * its connection. After DRAIN_SECONDS, in which load balancers react, the server stops listening and lets requests in
 * flight finish.
 */
export function stopOnSignal(server: RunningServer): void {
  closeWithGrace({ delay: 10_000, logger: server.app.log }, async ({ signal }) => {
    server.life.stopping = true
    setTimeout(() => server.app.server.closeAllConnections(), CUT_OFF).unref()
    // Ctrl+C comes from a person who waits, not from a load balancer.
    if (signal === 'SIGTERM') await sleep(server.drainSeconds * 1000)
    await server.close()
  })
}

/**
 * Opens the metrics port, unless it is in use, for example by another service on the same machine. The process then
 * reports this and runs without metrics.
 */
async function listenForMetrics(
  { METRICS_HOST: host, METRICS_PORT: port }: Settings,
  metrics: Metrics,
  logger: Logger,
): Promise<Awaited<ReturnType<typeof serveMetrics>> | undefined> {
  try {
    return await listen({ setting: 'METRICS_PORT', host, port, hostSetting: 'METRICS_HOST' }, () =>
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
