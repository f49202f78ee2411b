import { readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { CheckFailed, type CheckSummary, checkFiles, type EngineProgress } from '../checks/check-files.ts'
import type { Finding as CheckFinding } from '../checks/engine/summary.ts'
import type { Limits } from '../checks/process/limits.ts'
import type { Database } from '../database/database.ts'
import type { Sealer } from '../database/seal.ts'
import { finish, type Job } from '../jobs/queue.ts'
import { endJob, type JobContext, type JobHandler, JobLost } from '../jobs/worker.ts'
import type { Traces } from '../telemetry/traces.ts'
import { makeCurrent } from '../validation-results/publish.ts'
import { type Run, type RunProgress, type RunSummary, readRun } from '../validation-results/runs.ts'
import type { ValidationEntry } from '../validation-results/schema.ts'
import { type Finding, type StoredRun, storeFindings } from '../validation-results/store-run.ts'
import { readCurrentFile, TooManyChanges } from './current-file.ts'
import type { Definitions } from './definitions.ts'
import type { Format } from './scan.ts'
import { dropUnused, endRun } from './validation.ts'

export interface RunJobOptions {
  readonly database: Database
  /** Absent if traces are off. */
  readonly traces?: Traces | undefined
  readonly sealer: Sealer
  /** The number of runs of a submission to keep. */
  readonly keep: number
  readonly definitions: Definitions
  readonly limits: Partial<Limits>
  /** The folder for the files of a run; defaults to the system's temporary folder. */
  readonly folder?: string | undefined
}

/** How often the progress of a run is stored, in milliseconds. */
const PROGRESS_INTERVAL = 1_000

/** The reason that callers see. */
const FAILED = 'The check failed. This is a fault of the service; its operator finds the cause in the log.'

/** Checks the files of a submission and publishes the findings. */
export class RunJob implements JobHandler {
  readonly #options: RunJobOptions
  readonly #folder: string

  constructor(options: RunJobOptions) {
    this.#options = options
    this.#folder = nameFolder(options.folder ?? tmpdir())
  }

  async run(job: Job, { signal }: JobContext): Promise<void> {
    const { database } = this.#options
    const run = await readRun(database, Number(job.subject))
    if (run === undefined || run.completed !== null) return void (await endJob(database, job))
    await database.write(`job:${job.worker}`, (writer) =>
      writer.run(
        `update submission_run set status = 'InProgress', started = $2, reason = null
         where run = $1 and completed is null`,
        [run.run, Date.now()],
      ),
    )
    try {
      await this.#check(job, run, signal)
    } catch (error) {
      // A retry would exceed the same limit; the message contains no data.
      const isFinal = error instanceof CheckFailed || error instanceof TooManyChanges
      if (!isFinal || signal.aborted) throw error
      await database.write(`submission:${run.token}`, (writer) =>
        endRun(writer, run, 'Halted', error.message),
      )
    }
  }

  async fail(job: Job): Promise<void> {
    const { database } = this.#options
    const run = await readRun(database, Number(job.subject))
    if (run === undefined) return void (await endJob(database, job))
    await database.write(`submission:${run.token}`, (writer) => endRun(writer, run, 'UnknownError', FAILED))
  }

  /** Removes the folder of this worker. */
  stop(): void {
    rmSync(this.#folder, { recursive: true, force: true })
  }

  async #check(job: Job, run: Run, signal: AbortSignal): Promise<void> {
    const { database, sealer, keep, definitions, limits, traces } = this.#options
    const submission = await database.get<{ returnId: string; type: string | null }>(
      'select return_id as "returnId", type from submission where token = $1',
      [run.token],
    )
    if (submission === undefined) throw new JobLost()
    const definition = definitions.get(run.definition ?? '')
    const progress = new ProgressWriter(database, run.run)
    const counted = new RecordCount(run.files)
    const check = () =>
      checkFiles(
        {
          definition,
          returnId: submission.returnId,
          complete: submission.type !== 'Indicative',
          files: run.files.map((file) => ({
            resource: file.resource,
            name: `${file.resource}.${file.format}`,
            open: () =>
              readCurrentFile(
                database,
                sealer,
                { ...file, format: file.format as Format },
                definitions.formOf(definition.name, file.resource),
              ),
          })),
        },
        {
          limits,
          signal,
          temporary: this.#folder,
          onProgress: (step) => progress.set(counted.describe(step)),
        },
      )
    const result = await (traces?.inSpan('validate', check) ?? check()).finally(() => progress.stop())
    try {
      await database.write(`submission:${run.token}`, async (writer) => {
        const stored = await storeFindings(writer, run.run, toFindings(result.findings()), sealer)
        signal.throwIfAborted()
        // If the run was cancelled or taken over, its job is gone, and nothing is stored.
        if (!(await finish(writer, job))) throw new JobLost()
        const publication = { token: run.token, run: run.run, ...summarise(stored, result.summary) }
        await makeCurrent(writer, publication, sealer, keep)
        await dropUnused(writer, run.eid, run.files)
      })
    } finally {
      await result.dispose()
    }
  }
}

/** Names a folder for this process, and deletes the folders of killed workers. */
function nameFolder(parent: string): string {
  for (const name of readdirSync(parent)) {
    const pid = Number(/^mahi-worker-(\d+)$/.exec(name)?.[1])
    if (pid > 0 && !isAlive(pid)) rmSync(join(parent, name), { recursive: true, force: true })
  }
  return join(parent, `mahi-worker-${process.pid}`)
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}

async function* toFindings(findings: AsyncIterable<CheckFinding>): AsyncGenerator<Finding> {
  for await (const { file, line, field, value, findingKey, ...entry } of findings) {
    const detail = {
      file,
      line,
      ...(field !== undefined && { field }),
      ...(value !== undefined && { value }),
      findingKey,
    }
    yield { entry: entry as ValidationEntry, detail }
  }
}

/** The engine's counts are exact even if it does not keep all findings. */
function summarise(
  stored: StoredRun,
  { codes, errors, warnings, notRun, definition, files, seconds }: CheckSummary,
): { stored: StoredRun } & Omit<RunSummary, 'codes'> {
  const exact = new Map(codes.map((each) => [each.code, each]))
  const counted = stored.codes.map((each) => {
    const {
      count = each.count,
      stored: kept = count,
      students = each.students,
    } = exact.get(each.errorCode) ?? {}
    return { ...each, count, students, ...(kept < count && { stored: kept }) }
  })
  const { name, version, title, notice } = definition
  return {
    stored: { ...stored, errorCount: errors, warningCount: warnings, codes: counted },
    notRun: notRun.map(({ code, reason }) => ({ code, reason })),
    definition: { name, version, title, ...(notice !== undefined && { notice }) },
    files: files.map(({ resource, fileType, state, records }) => ({ resource, fileType, state, records })),
    seconds,
  }
}

/** Counts the records in total and those read so far; files are read one after the other. */
class RecordCount {
  readonly #total: number
  readonly #read = new Map<string, number>()

  constructor(files: Run['files']) {
    this.#total = files.reduce((sum, { records }) => sum + records, 0)
  }

  describe(progress: EngineProgress): RunProgress {
    if (progress.phase === 'read') this.#read.set(progress.file, progress.records)
    const read = [...this.#read.values()].reduce((sum, records) => sum + records, 0)
    const done = progress.phase === 'read' ? Math.min(read, this.#total) : this.#total
    return { stage: STAGES[progress.phase], done, total: this.#total }
  }
}

const STAGES = {
  read: 'Reading the files',
  rule: 'Running the rules',
  write: 'Writing the findings',
} as const satisfies Record<EngineProgress['phase'], string>

/** Stores the progress of a run from time to time; failures do not matter. */
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
