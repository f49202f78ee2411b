import type { Reader, Writer } from '../database/database.ts'
import type { Sealer } from '../database/seal.ts'
import type { CodeCount } from './store-run.ts'

/** The default number of runs of a submission to keep. */
export const RUNS_KEPT = 10

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
  readonly format: string
  /** The number of stored chunks at that time; later batches add more. */
  readonly chunks: number
  readonly batches: number
  readonly records: number
  readonly bytes: number
  readonly sha256: string
}

/** The progress of a run. */
export interface RunProgress {
  readonly stage: string
  readonly done?: number
  readonly total?: number
}

/** A check that was not run, or only in part. */
export interface NotRun {
  readonly code: string
  readonly reason: string
}

/** The results of a run besides its findings; they may contain personal data. */
export interface RunSummary {
  readonly codes: readonly CodeCount[]
  readonly notRun: readonly NotRun[]
  readonly definition?: {
    readonly name: string
    readonly version: string
    readonly title?: string
    readonly notice?: string
  }
  readonly files?: readonly CheckedFile[]
  readonly seconds?: number
}

/** A file as the check engine read it. */
export interface CheckedFile {
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
  /** The revision of the files that the run covers. */
  readonly revision: number
  readonly total: number
  readonly errors: number
  readonly warnings: number
  readonly definition: string | null
  readonly files: readonly RunFile[]
  readonly progress: RunProgress | undefined
  /** Why the run failed, without any of the data. */
  readonly reason: string | null
  /** The id of the key that encrypts its findings; `null` without encryption, and empty while they are encrypted. */
  readonly sealed: string | null
}

interface RunRow extends Omit<Run, 'files' | 'progress'> {
  files: string
  progress: string | null
}

const COLUMNS =
  'run, token, number, eid, status, received, started, completed, revision, total, errors, warnings, definition, files, progress, reason, sealed'

/** The runs of a submission, newest first. */
export async function listRuns(reader: Reader, token: string): Promise<Run[]> {
  const rows = await reader.all<RunRow>(
    `select ${COLUMNS} from submission_run where token = $1 order by number desc`,
    [token],
  )
  return rows.map(toRun)
}

/** Finds a run of a submission by its number within it. */
export async function findRun(reader: Reader, token: string, number: number): Promise<Run | undefined> {
  const row = await reader.get<RunRow>(
    `select ${COLUMNS} from submission_run where token = $1 and number = $2`,
    [token, number],
  )
  return row === undefined ? undefined : toRun(row)
}

/** Reads a run by its number among all runs. */
export async function readRun(reader: Reader, run: number): Promise<Run | undefined> {
  const row = await reader.get<RunRow>(`select ${COLUMNS} from submission_run where run = $1`, [run])
  return row === undefined ? undefined : toRun(row)
}

function toRun({ files, progress, ...row }: RunRow): Run {
  return {
    ...row,
    files: JSON.parse(files) as RunFile[],
    progress: progress === null ? undefined : (JSON.parse(progress) as RunProgress),
  }
}

/** The findings of a finished run by code; `undefined` for a run of an early version without a summary. */
export async function readSummary(
  reader: Reader,
  run: number,
  sealer: Sealer,
): Promise<RunSummary | undefined> {
  const row = await reader.get<{ summary: string | null }>(
    'select summary from submission_run where run = $1',
    [run],
  )
  if (row === undefined || row.summary === null) return undefined
  return JSON.parse(sealer.openText(row.summary, summaryContext(run))) as RunSummary
}

export function summaryContext(run: number): string {
  return `summary/${run}`
}

/**
 * Deletes the runs of a submission, with all their findings, except the latest ones, the current one, and those that
 * are queued or in progress.
 */
export async function deleteOldRuns(writer: Writer, token: string, keep: number): Promise<void> {
  const current = await writer.get<{ run: number }>('select run from submission where token = $1', [token])
  const rows = await writer.all<{ run: number }>(
    `select run from submission_run where token = $1 and completed is not null order by number desc`,
    [token],
  )
  const old = rows.map(({ run }) => run).slice(keep)
  for (const run of old) if (run !== current?.run) await deleteRun(writer, run)
}

/** Deletes a run and all its findings. */
export async function deleteRun(writer: Writer, run: number): Promise<void> {
  await deleteFindings(writer, run)
  await writer.run('delete from submission_run where run = $1', [run])
}

export async function deleteFindings(writer: Writer, run: number): Promise<void> {
  await writer.run('delete from result_entry where run = $1', [run])
  await writer.run('delete from result_posting where run = $1', [run])
}
