import { randomBytes } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Database } from '../database/database.ts'
import { pauseSince } from './pause.ts'
import { claim, extend, finish, HEARTBEAT, type Job, type JobKind, MOST_ATTEMPTS, release } from './queue.ts'

/** Pause before a retry, multiplied by the number of attempts so far, in milliseconds. */
const RETRY_PAUSE = 2_000

/** The worker no longer holds the job and must not store its results. */
export class JobLost extends Error {}

type JobFacts = Readonly<Record<string, string | number>>

export interface JobContext {
  /** Aborted when the job is cancelled or claimed by another worker, or when this worker stops. */
  readonly signal: AbortSignal
  /** Adds facts to the log line of the job, without submitted data. */
  describe(facts: JobFacts): void
}

/** How an attempt at a job ended, for the log. */
interface JobReport {
  readonly job: JobKind
  /** `failed` after the last attempt; `retried` and `released` jobs are in the queue again. */
  readonly outcome: 'done' | 'retried' | 'failed' | 'released' | 'lost'
  readonly attempt: number
  /** Milliseconds in the queue before this attempt, and of the attempt. */
  readonly waited: number
  readonly ms: number
  /** The id of the request that it was queued by. */
  readonly request?: string
  /** What the handler adds. */
  readonly [fact: string]: string | number | undefined
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
  /** The number of concurrent runs, and of uploads that are read meanwhile. */
  readonly runs: number
  /** Called with failures, which must not contain submitted data. */
  readonly onError: (error: unknown, job: Pick<Job, 'kind' | 'attempts'>) => void
  /** Called once for each attempt at a job. */
  readonly onEnd?: (report: JobReport) => void
  /** Called each time that the queue cannot be used: its loops ask some times a second whether there is work. */
  readonly onOutage: (error: unknown) => void
}

/** Runs jobs from the queue until it is stopped. */
export class Worker {
  readonly #options: WorkerOptions
  readonly #stopping = new AbortController()
  readonly #loops: Promise<void>[]
  /** When a loop last found a job: another one often follows, as a check follows an upload. */
  #found = performance.now()

  constructor(options: WorkerOptions) {
    this.#options = options
    // Deletions, the search index and uploads have their own loops, so that they never wait for long runs.
    const loops: JobKind[][] = [
      ['purge', 'retention'],
      ...(options.handlers.index === undefined ? [] : [['index'] satisfies JobKind[]]),
      ...Array.from({ length: options.runs }, (): JobKind[] => ['run', 'copies']),
      ...Array.from({ length: options.runs }, (): JobKind[] => ['upload']),
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
      const worked = await takeOne(this.#options, kinds, signal).catch((error: unknown) => {
        this.#options.onOutage(error)
        return false
      })
      if (worked) this.#found = performance.now()
      else await sleep(pauseSince(this.#found), undefined, { signal }).catch(() => undefined)
    }
  }
}

type TakeOptions = Pick<WorkerOptions, 'database' | 'handlers' | 'onError' | 'onEnd' | 'onOutage'>

/**
 * Runs the next job of some kinds, if there is one.
 *
 * @param stopping releases the job when it is aborted
 * @returns whether there was one
 */
export async function takeOne(
  { database, handlers, onError, onEnd, onOutage }: TakeOptions,
  kinds: readonly JobKind[],
  stopping: AbortSignal,
): Promise<boolean> {
  // A claimed job without a handler would stay leased.
  const handled = kinds.filter((kind) => handlers[kind] !== undefined)
  // PostgreSQL refuses an empty list.
  if (handled.length === 0) return false
  const job = await claim(database, randomBytes(9).toString('base64url'), handled)
  const handler = job === undefined ? undefined : handlers[job.kind]
  if (job === undefined || handler === undefined) return false
  const began = Date.now()
  let facts: JobFacts = {}
  const end = (outcome: JobReport['outcome']) =>
    onEnd?.({
      job: job.kind,
      outcome,
      attempt: job.attempts,
      waited: began - job.queued,
      ms: Date.now() - began,
      ...(job.request !== null && { request: job.request }),
      ...facts,
    })
  // The worker was killed at every attempt, possibly because of this job.
  if (job.attempts > MOST_ATTEMPTS) {
    await handler.fail(job, undefined)
    end('failed')
    return true
  }
  try {
    await hold({ database, onOutage }, job, stopping, (signal) =>
      handler.run(job, {
        signal,
        describe: (given) => {
          facts = given
        },
      }),
    )
    end('done')
  } catch (error) {
    if (error instanceof JobLost) {
      end('lost')
      return true
    }
    if (stopping.aborted) {
      await database.write(`job:${job.worker}`, (writer) => release(writer, job, { countAttempt: false }))
      end('released')
      return true
    }
    onError(error, job)
    if (job.attempts >= MOST_ATTEMPTS) {
      await handler.fail(job, error)
      end('failed')
    } else {
      const due = Date.now() + job.attempts * RETRY_PAUSE
      await database.write(`job:${job.worker}`, (writer) => release(writer, job, { due }))
      end('retried')
    }
  }
  return true
}

/** Extends the claim during the work, and aborts the work if the claim is lost. */
async function hold(
  { database, onOutage }: Pick<TakeOptions, 'database' | 'onOutage'>,
  job: Job,
  stopping: AbortSignal,
  work: (signal: AbortSignal) => Promise<void>,
): Promise<void> {
  const lost = new AbortController()
  const signal = AbortSignal.any([stopping, lost.signal])
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
      .catch(onOutage)
      .finally(() => {
        beating = false
      })
  }, HEARTBEAT)
  try {
    await work(signal)
  } catch (error) {
    // If another worker has taken the job over or it was cancelled, it does not matter what failed here.
    const held = await database
      .write(`job:${job.worker}`, (writer) => extend(writer, job))
      .catch(() => !lost.signal.aborted)
    throw held ? error : new JobLost()
  } finally {
    clearInterval(timer)
  }
}

/** Removes a job without a result, unless the claim was lost. */
export async function endJob(database: Database, job: Job): Promise<boolean> {
  return await database.write(`job:${job.worker}`, (writer) => finish(writer, job))
}
