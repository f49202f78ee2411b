import { constants, getPriority, setPriority } from 'node:os'
import { openDatabase } from './database/open.ts'
import { createSealer } from './database/seal-keys.ts'
import { openTraces } from './observe.ts'
import type { Settings } from './settings.ts'
import { Definitions } from './submissions/definitions.ts'
import { type RunningWorker, startSubmissionWorker } from './submissions/worker.ts'
import { openLog } from './telemetry/log.ts'
import { Metrics } from './telemetry/metrics.ts'

/**
 * Opens the database and runs its queued jobs until stopped.
 *
 * @throws {DatabaseUnusable}
 */
export async function startWork(settings: Settings): Promise<RunningWorker> {
  // Requests come first where servers share the machine; a check's own process inherits this.
  setPriority(Math.max(getPriority(), constants.priority.PRIORITY_BELOW_NORMAL))
  const log = openLog(settings.LOG_LEVEL, new Metrics())
  const definitions = new Definitions(settings.DEFINITIONS)
  const database = await openDatabase(settings.DATABASE_URL, { poolSize: settings.DATABASE_POOL_SIZE })
  const runs = Math.max(1, settings.WORKERS)
  const traces = await openTraces(settings.OTEL_EXPORTER_OTLP_ENDPOINT, log.logger)
  const worker = await startSubmissionWorker({
    database: traces?.traceReader(database) ?? database,
    traces,
    sealer: createSealer(settings),
    definitions,
    runs,
    keep: settings.RUNS_KEPT,
    limits: {
      seconds: settings.CHECK_SECONDS,
      ruleSeconds: settings.CHECK_RULE_SECONDS,
      memoryBytes: settings.CHECK_MEMORY_MB * 2 ** 20,
      diskBytes: settings.CHECK_DISK_MB * 2 ** 20,
      findingsOfCode: settings.CHECK_FINDINGS_MAX,
    },
    folder: settings.CHECK_FOLDER,
    retention: { files: settings.RETENTION_FILES_DAYS, results: settings.RETENTION_RESULTS_DAYS },
    log: log.logger,
  })
  log.logger.info({ runs }, 'the worker is ready for jobs')
  return {
    stop: async () => {
      await worker.stop()
      await database.close()
      await traces?.stop()
    },
  }
}

/** Releases the jobs in progress on SIGTERM and SIGINT, and when the parent process ends. */
export function stopWorkOnSignal(worker: RunningWorker): void {
  let stopping = false
  const stop = () => {
    if (stopping) return
    stopping = true
    void worker.stop().finally(() => process.exit(0))
  }
  process.on('SIGTERM', stop)
  // Ctrl+C also reaches the parent process, which then stops this one.
  process.on('SIGINT', () => (process.connected ? undefined : stop()))
  process.on('disconnect', stop)
}
