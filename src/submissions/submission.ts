import type { Database, Reader, Writer } from '../database/database.ts'
import { UserError } from '../text/user-error.ts'
import { type Run, readRun } from '../validation-results/runs.ts'
import { createToken } from '../validation-results/token.ts'
import { Refusal } from './refusal.ts'

export const SUBMISSION_STATUSES = [
  'Pending',
  'Validating',
  'Validated',
  'Submitted',
  'Cancelled',
  'Closed',
] as const
export type SubmissionStatus = (typeof SUBMISSION_STATUSES)[number]
export const SUBMISSION_TYPES = ['Full', 'Indicative'] as const
export type SubmissionType = (typeof SUBMISSION_TYPES)[number]

/** A stored submission. */
export interface SubmissionRow {
  readonly token: string
  readonly eid: string
  readonly returnId: string
  /** `null` for a submission that was published by a command. */
  readonly created: number | null
  readonly definition: string | null
  readonly type: SubmissionType | null
  /** When the submission becomes read-only, in milliseconds since 1970. */
  readonly expires: number | null
  readonly ended: 'Submitted' | 'Cancelled' | null
  readonly endedAt: number | null
  /** Incremented with each change of the files. */
  readonly revision: number
  /** The number of the current run; 0 or a number without a row if there is none. */
  readonly run: number
  readonly published: number
}

/** The current state of a file. */
export interface FileState {
  readonly resource: string
  readonly version: string
  readonly format: 'csv' | 'ndjson'
  readonly chunks: number
  /** Batches added to the file since its upload. */
  readonly batches: number
  readonly records: number
  /** The bytes of the uploaded file and its batches. */
  readonly bytes: number
  /** SHA-256 of the uploaded file, in hexadecimal; `''` for a file created by a batch. */
  readonly sha256: string
  readonly received: number
  /** The id of the key that hashes the `localId`s of batches. */
  readonly sealed: string | null
}

/** A submission with all data of its status. */
export interface SubmissionState extends SubmissionRow {
  readonly status: SubmissionStatus
  readonly files: readonly FileState[]
  /** The run in progress, or the latest one. */
  readonly lastRun: Run | undefined
}

const COLUMNS = `token, eid, return_id as "returnId", created, definition, type, expires, ended,
  ended_at as "endedAt", revision, run, published`

/** Finds an organisation's submission by its token, like `findSubmissionOf`. */
export async function findOwn(
  reader: Reader,
  eid: string,
  token: string,
): Promise<SubmissionRow | undefined> {
  return await reader.get<SubmissionRow>(`select ${COLUMNS} from submission where token = $1 and eid = $2`, [
    token.replaceAll('\0', '\ufffd'),
    eid,
  ])
}

/** All submissions, newest first, for the operator. */
export async function listAll(
  reader: Reader,
  eid?: string,
): Promise<(SubmissionRow & { readonly purged: number | null })[]> {
  return await reader.all(
    `select ${COLUMNS}, purged from submission where eid = coalesce($1, eid)
     order by coalesce(created, published) desc, token`,
    [eid ?? null],
  )
}

/** Finds a submission by its token only, for the operator. */
export async function findByToken(reader: Reader, token: string): Promise<SubmissionRow> {
  const found = await reader.get<SubmissionRow>(`select ${COLUMNS} from submission where token = $1`, [token])
  if (found === undefined)
    throw new UserError('no submission has this token. "mahi submissions list" lists all submissions')
  return found
}

/** Reads the data of a submission's status. */
export async function readState(reader: Reader, submission: SubmissionRow): Promise<SubmissionState> {
  const files = await listFiles(reader, submission.token)
  const lastRun = await findLastRun(reader, submission)
  return { ...submission, status: statusOf(submission, lastRun), files, lastRun }
}

export async function listFiles(reader: Reader, token: string): Promise<FileState[]> {
  return await reader.all<FileState>(
    `select v.resource, v.version, v.format, v.chunks, v.batches, v.records, v.size as bytes,
       v.digest as sha256, v.received, v.sealed
     from submission_file f join file_version v on v.version = f.version
     where f.token = $1 order by v.resource`,
    [token],
  )
}

async function findLastRun(reader: Reader, { token, run }: SubmissionRow): Promise<Run | undefined> {
  const row = await reader.get<{ run: number }>(
    'select run from submission_run where token = $1 order by number desc limit 1',
    [token],
  )
  return await readRun(reader, row?.run ?? run)
}

function statusOf(submission: SubmissionRow, lastRun: Run | undefined): SubmissionStatus {
  if (submission.ended !== null) return submission.ended
  if (lastRun?.status === 'Queued' || lastRun?.status === 'InProgress') return 'Validating'
  if (isExpired(submission)) return 'Closed'
  const current = lastRun === undefined || lastRun.run === submission.run
  const covered = lastRun === undefined || lastRun.revision === submission.revision
  return submission.published > 0 && current && covered ? 'Validated' : 'Pending'
}

function isExpired({ expires }: SubmissionRow): boolean {
  return expires !== null && expires <= Date.now()
}

/** @throws {Refusal} unless the files of the submission can be changed */
export function assertOpen(submission: SubmissionRow): void {
  if (submission.ended === 'Cancelled') throw cancelled()
  if (submission.ended === 'Submitted')
    throw new Refusal('conflict', 'The submission was submitted and can no longer be changed.')
  if (submission.created === null)
    throw new Refusal(
      'conflict',
      'The results of this submission are published by a command, so it has no files.',
    )
  if (isExpired(submission))
    throw new Refusal('conflict', 'The submission has expired. Create a new one with POST /v1/submissions.')
}

export function cancelled(): Refusal {
  return new Refusal('gone', 'The submission was cancelled, and its data was deleted.')
}

/** Reads a submission again inside a transaction that changes it. */
export async function reread(reader: Reader, { token, eid }: { token: string; eid: string }) {
  const submission = await findOwn(reader, eid, token)
  // Only retention removes an existing submission.
  if (submission === undefined) throw cancelled()
  return submission
}

export interface NewSubmission {
  readonly eid: string
  readonly returnId: string
  /** The name of the definition to check against. */
  readonly definition: string
  readonly type?: SubmissionType
  /** Milliseconds until the submission expires. */
  readonly life: number
  /** The token to use; generated if absent. */
  readonly token?: string
}

/** Creates a submission, or returns the organisation's open one for the same return. */
export async function createSubmission(
  database: Database,
  { eid, returnId, definition, type = 'Full', life, token = createToken() }: NewSubmission,
): Promise<{ submission: SubmissionRow; created: boolean }> {
  return await database.write(`return:${eid}/${returnId}`, async (writer) => {
    const now = Date.now()
    const open = await writer.get<SubmissionRow>(
      `select ${COLUMNS} from submission
       where eid = $1 and return_id = $2 and created is not null and ended is null and expires > $3
       order by created desc limit 1`,
      [eid, returnId, now],
    )
    if (open !== undefined) return { submission: open, created: false }
    await writer.run(
      `insert into submission (token, eid, return_id, run, total, published, definition, type, created, expires)
       values ($1, $2, $3, 0, 0, 0, $4, $5, $6, $7)`,
      [token, eid, returnId, definition, type, now, now + life],
    )
    await writeAudit(writer, { event: 'created', eid, subject: token, actor: 'api' })
    return { submission: await reread(writer, { token, eid }), created: true }
  })
}

/** A page of an organisation's submissions, newest first. */
export async function listSubmissions(
  reader: Reader,
  eid: string,
  { page, pageSize }: { page: number; pageSize: number },
): Promise<{ submissions: SubmissionRow[]; totalCount: number }> {
  const total = await reader.get<{ total: number }>(
    'select count(*) as total from submission where eid = $1',
    [eid],
  )
  const submissions = await reader.all<SubmissionRow>(
    `select ${COLUMNS} from submission where eid = $1
     order by coalesce(created, published) desc, token limit $2 offset $3`,
    [eid, pageSize, (page - 1) * pageSize],
  )
  return { submissions, totalCount: total?.total ?? 0 }
}

export interface AuditEvent {
  readonly event: 'created' | 'submitted' | 'cancelled' | 'purged' | 'expired'
  readonly eid: string
  /** The token of the submission. */
  readonly subject: string
  /** `api`, `command`, or the name of the job. */
  readonly actor: string
  /** Counts, never data. */
  readonly detail?: Readonly<Record<string, number | string>>
}

/** Records an event of a submission in the transaction that changes it. */
export async function writeAudit(
  writer: Writer,
  { event, eid, subject, actor, detail = {} }: AuditEvent,
): Promise<void> {
  await writer.run(
    'insert into audit (time, event, eid, subject, actor, detail) values ($1, $2, $3, $4, $5, $6)',
    [Date.now(), event, eid, subject, actor, JSON.stringify(detail)],
  )
}
