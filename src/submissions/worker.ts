import type { FastifyBaseLogger } from 'fastify'
import type { Limits } from '../checks/process/limits.ts'
import type { Database } from '../database/database.ts'
import type { Sealer } from '../database/seal.ts'
import type { JobKind } from '../jobs/queue.ts'
import { endJob, type JobHandler, Worker } from '../jobs/worker.ts'
import type { Traces } from '../telemetry/traces.ts'
import type { Definitions } from './definitions.ts'
import { type OnPurge, purge } from './purge.ts'
import { type Retention, scheduleRetention, sweep } from './retention.ts'
import { RunJob } from './run-job.ts'

export interface SubmissionWorkerOptions {
  readonly database: Database
  /** Absent if traces are off. */
  readonly traces?: Traces | undefined
  readonly sealer: Sealer
  readonly definitions: Definitions
  /** The number of concurrent validation runs. */
  readonly runs: number
  /** The number of runs of a submission to keep. */
  readonly keep: number
  readonly limits: Partial<Limits>
  readonly folder?: string | undefined
  readonly retention: Retention
  readonly log: Pick<FastifyBaseLogger, 'error' | 'warn'>
}

export interface RunningWorker {
  /** Releases the jobs in progress and stops. */
  stop(): Promise<void>
}

/** Starts validating submissions and deleting data, until stopped. */
export async function startSubmissionWorker(options: SubmissionWorkerOptions): Promise<RunningWorker> {
  const { database, traces, retention, log } = options
  const onPurge: OnPurge = (purged) => log.warn({ audit: 'purged', ...purged })
  const runs = new RunJob(options)
  await scheduleRetention(database)
  const handlers: Record<JobKind, JobHandler> = {
    run: runs,
    purge: {
      run: (job) => purge(database, job, onPurge),
      // The sweep adds the job again.
      fail: async (job) => void (await endJob(database, job)),
    },
    retention: {
      run: (job) => sweep(database, job, retention, onPurge),
      fail: async (job) => {
        await endJob(database, job)
        await scheduleRetention(database)
      },
    },
  }
  const worker = new Worker({
    database,
    runs: options.runs,
    handlers: traces?.traceJobs(handlers) ?? handlers,
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
