import type { NotRun } from '../../engines/checking/index.ts'
import type { Reader, Value } from '../../foundation/database/database.ts'
import type { Sealer } from '../../foundation/database/seal.ts'
import type { Cause } from './cause.ts'
import { deleteFindings, deleteOwners } from './deletion.ts'
import type { SubmissionWriter } from './lock.ts'
import type { ValidationEntry } from './validation-entry.ts'

/** The number of findings of a code in a run. */
export interface CodeCount {
  readonly errorCode: string
  readonly errorType?: string | undefined
  readonly fileType?: string | undefined
  readonly count: number
  /** The number of stored findings, if not all are stored. */
  readonly stored?: number
  /** The number of distinct `studentId` values. */
  readonly students: number
  readonly first: ValidationEntry
}

/** The number of runs of a submission that are kept. */
const RUNS_KEPT = 10

/** The number of finished runs of a submission whose findings are stored; the runs before keep their counts. */
const FINDINGS_KEPT = 2

export const RUN_STATUSES = [
  'Queued',
  'InProgress',
  'Processed',
  'Halted',
  'Cancelled',
  'UnknownError',
] as const
export type RunStatus = (typeof RUN_STATUSES)[number]

/** A file as it was when the run was requested. */
export interface RunFile {
  readonly resource: string
  readonly version: string
  readonly format: 'csv' | 'ndjson'
  /** The number of stored chunks; later batches add more. */
  readonly chunks: number
  /** Batches added to the file since its upload. */
  readonly batches: number
  readonly records: number
  /** The bytes of the uploaded file and its batches. */
  readonly bytes: number
  /** SHA-256 of the uploaded file, in hexadecimal; `''` for a file created by a batch. */
  readonly sha256: string
}

/** The progress of a run. */
export interface RunProgress {
  readonly stage: string
  readonly done?: number
  readonly total?: number
  /** The records read of each file. */
  readonly files?: { file: string; done: number; total: number }[]
}

interface Undecided {
  readonly code: string
  readonly file: string
  readonly field: string
  readonly records: number
}

/** The results of a run besides its findings; they may contain personal data. */
export interface RunSummary {
  readonly codes: readonly CodeCount[]
  readonly notRun: readonly NotRun[]
  /** For how many records a check did not run, by the field that is unknown. */
  readonly undecided?: readonly Undecided[]
  readonly definition?: {
    readonly name: string
    readonly version: string
    readonly title?: string
    readonly notice?: string | undefined
  }
  readonly files?: readonly CheckedFile[]
  /** What to fix, in this order; absent if the findings were published without it. */
  readonly causes?: readonly Cause[]
  /** The keys of the causes whose findings can be selected. */
  readonly causeKeys: readonly string[]
}

/** A file as the check engine read it. */
interface CheckedFile {
  readonly resource: string
  readonly fileType: string
  readonly state: 'checked' | 'missing' | 'unreadable'
  readonly records: number
}

export interface Run {
  readonly run: number
  readonly token: string
  /** The run's number within the submission, from 1: the `runId` of the API. */
  readonly number: number
  readonly eid: string
  readonly status: RunStatus
  /** Milliseconds since 1970, like the following. */
  readonly received: number
  readonly started: number | null
  readonly completed: number | null
  /** The revision of the files that the run covers; -1 if it was published, and there are files that it has not read. */
  readonly revision: number
  readonly total: number
  readonly errors: number
  readonly warnings: number
  /** Checks that were stopped, and without which nobody knows whether the files are right. */
  readonly stopped: number
  readonly definition: string | null
  readonly files: readonly RunFile[]
  readonly progress: RunProgress | undefined
  /** Why the run failed, without any of the data. */
  readonly reason: string | null
  /** The id of the key that encrypts its findings; `null` without encryption, and empty while they are encrypted. */
  readonly sealed: string | null
  /** When its findings were deleted, because two later runs have some; it keeps its counts. */
  readonly trimmed: number | null
  /** The run that it was compared with. */
  readonly previous: number | null
}

export interface RunRow extends Omit<Run, 'files' | 'progress'> {
  files: string
  progress: string | null
}

/** The columns of a `RunRow`. */
export const RUN_COLUMNS = [
  'run',
  'token',
  'number',
  'eid',
  'status',
  'received',
  'started',
  'completed',
  'revision',
  'total',
  'errors',
  'warnings',
  'stopped',
  'definition',
  'files',
  'progress',
  'reason',
  'sealed',
  'trimmed',
  'previous',
] as const satisfies readonly (keyof RunRow)[]

const COLUMNS = RUN_COLUMNS.join(', ')

/** Whether not all findings of a finished run are stored. All of them are counted. */
export function isPartial({ errors, warnings, total }: Run): boolean {
  return errors + warnings > total
}

async function selectRuns(reader: Reader, condition: string, values: readonly Value[]): Promise<Run[]> {
  const rows = await reader.all<RunRow>(`select ${COLUMNS} from submission_run where ${condition}`, values)
  return rows.map(toRun)
}

/** The runs of a submission, newest first. */
export async function listRuns(reader: Reader, token: string): Promise<Run[]> {
  return await selectRuns(reader, 'token = $1 order by number desc', [token])
}

/** Finds a run of a submission by its number within it. */
export async function findRun(reader: Reader, token: string, number: number): Promise<Run | undefined> {
  return (await selectRuns(reader, 'token = $1 and number = $2', [token, number]))[0]
}

/** The run of a submission that is queued or in progress: there is one at most. */
export async function findActiveRun(reader: Reader, token: string): Promise<Run | undefined> {
  return (await selectRuns(reader, 'token = $1 and completed is null', [token]))[0]
}

/** The current run of a submission, if its findings are stored. */
export async function findCurrent(reader: Reader, token: string): Promise<Run | undefined> {
  const condition = `token = $1 and status = 'Processed' and run = (select run from submission where token = $1)`
  return (await selectRuns(reader, condition, [token]))[0]
}

/** Reads a run by its number among all runs. */
export async function readRun(reader: Reader, run: number): Promise<Run | undefined> {
  return (await selectRuns(reader, 'run = $1', [run]))[0]
}

export function toRun({ files, progress, ...row }: RunRow): Run {
  return {
    ...row,
    files: JSON.parse(files) as RunFile[],
    progress: progress === null ? undefined : (JSON.parse(progress) as RunProgress),
  }
}

/** A run that has ended with results, and those of them that are no findings. */
export interface FinishedRun {
  readonly run: Run
  readonly summary: RunSummary
}

/** Reads a run that has ended with results, by its number among all runs. */
export async function readFinished(
  reader: Reader,
  number: number,
  sealer: Sealer,
): Promise<FinishedRun | undefined> {
  const row = await reader.get<RunRow & { summary: string | null }>(
    `select ${COLUMNS}, summary from submission_run where run = $1`,
    [number],
  )
  if (row === undefined || row.summary === null) return undefined
  const { summary, ...run } = row
  return { run: toRun(run), summary: sealer.openJson(summary, summaryContext(number)) }
}

export function summaryContext(run: number): string {
  return `summary/${run}`
}

/**
 * Deletes the older runs of a submission that have ended: so many with results stay, and as many without. Of those with
 * results, only the latest ones and the current one keep their findings.
 */
export async function forgetOldRuns(writer: SubmissionWriter, token: string): Promise<void> {
  const rows = await writer.all<{ run: number; status: RunStatus; trimmed: number | null }>(
    `select r.run, r.status, r.trimmed from submission_run r join submission s on s.token = r.token
     where r.token = $1 and r.completed is not null and r.run <> s.run order by r.number desc`,
    [token],
  )
  const failed = rows.filter(({ status }) => status !== 'Processed')
  const finished = rows.filter(({ status }) => status === 'Processed')
  // The current run is one of those with results.
  const kept = finished.splice(0, RUNS_KEPT - 1)
  const forgotten = [...finished, ...failed.slice(RUNS_KEPT)].map(({ run }) => run)
  // No run has the number 0, and PostgreSQL refuses an empty list.
  await deleteOwners(writer, 'run', token, { condition: `o.run in (${['0', ...forgotten].join(', ')})` })
  for (const { run, trimmed } of kept.slice(FINDINGS_KEPT - 1))
    if (trimmed === null) await deleteFindings(writer, run)
}

/** Counts the stored runs by status. */
export async function countRuns(reader: Reader): Promise<Record<string, number>> {
  const rows = await reader.all<{ status: string; count: number }>(
    'select status, count(*) as count from submission_run group by status order by status',
  )
  return Object.fromEntries(rows.map(({ status, count }) => [status, count]))
}
