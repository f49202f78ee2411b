import { randomBytes } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Database } from '../database/database.ts'
import { claim, extend, finish, type Job, type JobKind, LEASE, MOST_ATTEMPTS, release } from './queue.ts'

/** How often an idle worker looks for a job, in milliseconds. */
const IDLE = 250
/** How often a claim is extended, in milliseconds. */
const HEARTBEAT = LEASE / 15
/** Pause before a failed job is tried again, for each attempt so far, in milliseconds. */
const RETRY_PAUSE = 2_000

/** The job is not this worker's any more: what it did so far must not be stored. */
export class JobLost extends Error {}

export interface JobContext {
  /** Aborted once the job was cancelled, another worker has it, or this one stops. */
  readonly signal: AbortSignal
}

export interface JobHandler {
  /** Does the work, and calls `finish` in the transaction that stores its result. */
  run(job: Job, context: JobContext): Promise<void>
  /** Called in the place of another attempt, once the last one has failed. */
  fail(job: Job, error: unknown): Promise<void>
}

export interface WorkerOptions {
  readonly database: Database
  readonly handlers: Readonly<Partial<Record<JobKind, JobHandler>>>
  /** Runs that are checked at a time. */
  readonly runs: number
  /** Told of failures; nothing of the data may be in them. */
  readonly onError: (error: unknown, job: Pick<Job, 'kind' | 'attempts'> | undefined) => void
}

/** Takes jobs from the queue and does them until it is stopped. */
export class Worker {
  readonly #options: WorkerOptions
  readonly #stopping = new AbortController()
  readonly #loops: Promise<void>[]

  constructor(options: WorkerOptions) {
    this.#options = options
    // What deletes data never waits for runs, which may take long.
    const loops: JobKind[][] = [
      ['purge', 'retention'],
      ...Array.from({ length: options.runs }, (): JobKind[] => ['run']),
    ]
    this.#loops = loops.map((kinds) => this.#loop(kinds))
  }

  /** Gives the jobs in progress back, and ends. */
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
    // Its worker was killed each time: it may be what killed it.
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

  /** Extends the claim while the work lasts, and aborts the work once it is lost. */
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
        // A database that is away may be back before the lease ends; publishing finds out whether it was.
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

/** Ends a job without a result, unless it was lost. */
export async function endJob(database: Database, job: Job): Promise<boolean> {
  return await database.write(`job:${job.worker}`, (writer) => finish(writer, job))
}
