import { type Database, DatabaseFull } from '../../foundation/database/database.ts'
import { readRevisions } from '../../foundation/database/revisions.ts'
import { type Job, schedule } from '../../foundation/jobs/queue.ts'
import { endJob, type JobContext, type JobHandler, takeOne } from '../../foundation/jobs/worker.ts'
import { type BuildOptions, IndexRefused, runBuild } from './build-process.ts'
import { readIndexState, recordIndexFailure } from './index-store.ts'

/** How often a worker looks for a catalogue without an index and without a job, in milliseconds. */
const SWEEP = 30_000

export type IndexJobOptions = Pick<BuildOptions, 'databaseUrl' | 'memoryBytes'> & {
  readonly database: Database
}

/** Builds the index after each change of the catalogue. */
export class IndexJob implements JobHandler {
  readonly #options: IndexJobOptions

  constructor(options: IndexJobOptions) {
    this.#options = options
  }

  async run(job: Job, { signal }: JobContext): Promise<void> {
    await buildIndexNow({ ...this.#options, signal }).catch((error: unknown) => {
      // It is recorded, and trying again would not help.
      if (!(error instanceof IndexRefused)) throw error
    })
    await endJob(this.#options.database, job)
  }

  async fail(job: Job, error: unknown): Promise<void> {
    const { database } = this.#options
    const { catalogue } = await readRevisions(database)
    const why =
      error === undefined ? 'was ended, possibly because memory ran out' : 'failed; the log says why'
    await recordIndexFailure(database, catalogue, `the process that builds it ${why}`)
    await endJob(database, job)
  }
}

/**
 * Builds and stores the index of the current catalogue, and records a failure that another attempt would not avoid.
 *
 * @throws {IndexRefused}
 */
export async function buildIndexNow({
  database,
  ...options
}: IndexJobOptions & Pick<BuildOptions, 'signal'>): Promise<void> {
  const { catalogue } = await readRevisions(database)
  try {
    await runBuild(options)
  } catch (error) {
    if (error instanceof IndexRefused) await recordIndexFailure(database, catalogue, error.message)
    throw error
  }
}

/**
 * Builds the index if its job waits. A worker that has taken the job builds it.
 *
 * @param onBuild called before it is built
 * @returns why it could not be built
 */
export async function buildWaitingIndex(
  options: IndexJobOptions,
  onBuild: () => void,
): Promise<string | undefined> {
  const { database } = options
  let failure: string | undefined
  const job = new IndexJob(options)
  const index: JobHandler = {
    run: (claimed, context) => {
      onBuild()
      return job.run(claimed, context)
    },
    fail: (claimed, error) => job.fail(claimed, error),
  }
  const onError = (error: unknown) => {
    failure = explainFailure(error)
  }
  const work = { database, handlers: { index }, onError, onOutage: onError }
  await takeOne(work, ['index'], new AbortController().signal)
  return failure ?? (await readIndexState(database)).failure?.reason
}

/** Why the index could not be built. A full disk says that nothing was changed, but the catalogue was. */
export function explainFailure(error: unknown): string {
  if (error instanceof DatabaseFull) return 'the disk of the database is full'
  return error instanceof Error ? error.message : String(error)
}

/**
 * Requests the index wherever there is none and nobody has failed to build it: after an upgrade, a restore, or an
 * import by an older version.
 */
export async function requestMissingIndex(database: Database): Promise<void> {
  const { current, failure } = await readIndexState(database)
  if (current || failure !== undefined) return
  const { catalogue } = await readRevisions(database)
  await schedule(database, 'index', String(catalogue.number))
}

/** Requests a missing index now and from time to time; returns how to stop. */
export async function watchForMissingIndex(
  database: Database,
  onError: (error: unknown) => void,
): Promise<() => void> {
  await requestMissingIndex(database)
  const timer = setInterval(() => void requestMissingIndex(database).catch(onError), SWEEP).unref()
  return () => clearInterval(timer)
}
