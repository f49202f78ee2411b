import { constants, getPriority, setPriority } from 'node:os'
import { openLog } from './api/telemetry/log.ts'
import { Metrics } from './api/telemetry/metrics.ts'
import { IndexJob, watchForMissingIndex } from './catalogue/search/index-job.ts'
import { assertWritable } from './foundation/command-line/writable.ts'
import { openDatabase } from './foundation/database/open.ts'
import { Lifecycle } from './foundation/lifecycle.ts'
import { indexMemoryOf, type Settings } from './settings.ts'
import { checkLimitsOf } from './submissions/check-limits.ts'
import { openSealer } from './submissions/open-sealer.ts'
import { Definitions } from './submissions/rules/definitions.ts'
import { startSubmissionWorker } from './submissions/worker.ts'

/**
 * Opens the database and runs its queued jobs until stopped.
 *
 * @throws {DatabaseUnusable}
 */
export async function startWork(settings: Settings): Promise<void> {
  // Requests come first where servers share the machine; a check's own process inherits this.
  setPriority(Math.max(getPriority(), constants.priority.PRIORITY_BELOW_NORMAL))
  const log = openLog(settings.LOG_LEVEL, new Metrics())
  const lifecycle = new Lifecycle()
  // At once: the parent process may end while this one still starts.
  lifecycle.endWithParent()
  try {
    const definitions = new Definitions(settings.DEFINITIONS)
    const database = lifecycle.own(
      await openDatabase(settings.DATABASE_URL, { poolSize: settings.DATABASE_POOL_SIZE }),
      (opened) => opened.close(),
    )
    assertWritable({ CHECK_FOLDER: settings.CHECK_FOLDER })
    const sealer = await openSealer(database, settings)
    const runs = Math.max(1, settings.WORKERS)
    lifecycle.own(
      await startSubmissionWorker({
        database,
        sealer,
        definitions,
        runs,
        limits: checkLimitsOf(settings),
        maxBytes: settings.UPLOAD_MAX_MB * 2 ** 20,
        folder: settings.CHECK_FOLDER,
        index: new IndexJob({
          database,
          databaseUrl: settings.DATABASE_URL,
          memoryBytes: indexMemoryOf(settings),
        }),
        retention: { files: settings.RETENTION_FILES_DAYS, results: settings.RETENTION_RESULTS_DAYS },
        log: log.logger,
      }),
      (worker) => worker.stop(),
    )
    lifecycle.own(
      await watchForMissingIndex(database, (err) =>
        log.logger.error({ err }, 'the search index could not be requested'),
      ),
      (stop) => stop(),
    )
    log.logger.info({ runs }, 'the worker is ready for jobs')
  } catch (error) {
    await lifecycle.end()
    throw error
  }
}
