import { randomBytes } from 'node:crypto'
import { type Actor, SERVICE } from '../../api/access/principal.ts'
import { Problem, unavailable } from '../../api/request/problems.ts'
import type { Database, Reader } from '../../foundation/database/database.ts'
import type { Sealer } from '../../foundation/database/seal.ts'
import { countWaiting, enqueue, type JobKind } from '../../foundation/jobs/queue.ts'
import { changeSubmission, type SubmissionWriter } from '../submission/lock.ts'
import type { Refusal } from '../submission/refusal.ts'
import type { RunStatus } from '../submission/runs.ts'
import { type FileState, overtaken } from '../submission/submission.ts'
import type { StoredFile } from './file-store.ts'
import type { Format } from './scan.ts'

/** What is done with files in a worker: they are read, repaired, copied or converted. */
export const FILE_WORK = [
  'upload',
  'repair',
  'preview',
  'workbook',
  'marked',
  'corrected',
  'csv',
  'ndjson',
] as const
export type FileWork = (typeof FILE_WORK)[number]

/** The work that changes the files. */
const CHANGES = `('upload', 'repair')`

/** How an upload was sent. */
export interface SentAs {
  readonly format: Format
  /** Whether the content is said to be gzip; it may be without being said to be. */
  readonly gzip: boolean
  /** Whether the content must be an archive or a workbook. */
  readonly isContainer: boolean
  /** The file must have one of these ETags; `*` matches any file. */
  readonly ifMatch?: readonly string[] | undefined
  /** The file must have none of these ETags. */
  readonly ifNoneMatch?: readonly string[] | undefined
}

/** Parts that may contain names in an archive, and so are encrypted. */
interface Sealed {
  readonly actor: Pick<Actor, 'id' | 'name'>
  readonly sent?: SentAs | undefined
  /** The files that an upload or a repair has replaced. */
  readonly files?: readonly FileState[] | undefined
  /** The number of changes that a repair has made. */
  readonly changes?: number | undefined
  /** Why it has no result, for the caller. */
  readonly refused?: Refusal | undefined
}

/** Work with the files of a submission, while it waits, and for a while afterwards. */
export interface FileJob extends Sealed {
  readonly id: string
  readonly token: string
  readonly eid: string
  readonly work: FileWork
  /** The only file that it is about. */
  readonly resource: string | null
  /** The revision of the files that a copy is made of. */
  readonly revision: number
  readonly status: RunStatus
  readonly received: number
  readonly completed: number | null
  /** The content that arrived, or the copy that was made. */
  readonly content: (StoredFile & { readonly sha256: string }) | undefined
}

/** How long the result is kept after its last use, in milliseconds. */
const RESULT_KEPT = 3_600_000

/** The most jobs of a kind that may wait, of all organisations and of one. */
export const MOST_WAITING = 10_000
export const MOST_WAITING_OF_ONE = 100

/** @throws {Problem} if too many jobs of a kind wait, of one organisation or of all */
export async function assertRoom(reader: Reader, kind: JobKind, eid: string): Promise<void> {
  const { total, own } = await countWaiting(reader, kind, eid)
  if (own >= MOST_WAITING_OF_ONE)
    throw new Problem('too-many-requests', `${own} jobs of this organisation are already queued.`, {
      headers: { 'retry-after': '30' },
    })
  if (total >= MOST_WAITING) throw unavailable('Too many jobs are queued. Try again later.', 30)
}

export const queueOf = (work: FileWork): JobKind => (work === 'upload' ? 'upload' : 'copies')

interface NewFileJob extends Pick<FileJob, 'token' | 'eid' | 'work' | 'resource' | 'revision' | 'sent'> {
  readonly actor?: Actor | undefined
  readonly version?: string
}

/** Queues work with files, and returns its id. */
export async function insertFileJob(
  writer: SubmissionWriter,
  sealer: Sealer,
  { token, eid, work, resource, revision, sent, actor = SERVICE, version }: NewFileJob,
): Promise<string> {
  const id = randomBytes(16).toString('hex')
  const { id: actorId, name } = actor
  await writer.run(
    `insert into submission_job (id, token, eid, work, resource, revision, status, received, version, document, sealed)
     values ($1, $2, $3, $4, $5, $6, 'Queued', $7, $8, $9, $10)`,
    [
      id,
      token,
      eid,
      work,
      resource,
      revision,
      Date.now(),
      version ?? null,
      sealer.sealJson({ actor: { id: actorId, name }, sent } satisfies Sealed, contextOf(id)),
      sealer.keyId,
    ],
  )
  await enqueue(writer, { kind: queueOf(work), subject: id, eid })
  return id
}

function contextOf(id: string): string {
  return `file-job/${id}`
}

interface Row extends Pick<FileJob, 'id' | 'token' | 'eid' | 'work' | 'resource' | 'revision'> {
  readonly status: RunStatus
  readonly received: number
  readonly completed: number | null
  readonly document: string
  readonly version: string | null
  readonly chunks: number | null
  readonly sha256: string | null
}

const SELECT = `select j.id, j.token, j.eid, j.work, j.resource, j.revision, j.status, j.received, j.completed, j.document,
    v.version, v.chunks, v.digest as sha256
  from submission_job j left join file_version v on v.version = j.version`

function toJob(sealer: Sealer, { document, version, chunks, sha256, ...row }: Row): FileJob {
  const sealed = sealer.openJson<Sealed>(document, contextOf(row.id))
  const content =
    version === null || chunks === null || sha256 === null ? undefined : { version, chunks, sha256 }
  return { ...row, ...sealed, content }
}

export async function findFileJob(reader: Reader, sealer: Sealer, id: string): Promise<FileJob | undefined> {
  const row = await reader.get<Row>(`${SELECT} where j.id = $1`, [id])
  return row && toJob(sealer, row)
}

/** The newest work of a kind with the files as they are, if it is known. */
export async function findSameJob(
  reader: Reader,
  sealer: Sealer,
  { token, work, resource, revision }: Pick<FileJob, 'token' | 'work' | 'resource' | 'revision'>,
): Promise<FileJob | undefined> {
  const row = await reader.get<Row>(
    `${SELECT} where j.token = $1 and j.work = $2 and coalesce(j.resource, '') = $3 and j.revision = $4
     order by j.received desc, j.id limit 1`,
    [token, work, resource ?? '', revision],
  )
  return row && toJob(sealer, row)
}

/**
 * Refuses a change that would overtake an upload which has arrived, or a repair.
 *
 * @param own the work that makes the change
 * @throws {Problem}
 */
export async function assertAllRead(reader: Reader, token: string, own = ''): Promise<void> {
  const pending = await reader.get<{ work: FileWork }>(
    `select work from submission_job where token = $1 and work in ${CHANGES} and completed is null and id <> $2`,
    [token, own],
  )
  if (pending === undefined) return
  const what =
    pending.work === 'upload' ? 'An upload is still being read' : 'The files are still being repaired'
  throw overtaken(`${what}. Wait until that ends.`, { 'retry-after': '1' })
}

export async function startFileJob(database: Database, { id, token }: FileJob): Promise<void> {
  await changeSubmission(database, token, (writer) =>
    writer.run(`update submission_job set status = 'InProgress' where id = $1 and completed is null`, [id]),
  )
}

/** The result of work with files, or why it has none. */
export interface FileWorkResult extends Pick<Sealed, 'files' | 'changes' | 'refused'> {
  /** The copy that was made. */
  readonly version?: string
}

/** Stores the result, in the transaction that ends the job. */
export async function endFileJob(
  writer: SubmissionWriter,
  sealer: Sealer,
  { id, actor }: FileJob,
  { status, version, ...outcome }: FileWorkResult & { readonly status: RunStatus },
): Promise<void> {
  await writer.run(
    'update submission_job set status = $2, completed = $3, version = $4, document = $5, sealed = $6 where id = $1',
    [
      id,
      status,
      Date.now(),
      version ?? null,
      sealer.sealJson({ actor, ...outcome } satisfies Sealed, contextOf(id)),
      sealer.keyId,
    ],
  )
}

/** Keeps a result that somebody uses. */
export async function useFileJob(writer: SubmissionWriter, { id }: FileJob): Promise<void> {
  await writer.run('update submission_job set completed = $2 where id = $1', [id, Date.now()])
}

/** Lets the next request try work again that has ended without a result. Whoever waits for this work is still told why. */
export async function retryFileJob(writer: SubmissionWriter, id: string): Promise<void> {
  await writer.run('update submission_job set revision = -1 where id = $1 and completed is not null', [id])
}

/** Forgets results that nobody has used for a while; the sweep then deletes their content. */
export async function forgetOldJobs(database: Database): Promise<void> {
  const before = Date.now() - RESULT_KEPT
  const old = await database.all<{ id: string; token: string }>(
    'select id, token from submission_job where completed < $1 limit 1000',
    [before],
  )
  for (const { id, token } of old)
    await changeSubmission(database, token, (writer) =>
      writer.run('delete from submission_job where id = $1 and completed < $2', [id, before]),
    )
}
