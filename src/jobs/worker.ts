import { randomBytes } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Database } from '../database/database.ts'
import { claim, extend, finish, type Job, type JobKind, LEASE, MOST_ATTEMPTS, release } from './queue.ts'

/** How often an idle worker polls for a job, in milliseconds. */
const IDLE = 250
/** How often a claim is extended, in milliseconds. */
const HEARTBEAT = LEASE / 15
/** Pause before a retry, multiplied by the number of attempts so far, in milliseconds. */
const RETRY_PAUSE = 2_000

/** The worker no longer holds the job and must not store its results. */
export class JobLost extends Error {}

export interface JobContext {
  /** Aborted when the job is cancelled or claimed by another worker, or when this worker stops. */
  readonly signal: AbortSignal
}

export interface JobHandler {
  /** Runs the job, and calls `finish` in the transaction that stores its result. */
  run(job: Job, context: JobContext): Promise<void>
  /** Called when the last attempt has failed. */
  fail(job: Job, error: unknown): Promise<void>
}

export interface WorkerOptions {
  readonly database: Database
  readonly handlers: Readonly<Partial<Record<JobKind, JobHandler>>>
  /** The number of concurrent runs. */
  readonly runs: number
  /** Called with failures, which must not contain submitted data. */
  readonly onError: (error: unknown, job: Pick<Job, 'kind' | 'attempts'> | undefined) => void
}

/** Runs jobs from the queue until it is stopped. */
export class Worker {
  readonly #options: WorkerOptions
  readonly #stopping = new AbortController()
  readonly #loops: Promise<void>[]

  constructor(options: WorkerOptions) {
    this.#options = options
    // Deletion jobs have their own loop, so that they never wait for long runs.
    const loops: JobKind[][] = [
      ['purge', 'retention'],
      ...Array.from({ length: options.runs }, (): JobKind[] => ['run']),
    ]
    this.#loops = loops.map((kinds) => this.#loop(kinds))
  }

  /** Releases the jobs in progress and stops. */
  async stop(): Promise<void> {
    this.#stopping.abort()
    await Promise.all(this.#loops)
  }

  async #loop(kinds: readonly JobKind[]): Promise<void> {
    const { signal } = this.#stopping
    while (!signal.aborted) {
      const worked = await this.#takeOne(kinds).catch((error: unknown) => {
        this.#options.onError(error, undefined)
        return false
      })
      if (!worked) await sleep(IDLE, undefined, { signal }).catch(() => undefined)
    }
  }

  async #takeOne(kinds: readonly JobKind[]): Promise<boolean> {
    const { database, handlers, onError } = this.#options
    const job = await claim(database, randomBytes(9).toString('base64url'), kinds)
    const handler = job === undefined ? undefined : handlers[job.kind]
    if (job === undefined || handler === undefined) return false
    // The worker was killed at every attempt, possibly because of this job.
    if (job.attempts > MOST_ATTEMPTS) {
      await handler.fail(job, undefined)
      return true
    }
    try {
      await this.#hold(job, (context) => handler.run(job, context))
    } catch (error) {
      if (error instanceof JobLost) return true
      if (this.#stopping.signal.aborted) {
        await database.write(`job:${job.worker}`, (writer) => release(writer, job, { countAttempt: false }))
        return true
      }
      onError(error, job)
      if (job.attempts >= MOST_ATTEMPTS) await handler.fail(job, error)
      else {
        const due = Date.now() + job.attempts * RETRY_PAUSE
        await database.write(`job:${job.worker}`, (writer) => release(writer, job, { due }))
      }
    }
    return true
  }

  /** Extends the claim during the work, and aborts the work if the claim is lost. */
  async #hold(job: Job, work: (context: JobContext) => Promise<void>): Promise<void> {
    const lost = new AbortController()
    const signal = AbortSignal.any([this.#stopping.signal, lost.signal])
    const { database, onError } = this.#options
    let beating = false
    const timer = setInterval(() => {
      if (beating) return
      beating = true
      database
        .write(`job:${job.worker}`, (writer) => extend(writer, job))
        .then((held) => {
          if (!held) lost.abort(new JobLost())
        })
        // The database may be back before the lease ends; storing the result checks the claim anyway.
        .catch((error: unknown) => onError(error, job))
        .finally(() => {
          beating = false
        })
    }, HEARTBEAT)
    try {
      await work({ signal })
    } catch (error) {
      throw lost.signal.aborted ? new JobLost() : error
    } finally {
      clearInterval(timer)
    }
  }
}

/** Removes a job without a result, unless the claim was lost. */
export async function endJob(database: Database, job: Job): Promise<boolean> {
  return await database.write(`job:${job.worker}`, (writer) => finish(writer, job))
}
