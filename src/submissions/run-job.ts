import { createWriteStream } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import type { Database } from '../database/database.ts'
import type { Sealer } from '../database/seal.ts'
import { finish, type Job } from '../jobs/queue.ts'
import { endJob, type JobContext, type JobHandler, JobLost } from '../jobs/worker.ts'
import { makeCurrent } from '../validation-results/publish.ts'
import {
  type NotRun,
  type Run,
  type RunProgress,
  type RunSummary,
  readRun,
} from '../validation-results/runs.ts'
import { type Finding, storeFindings } from '../validation-results/store-run.ts'
import { type FileForm, readCurrentFile } from './current-file.ts'
import type { Format } from './scan.ts'
import { dropUnused, endRun } from './validation.ts'

/** A file of a submission on the disk of the worker. */
export interface CheckInput {
  readonly resource: string
  readonly path: string
}

/** What the check engine is given. */
export interface CheckRequest {
  readonly definition: string
  readonly returnId: string
  readonly files: readonly CheckInput[]
  readonly onProgress: (progress: RunProgress) => void
  readonly signal: AbortSignal
}

/** Findings in their order; the rest is known once they have all been read. */
export interface CheckResult {
  readonly findings: AsyncIterable<Finding>
  readonly summary: () => Omit<RunSummary, 'codes'> & { readonly notRun: readonly NotRun[] }
}

/** A check was stopped for a reason that another attempt does not change, such as a limit; never about the data. */
export class CheckHalted extends Error {}

export interface RunJobOptions {
  readonly database: Database
  readonly sealer: Sealer
  /** Runs of a submission that are kept. */
  readonly keep: number
  readonly check: (request: CheckRequest) => Promise<CheckResult>
  /** The form of a file of a definition. */
  readonly formOf: (definition: string, resource: string) => FileForm
  /** Where the files of a run are while it is checked. */
  readonly folder?: string
}

/** How often the progress of a run is stored, in milliseconds. */
const PROGRESS_INTERVAL = 1_000

/** What the caller of a failed run is told. */
const FAILED = 'The check failed. This is a fault of the service; its operator finds the cause in the log.'

/** Checks the files of a submission and publishes what it finds. */
export class RunJob implements JobHandler {
  readonly #options: RunJobOptions

  constructor(options: RunJobOptions) {
    this.#options = options
  }

  async run(job: Job, { signal }: JobContext): Promise<void> {
    const { database, folder = tmpdir() } = this.#options
    const run = await readRun(database, Number(job.subject))
    if (run === undefined || run.completed !== null) return void (await endJob(database, job))
    await database.write(`job:${job.worker}`, (writer) =>
      writer.run(
        `update submission_run set status = 'InProgress', started = $2, reason = null
         where run = $1 and completed is null`,
        [run.run, Date.now()],
      ),
    )
    const work = await mkdtemp(join(folder, `mahi-run-${process.pid}-`))
    try {
      await this.#check(job, run, work, signal)
    } catch (error) {
      if (!(error instanceof CheckHalted)) throw error
      await database.write(`submission:${run.token}`, (writer) =>
        endRun(writer, run, 'Halted', error.message),
      )
    } finally {
      await rm(work, { recursive: true, force: true })
    }
  }

  async fail(job: Job): Promise<void> {
    const { database } = this.#options
    const run = await readRun(database, Number(job.subject))
    if (run === undefined) return void (await endJob(database, job))
    await database.write(`submission:${run.token}`, (writer) => endRun(writer, run, 'UnknownError', FAILED))
  }

  async #check(job: Job, run: Run, work: string, signal: AbortSignal): Promise<void> {
    const { database, sealer, keep, check } = this.#options
    const returnId = await this.#findReturn(run)
    const progress = new ProgressWriter(database, run.run)
    const files = await this.#unpack(run, work, signal)
    const { findings, summary } = await check({
      definition: run.definition ?? '',
      returnId,
      files,
      signal,
      onProgress: (step) => progress.set(step),
    })
    const begun = await begin(findings)
    await progress.stop()
    await database.write(`submission:${run.token}`, async (writer) => {
      const stored = await storeFindings(writer, run.run, begun, sealer)
      signal.throwIfAborted()
      // Whoever cancelled the run, or took it over, has removed the job: then nothing of this stays.
      if (!(await finish(writer, job))) throw new JobLost()
      await makeCurrent(writer, { token: run.token, run: run.run, stored, ...summary() }, sealer, keep)
      await dropUnused(writer, run.eid, run.files)
    })
  }

  async #findReturn({ token }: Run): Promise<string> {
    const row = await this.#options.database.get<{ returnId: string }>(
      'select return_id as "returnId" from submission where token = $1',
      [token],
    )
    if (row === undefined) throw new JobLost()
    return row.returnId
  }

  async #unpack(run: Run, work: string, signal: AbortSignal): Promise<CheckInput[]> {
    const { database, sealer, formOf } = this.#options
    const inputs: CheckInput[] = []
    for (const { resource, version, chunks, batches, format } of run.files) {
      const path = join(work, `${resource}.${format}`)
      const file = { version, chunks, batches, format: format as Format }
      const content = readCurrentFile(database, sealer, file, formOf(run.definition ?? '', resource))
      await pipeline(Readable.from(content), createWriteStream(path, { mode: 0o600 }), { signal })
      inputs.push({ resource, path })
    }
    return inputs
  }
}

/** Waits for the first finding, so that the transaction that stores them is not open during the check itself. */
async function begin(findings: AsyncIterable<Finding>): Promise<AsyncIterable<Finding>> {
  const iterator = findings[Symbol.asyncIterator]()
  const first = await iterator.next()
  return (async function* () {
    try {
      for (let next = first; next.done !== true; next = await iterator.next()) yield next.value
    } finally {
      await iterator.return?.()
    }
  })()
}

/** Stores how far a run has got, now and then; a progress that is lost matters to nobody. */
class ProgressWriter {
  readonly #database: Database
  readonly #run: number
  readonly #timer: NodeJS.Timeout
  #next: RunProgress | undefined
  #writing: Promise<unknown> = Promise.resolve()

  constructor(database: Database, run: number) {
    this.#database = database
    this.#run = run
    this.#timer = setInterval(() => this.#write(), PROGRESS_INTERVAL)
    this.#timer.unref()
  }

  set(progress: RunProgress): void {
    this.#next = progress
  }

  async stop(): Promise<void> {
    clearInterval(this.#timer)
    await this.#writing
  }

  #write(): void {
    const progress = this.#next
    if (progress === undefined) return
    this.#next = undefined
    this.#writing = this.#database
      .write(`job:progress/${this.#run}`, (writer) =>
        writer.run('update submission_run set progress = $2 where run = $1 and completed is null', [
          this.#run,
          JSON.stringify(progress),
        ]),
      )
      .catch(() => undefined)
  }
}
