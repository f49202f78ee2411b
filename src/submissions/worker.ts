import type { FastifyBaseLogger } from 'fastify'
import type { Limits } from '../checks/process/limits.ts'
import type { Database } from '../database/database.ts'
import type { Sealer } from '../database/seal.ts'
import { endJob, Worker } from '../jobs/worker.ts'
import type { Definitions } from './definitions.ts'
import { type OnPurge, purge } from './purge.ts'
import { type Retention, scheduleRetention, sweep } from './retention.ts'
import { RunJob } from './run-job.ts'

export interface SubmissionWorkerOptions {
  readonly database: Database
  readonly sealer: Sealer
  readonly definitions: Definitions
  /** Validation runs at a time. */
  readonly runs: number
  /** Runs of a submission that are kept. */
  readonly keep: number
  readonly limits: Partial<Limits>
  readonly folder?: string | undefined
  readonly retention: Retention
  readonly log: Pick<FastifyBaseLogger, 'error' | 'warn'>
}

export interface RunningWorker {
  /** Gives the jobs in progress back, and ends. */
  stop(): Promise<void>
}

/** Starts to validate submissions and to delete what is to be deleted, until it is stopped. */
export async function startSubmissionWorker(options: SubmissionWorkerOptions): Promise<RunningWorker> {
  const { database, retention, log } = options
  const onPurge: OnPurge = (purged) => log.warn({ audit: 'purged', ...purged })
  const runs = new RunJob(options)
  await scheduleRetention(database)
  const worker = new Worker({
    database,
    runs: options.runs,
    handlers: {
      run: runs,
      purge: {
        run: (job) => purge(database, job, onPurge),
        // The sweep adds it again.
        fail: async (job) => void (await endJob(database, job)),
      },
      retention: {
        run: (job) => sweep(database, job, retention, onPurge),
        fail: async (job) => {
          await endJob(database, job)
          await scheduleRetention(database)
        },
      },
    },
    onError: (error, job) =>
      log.error({ err: error, job: job?.kind, attempt: job?.attempts }, 'the job failed'),
  })
  return {
    stop: async () => {
      await worker.stop()
      runs.stop()
    },
  }
}
