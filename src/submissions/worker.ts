import { rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import type { FastifyBaseLogger } from 'fastify'
import { type JobKind, schedule } from '../foundation/jobs/queue.ts'
import { endJob, type JobHandler, Worker } from '../foundation/jobs/worker.ts'
import { Outage } from '../foundation/outage.ts'
import { DoFileJob, type FileWorkerOptions } from './files/do-file-job.ts'
import { type OnPurge, purge } from './retention/purge.ts'
import { type Retention, sweepAgain } from './retention/sweep.ts'
import { RunJob, type RunJobOptions } from './runs/run-job.ts'
import { nameWorkFolder } from './submission/work-folder.ts'

export interface SubmissionWorkerOptions extends RunJobOptions, FileWorkerOptions {
  /** The number of concurrent validation runs. */
  readonly runs: number
  readonly retention: Retention
  /** Builds the search index; without it, this worker leaves that to others. */
  readonly index?: JobHandler
  readonly log: Pick<FastifyBaseLogger, 'error' | 'warn' | 'info'>
}

export interface RunningWorker {
  /** Releases the jobs in progress and stops. */
  stop(): Promise<void>
}

/** Starts validating submissions, deleting data and building the search index, until stopped. */
export async function startSubmissionWorker(options: SubmissionWorkerOptions): Promise<RunningWorker> {
  const { database, retention, log } = options
  const folder = nameWorkFolder(options.folder ?? tmpdir())
  const onPurge: OnPurge = (purged) => log.warn({ audit: 'purged', ...purged })
  const onPause = () =>
    log.warn('the clock is far ahead of the last sweep: for seven days, retention deletes nothing')
  const runs = new RunJob({ ...options, folder })
  const files = new DoFileJob({ ...options, folder })
  // Any worker can run the recurring sweep.
  await schedule(database, 'retention', 'sweep')
  const handlers: Partial<Record<JobKind, JobHandler>> = {
    run: runs,
    upload: files,
    copies: files,
    ...(options.index !== undefined && { index: options.index }),
    purge: {
      run: (job) => purge(database, job, onPurge),
      // The sweep does what is left.
      fail: async (job) => void (await endJob(database, job)),
    },
    retention: {
      run: (job) => sweepAgain(database, job, retention, onPurge, onPause),
      fail: async (job) => {
        await endJob(database, job)
        await schedule(database, 'retention', 'sweep')
      },
    },
  }
  const outage = new Outage(
    (error) => log.error({ err: error }, 'the queue cannot be used: jobs wait until it can'),
    (failures) => log.warn({ failures }, 'the queue has been used for a minute without a failure'),
  )
  const worker = new Worker({
    database,
    runs: options.runs,
    handlers,
    onError: (error, job) =>
      log.error({ err: error, job: job.kind, attempt: job.attempts }, 'the job failed'),
    onEnd: (report) => log.info(report, 'an attempt at a job has ended'),
    onOutage: (error) => outage.failed(error),
  })
  return {
    stop: async () => {
      await worker.stop()
      rmSync(folder, { recursive: true, force: true })
    },
  }
}
