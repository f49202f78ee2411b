import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { isSuspended } from '../../api/access/suspensions.ts'
import type { Finding as CheckFinding, Limits } from '../../engines/checking/index.ts'
import {
  CheckFailed,
  type CheckSummary,
  checkFiles,
  type EngineProgress,
} from '../../engines/checking/index.ts'
import type { Database } from '../../foundation/database/database.ts'
import type { Sealer } from '../../foundation/database/seal.ts'
import { finish, type Job } from '../../foundation/jobs/queue.ts'
import { endJob, type JobContext, type JobHandler, JobLost } from '../../foundation/jobs/worker.ts'
import { readCurrentFile, TooManyChanges } from '../files/current-file.ts'
import { writeNew } from '../files/disk-file.ts'
import { nameFile } from '../files/file-store.ts'
import { type Finding, splitFinding } from '../findings/blocks.ts'
import { makeCurrent } from '../findings/publish.ts'
import type { PublishedFinding } from '../findings/schema.ts'
import { type StoredRun, storeFindings } from '../findings/store-run.ts'
import type { Definitions } from '../rules/definitions.ts'
import { findRequester, recordActivity } from '../submission/activity.ts'
import { storeCauses } from '../submission/cause-counts.ts'
import { changeSubmission, lockSubmission } from '../submission/lock.ts'
import { type Run, type RunFile, type RunProgress, type RunSummary, readRun } from '../submission/runs.ts'
import { ENDED_BY_SUSPENSION } from './by-organisation.ts'
import { countEnding } from './run-counts.ts'
import { endRun } from './validation.ts'

export interface RunJobOptions {
  readonly database: Database
  readonly sealer: Sealer
  readonly definitions: Definitions
  readonly limits: Partial<Limits>
  /** The folder for the files of a run; defaults to the system's temporary folder. */
  readonly folder?: string | undefined
  /** Checks the files; by default in a process of its own. */
  readonly check?: typeof checkFiles
}

/** How often the progress of a run is stored, in milliseconds. */
const PROGRESS_INTERVAL = 1_000

/** The reason that callers see. */
const FAILED = 'The check failed. This is a fault of the service; its operator finds the cause in the log.'

/** Checks the files of a submission and publishes the findings. */
export class RunJob implements JobHandler {
  readonly #options: RunJobOptions

  constructor(options: RunJobOptions) {
    this.#options = options
  }

  async run(job: Job, { signal, describe }: JobContext): Promise<void> {
    const { database } = this.#options
    const run = await readRun(database, Number(job.subject))
    if (run === undefined || run.completed !== null) return void (await endJob(database, job))
    if (await isSuspended(database, run.eid)) {
      await this.#end(job, run, 'Cancelled', ENDED_BY_SUSPENSION)
      return describe({ run: run.run, status: 'Cancelled' })
    }
    await changeSubmission(database, run.token, (writer) =>
      writer.run(
        `update submission_run set status = 'InProgress', started = $2, reason = null
         where run = $1 and completed is null`,
        [run.run, Date.now()],
      ),
    )
    try {
      const findings = await this.#check(job, run, signal)
      describe({ run: run.run, status: 'Processed', findings })
    } catch (error) {
      // A limit would be exceeded again, and a full disk needs room first. The message contains no data, and its reader
      // decides whether to run the check again.
      const isFinal = error instanceof CheckFailed || error instanceof TooManyChanges
      if (!isFinal || signal.aborted) throw error
      await this.#end(job, run, 'Halted', error.message)
      describe({ run: run.run, status: 'Halted' })
    }
  }

  async fail(job: Job): Promise<void> {
    const { database } = this.#options
    const run = await readRun(database, Number(job.subject))
    if (run === undefined) return void (await endJob(database, job))
    await this.#end(job, run, 'UnknownError', FAILED)
  }

  /** Ends a run without a result, unless another worker has taken it over. */
  async #end(
    job: Job,
    run: Run,
    status: 'Halted' | 'UnknownError' | 'Cancelled',
    reason: string,
  ): Promise<void> {
    await changeSubmission(this.#options.database, run.token, async (writer) => {
      if (await finish(writer, job)) await endRun(writer, run, status, reason)
    })
  }

  /** Returns the number of findings. */
  async #check(job: Job, run: Run, signal: AbortSignal): Promise<number> {
    const {
      database,
      sealer,
      definitions,
      limits,
      folder = tmpdir(),
      check: checkThem = checkFiles,
    } = this.#options
    const submission = await database.get<{ returnId: string; type: string | null }>(
      'select return_id as "returnId", type from submission where token = $1',
      [run.token],
    )
    if (submission === undefined) throw new JobLost()
    const definition = definitions.get(run.definition ?? '')
    const progress = new ProgressWriter(database, run)
    const counted = new RecordCount(run.files)
    const writeFile = async (file: RunFile, to: string) => {
      const path = join(to, `${file.resource}.input`)
      await writeNew(path, readCurrentFile(database, sealer, file), { signal })
      return { resource: file.resource, name: nameFile(file), path }
    }
    const result = await checkThem(
      async (to) => ({
        definition,
        returnId: submission.returnId,
        complete: submission.type !== 'Indicative',
        files: await Promise.all(run.files.map((file) => writeFile(file, to))),
      }),
      {
        limits,
        signal,
        temporary: folder,
        onProgress: (step) => progress.set(counted.describe(step)),
      },
    ).finally(() => progress.stop())
    try {
      return await database.write(`job:run/${run.run}`, async (transaction) => {
        const stored = await storeFindings(transaction, run.run, toFindings(result.findings()), sealer)
        signal.throwIfAborted()
        const writer = await lockSubmission(transaction, run.token)
        // If the run was cancelled or taken over, its job is gone, and nothing is stored.
        if (!(await finish(writer, job))) throw new JobLost()
        const publication = { token: run.token, run: run.run, ...summarise(stored, result.summary) }
        await makeCurrent(writer, publication, sealer)
        await writer.run('update submission_run set files = $2 where run = $1', [
          run.run,
          JSON.stringify(run.files.map((file) => withDigest(file, result.summary))),
        ])
        await storeCauses(writer, run.token, result.summary.causes)
        await recordActivity(writer, {
          token: run.token,
          event: 'Checked',
          actor: await findRequester(writer, run.token, run.run),
          run: run.run,
          detail: {
            runId: run.number,
            errorCount: publication.stored.errorCount,
            warningCount: publication.stored.warningCount,
            stoppedCount: publication.notRun.filter(({ blocks }) => blocks).length || undefined,
          },
        })
        await countEnding(writer, run.run, 'Processed')
        return publication.stored.errorCount + publication.stored.warningCount
      })
    } finally {
      await result.dispose()
    }
  }
}

/** A file that is built from records has a digest once it has been read. */
function withDigest(file: RunFile, { files }: CheckSummary): RunFile {
  const found = files.find(({ resource }) => resource === file.resource)?.sha256
  return { ...file, sha256: file.sha256 || (found ?? '') }
}

async function* toFindings(findings: AsyncIterable<CheckFinding>): AsyncGenerator<Finding> {
  for await (const finding of findings) yield splitFinding(finding as PublishedFinding)
}

/** The engine's counts are exact even if it does not keep all findings. */
function summarise(
  stored: StoredRun,
  { codes, errors, warnings, notRun, undecided, definition, files, causes }: CheckSummary,
): { stored: StoredRun } & Omit<RunSummary, 'codes' | 'causeKeys'> {
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
    notRun,
    undecided: undecided.map(({ code, file, field, records }) => ({ code, file, field, records })),
    definition: { name, version, title, notice },
    files: files.map(({ resource, fileType, state, records }) => ({ resource, fileType, state, records })),
    causes: causes.map(({ general: _general, columns: _columns, ...cause }) => ({
      ...cause,
      codes: [...cause.codes],
    })),
  }
}

/** Counts the records read so far, of all files and of each; the files are read one after the other. */
export class RecordCount {
  /** By the name that the check gives them. */
  readonly #files: ReadonlyMap<string, { readonly file: string; readonly total: number; done: number }>
  #current: string | undefined

  constructor(files: readonly Pick<Run['files'][number], 'resource' | 'format' | 'records'>[]) {
    this.#files = new Map(
      files.map((file) => [nameFile(file), { file: file.resource, total: file.records, done: 0 }]),
    )
  }

  describe(progress: EngineProgress): RunProgress {
    if (progress.phase === 'read') {
      if (this.#current !== progress.file) this.#finish(this.#current)
      this.#current = progress.file
      const file = this.#files.get(progress.file)
      if (file !== undefined) file.done = Math.min(progress.records, file.total)
    } else for (const name of this.#files.keys()) this.#finish(name)
    const files = [...this.#files.values()].map((file) => ({ ...file }))
    const sum = (numbers: readonly number[]) => numbers.reduce((total, each) => total + each, 0)
    return {
      stage: STAGES[progress.phase],
      done: sum(files.map(({ done }) => done)),
      total: sum(files.map(({ total }) => total)),
      files,
    }
  }

  /** The check can count fewer records than the upload, such as after a fault of the file. */
  #finish(name: string | undefined): void {
    const file = this.#files.get(name ?? '')
    if (file !== undefined) file.done = file.total
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
  readonly #run: Run
  readonly #timer: NodeJS.Timeout
  #next: RunProgress | undefined
  #writing: Promise<unknown> = Promise.resolve()

  constructor(database: Database, run: Run) {
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
    const { run, token } = this.#run
    this.#writing = changeSubmission(this.#database, token, (writer) =>
      writer.run('update submission_run set progress = $2 where run = $1 and completed is null', [
        run,
        JSON.stringify(progress),
      ]),
    ).catch(() => undefined)
  }
}
