import { openDatabase } from './database/open.ts'
import { createSealer } from './database/seal-keys.ts'
import type { Settings } from './settings.ts'
import { Definitions } from './submissions/definitions.ts'
import { type RunningWorker, startSubmissionWorker } from './submissions/worker.ts'
import { openLog } from './telemetry/log.ts'
import { Metrics } from './telemetry/metrics.ts'

/**
 * Opens the database and does the jobs that wait in it, until it is told to stop.
 *
 * @throws {DatabaseUnusable}
 */
export async function startWork(settings: Settings): Promise<RunningWorker> {
  const log = openLog(settings.LOG_LEVEL, new Metrics())
  const definitions = new Definitions(settings.DEFINITIONS)
  const database = await openDatabase(settings.DATABASE_URL, { poolSize: settings.DATABASE_POOL_SIZE })
  const runs = Math.max(1, settings.WORKERS)
  const worker = await startSubmissionWorker({
    database,
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
  log.logger.info({ runs }, 'the worker takes jobs')
  return {
    stop: async () => {
      await worker.stop()
      await database.close()
    },
  }
}

/** Gives the jobs in progress back on SIGTERM and SIGINT, and when the process that started this one ends. */
export function stopWorkOnSignal(worker: RunningWorker): void {
  let stopping = false
  const stop = () => {
    if (stopping) return
    stopping = true
    void worker.stop().finally(() => process.exit(0))
  }
  process.on('SIGTERM', stop)
  // Ctrl+C reaches the process that started this one as well, which then stops it.
  process.on('SIGINT', () => (process.connected ? undefined : stop()))
  process.on('disconnect', stop)
}
