import { createReadStream, createWriteStream, rmSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { isSuspended } from '../../api/access/suspensions.ts'
import { CheckFailed, DiskFull, isDiskFull, type Limits, returnFiles } from '../../engines/checking/index.ts'
import { type Database, DatabaseUnavailable, DatabaseUnusable } from '../../foundation/database/database.ts'
import { DecryptionFailed, type Sealer } from '../../foundation/database/seal.ts'
import { UserError } from '../../foundation/faults/user-error.ts'
import { finish, type Job } from '../../foundation/jobs/queue.ts'
import { endJob, type JobContext, type JobHandler, JobLost } from '../../foundation/jobs/worker.ts'
import { makeFolder } from '../../foundation/make-folder.ts'
import { recordActivity } from '../activity/activity.ts'
import { changeSubmission, type SubmissionWriter } from '../findings/change-submission.ts'
import { Refusal } from '../refusal.ts'
import { type Definitions, formOf } from '../rules/definitions.ts'
import {
  assertOpen,
  cancelled,
  type FileState,
  findState,
  type SubmissionState,
  withSubmission,
} from '../submission.ts'
import { nameWorkFolder } from '../work-folder.ts'
import { dropContent, keepContent, type StoredContent, storeContent } from './content.ts'
import { readCurrentFile } from './current-file.ts'
import { endFileJob, type FileJob, findFileJob, startFileJob } from './file-job.ts'
import { runFileOrder } from './file-process.ts'
import { dropVersion, FileGone, readChunks } from './file-store.ts'
import { sealNotes } from './notes.ts'
import type { FileOrder, ReadFile } from './read-upload.ts'
import type { Format } from './scan.ts'
import { assertMatches } from './upload.ts'

export interface FileWorkerOptions {
  readonly database: Database
  readonly sealer: Sealer
  readonly definitions: Definitions
  readonly limits: Partial<Limits>
  /** The most bytes of a file, and of all files in an archive together. */
  readonly maxBytes: number
  /** The folder for temporary files; defaults to the system's. */
  readonly folder?: string | undefined
  /** Reads uploads and converts files; by default in a process of its own. */
  readonly readFiles?: typeof runFileOrder
}

/** The reason that callers see. */
const FAILED =
  'The files could not be read. This is a fault of the service; its operator finds the cause in the log.'

const EXCEEDED =
  'The upload needs too much time, memory or disk space to be read: send its files separately, as CSV.'

/** Reads uploads, and makes marked, corrected and converted copies of files. */
export class DoFileJob implements JobHandler {
  readonly #options: FileWorkerOptions
  readonly #folder: string

  constructor(options: FileWorkerOptions) {
    this.#options = options
    this.#folder = nameWorkFolder(options.folder ?? tmpdir(), 'files')
  }

  async run(job: Job, { signal, describe }: JobContext): Promise<void> {
    const { database, sealer } = this.#options
    const known = await findFileJob(database, sealer, job.subject)
    if (known === undefined || known.completed !== null) return void (await endJob(database, job))
    if (await isSuspended(database, known.eid)) {
      const refused = new Refusal('conflict', 'The organisation was suspended before this work ended.')
      return await this.#refuse(job, known, refused, 'Cancelled')
    }
    await startFileJob(database, known)
    makeFolder(this.#folder, 0o700)
    const folder = await mkdtemp(join(this.#folder, 'job-'))
    try {
      await (known.work === 'upload'
        ? this.#readUpload(job, known, folder, signal)
        : this.#makeCopy(job, known, folder, signal))
      describe({ work: known.work, status: 'Processed' })
    } catch (error) {
      const refused = signal.aborted ? undefined : toRefusal(error, known)
      if (refused === undefined) throw error
      await this.#refuse(job, known, refused, 'Halted')
      describe({ work: known.work, status: 'Halted' })
    } finally {
      await rm(folder, { recursive: true, force: true })
    }
  }

  async fail(job: Job): Promise<void> {
    const { database, sealer } = this.#options
    const known = await findFileJob(database, sealer, job.subject)
    if (known === undefined) return void (await endJob(database, job))
    await this.#refuse(job, known, new Refusal('busy', FAILED), 'UnknownError')
  }

  /** Removes the folder of this worker. */
  stop(): void {
    rmSync(this.#folder, { recursive: true, force: true })
  }

  async #refuse(
    job: Job,
    known: FileJob,
    { kind, message, errorCode, retryAfter }: Refusal,
    status: 'Halted' | 'Cancelled' | 'UnknownError',
  ): Promise<void> {
    const { database, sealer } = this.#options
    await changeSubmission(database, known.token, async (writer) => {
      if (!(await finish(writer, job))) return
      await endFileJob(writer, sealer, known, {
        status,
        refused: { kind, message, errorCode, retryAfter },
      })
      if (known.content !== undefined) await dropVersion(writer, known.eid, known.content.version)
    })
  }

  async #readUpload(job: Job, known: FileJob, folder: string, signal: AbortSignal): Promise<void> {
    const { database, sealer, definitions, maxBytes } = this.#options
    const { content, sent, resource } = known
    const submission = await findState(database, known)
    if (submission === undefined || content === undefined || sent === undefined) throw cancelled()
    assertOpen(submission)
    const path = join(folder, 'content')
    await pipeline(readChunks(database, sealer, content), createWriteStream(path, { mode: 0o600 }), {
      signal,
    })
    const files = await this.#carryOut(
      {
        kind: 'read',
        folder,
        path,
        definition: definitions.get(submission.definition ?? ''),
        only: resource ?? undefined,
        format: sent.format,
        gzip: sent.gzip,
        isContainer: sent.isContainer,
        maxBytes,
      },
      signal,
    )
    const stored: [ReadFile, StoredContent][] = []
    try {
      for (const file of files) stored.push([file, await this.#store(known, file)])
      await withSubmission(database, known, async (writer, now) => {
        signal.throwIfAborted()
        if (!(await finish(writer, job))) throw new JobLost()
        assertOpen(now)
        const replaced: FileState[] = []
        for (const [file, each] of stored)
          replaced.push(await replace(writer, now, sealer, known, file, each))
        await writer.run('update submission set revision = revision + 1 where token = $1', [known.token])
        await endFileJob(writer, sealer, known, { status: 'Processed', files: replaced })
        if (!replaced.some(({ version }) => version === content.version))
          await dropVersion(writer, known.eid, content.version)
      })
    } catch (error) {
      for (const [, { version }] of stored)
        if (version !== content.version) await dropContent(database, known.token, version)
      throw error
    }
  }

  /** Stores a file, unless it is what arrived. */
  async #store(
    { content, ...owner }: FileJob,
    { path, bytes, sha256 }: Pick<ReadFile, 'path' | 'bytes' | 'sha256'>,
  ): Promise<StoredContent> {
    if (content?.sha256 === sha256) return { ...content, bytes }
    return await storeContent(this.#options.database, this.#options.sealer, owner, readFile(path))
  }

  async #makeCopy(job: Job, known: FileJob, folder: string, signal: AbortSignal): Promise<void> {
    const { database, sealer, definitions, limits } = this.#options
    const submission = await findState(database, known)
    if (submission === undefined || submission.ended === 'Cancelled') throw cancelled()
    const { definition: name, returnId, type, revision } = submission
    if (revision !== known.revision) throw new FileGone()
    const definition = definitions.get(name ?? '')
    const of = ({ resource }: FileState) => known.resource === null || known.resource === resource
    const files = []
    for (const file of submission.files.filter(of)) {
      const path = join(folder, `${file.resource}.${file.format}`)
      const content = Readable.from(readCurrentFile(database, sealer, file))
      await pipeline(content, createWriteStream(path, { mode: 0o600 }), { signal })
      files.push({ ...file, name: `${file.resource}.${file.format}`, path })
    }
    const { work } = known
    const request = { definition, files, returnId, complete: type !== 'Indicative' }
    const path =
      work === 'workbook' || work === 'marked' || work === 'corrected'
        ? await returnFiles(request, { form: work, folder, limits, signal })
        : await this.#convert(submission, files, folder, work === 'csv' ? 'csv' : 'ndjson', signal)
    const stored = await storeContent(database, sealer, known, readFile(path))
    try {
      await changeSubmission(database, known.token, async (writer) => {
        signal.throwIfAborted()
        if (!(await finish(writer, job))) throw new JobLost()
        await keepContent(writer, known, stored)
        await endFileJob(writer, sealer, known, { status: 'Processed', version: stored.version })
      })
    } catch (error) {
      await dropContent(database, known.token, stored.version)
      throw error
    }
  }

  /** The path of a file in another format, or in its own. */
  async #convert(
    { definition }: SubmissionState,
    [file]: readonly { readonly resource: string; readonly format: Format; readonly path: string }[],
    folder: string,
    to: Format,
    signal: AbortSignal,
  ): Promise<string> {
    if (file === undefined) throw new FileGone()
    const { resource, format, path } = file
    if (format === to) return path
    const form = formOf(this.#options.definitions.findResource(definition ?? '', resource))
    const [converted] = await this.#carryOut({ kind: 'convert', folder, path, form, to }, signal)
    return converted?.path ?? path
  }

  async #carryOut(order: FileOrder, signal: AbortSignal): Promise<readonly ReadFile[]> {
    const { limits, readFiles = runFileOrder } = this.#options
    const { files, refused } = await readFiles(order, { limits, signal })
    if (refused === undefined) return files
    const { kind, message, errorCode } = refused
    throw new Refusal(kind, message, { ...(errorCode !== undefined && { errorCode }) })
  }
}

/** Makes a file that was read the current one, under the lock of its submission. */
async function replace(
  writer: SubmissionWriter,
  submission: SubmissionState,
  sealer: Sealer,
  { token, eid, received, sent, actor, content }: FileJob,
  { resource, format, records, bytes, sha256, notes: found }: ReadFile,
  stored: StoredContent,
): Promise<FileState> {
  const before = submission.files.find((each) => each.resource === resource)
  if (sent !== undefined) assertMatches(submission, resource, sent)
  if (before !== undefined && before.received > received)
    throw new Refusal('conflict', 'A later upload has replaced the file.', { errorCode: 'DS1' })
  const { version, chunks } = stored
  if (version !== content?.version) await keepContent(writer, { token, eid }, stored)
  const notes = found.length === 0 ? null : sealNotes(sealer, version, found)
  await writer.run(
    `update file_version set resource = $2, format = $3, records = $4, size = $5, digest = $6, received = $7,
       notes = $8, stored = 1
     where version = $1`,
    [version, resource, format, records, bytes, sha256, received, notes],
  )
  await writer.run(
    `insert into submission_file (token, resource, version) values ($1, $2, $3)
     on conflict (token, resource) do update set version = excluded.version`,
    [token, resource, version],
  )
  if (before !== undefined) await dropVersion(writer, eid, before.version)
  await recordActivity(writer, { token, event: 'FileUploaded', actor, file: resource, detail: { records } })
  return {
    resource,
    version,
    format,
    chunks,
    batches: 0,
    records,
    bytes,
    sha256,
    received,
    sealed: sealer.keyId,
    notes,
  }
}

/** Whether the database or a key is the cause: the message names it, and the caller cannot fix it. */
function isOfService(error: unknown): boolean {
  return (
    error instanceof DatabaseUnavailable ||
    error instanceof DatabaseUnusable ||
    error instanceof DecryptionFailed ||
    error instanceof JobLost
  )
}

/** What the caller is to know; `undefined` if another attempt may succeed. */
function toRefusal(error: unknown, { work }: FileJob): Refusal | undefined {
  if (error instanceof Refusal) return error
  if (error instanceof FileGone)
    return new Refusal('conflict', 'A file was replaced or deleted while it was read. Try again.', {
      errorCode: 'DS1',
      retryAfter: 1,
    })
  if (error instanceof DiskFull || isDiskFull(error))
    return new Refusal('busy', 'The service has no disk space left for this work. Try again later.')
  if (isOfService(error) || !(error instanceof UserError)) return undefined
  if (work !== 'upload') return new Refusal('conflict', error.message)
  return new Refusal('invalid', error instanceof CheckFailed ? EXCEEDED : error.message)
}

/** Opens a file only when it is read, and closes it in any case. */
async function* readFile(path: string): AsyncGenerator<Buffer> {
  yield* createReadStream(path) as AsyncIterable<Buffer>
}
