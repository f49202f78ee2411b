import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { findValidKey } from '../../api/access/keys.ts'
import { isKey } from '../../api/access/principal.ts'
import { isSuspended } from '../../api/access/suspensions.ts'
import { Problem, unavailable } from '../../api/request/problems.ts'
import {
  CheckFailed,
  checkFiles,
  DiskFull,
  isDiskFull,
  type Limits,
  type ReturnedForm,
  type ReturnOptions,
  repairFiles,
  returnFiles,
} from '../../engines/checking/index.ts'
import { type Database, DatabaseUnavailable, DatabaseUnusable } from '../../foundation/database/database.ts'
import { DecryptionFailed, type Sealer } from '../../foundation/database/seal.ts'
import { UserError } from '../../foundation/faults/user-error.ts'
import { finish, type Job } from '../../foundation/jobs/queue.ts'
import { endJob, type JobContext, type JobHandler, JobLost } from '../../foundation/jobs/worker.ts'
import { makeFolder } from '../../foundation/make-folder.ts'
import { type Definitions, formOf } from '../rules/definitions.ts'
import { recordActivity } from '../submission/activity.ts'
import { changeSubmission, type SubmissionWriter } from '../submission/lock.ts'
import { sealNotes } from '../submission/notes.ts'
import { toProblem, toRefusal } from '../submission/refusal.ts'
import {
  assertOpen,
  cancelled,
  type FileState,
  findState,
  listFiles,
  overtaken,
  type SubmissionState,
  withSubmission,
} from '../submission/submission.ts'
import { dropContent, keepContent, type StoredContent, storeContent } from './content.ts'
import { readCurrentFile } from './current-file.ts'
import { readFile, writeNew } from './disk-file.ts'
import {
  assertAllRead,
  endFileJob,
  type FileJob,
  type FileWorkResult,
  findFileJob,
  startFileJob,
} from './file-job.ts'
import { runFileOrder } from './file-process.ts'
import { FileGone, nameFile, readChunks, useVersion } from './file-store.ts'
import type { FileOrder, ReadFile } from './read-upload.ts'
import { type RepairList, toRepairList } from './repair-list.ts'
import type { Format } from './scan.ts'
import { noteChange } from './undo.ts'
import { assertMatches } from './upload.ts'

export interface FileWorkerOptions {
  readonly database: Database
  readonly sealer: Sealer
  readonly definitions: Definitions
  readonly limits: Partial<Limits>
  /** The most bytes of a file, and of all files in an archive together. */
  readonly maxBytes: number
  /** The folder for temporary files; by default the system's. */
  readonly folder?: string | undefined
  /** Reads uploads and converts files; by default in a process of its own. */
  readonly readFiles?: typeof runFileOrder
  /** Checks repaired files; by default in a process of its own. */
  readonly check?: typeof checkFiles
  /** Writes repaired and marked copies; by default in a process of its own. */
  readonly write?: ReturnOptions['write']
}

/** The reason that callers see. */
const FAILED =
  'The files could not be read. This is a fault of the service; its operator finds the cause in the log.'

const EXCEEDED =
  'The upload needs too much time, memory or disk space to be read: send its files separately, as CSV.'

/** Work that is done except for its end. */
interface Done {
  /** What it has stored, and belongs to nothing yet. */
  readonly stored: readonly StoredContent[]
  /** Takes what was stored, in the transaction that ends the job; returns the result. */
  end(writer: SubmissionWriter, submission: SubmissionState): Promise<FileWorkResult>
}

/** Reads uploads, repairs files, and makes marked, corrected and converted copies of them. */
export class DoFileJob implements JobHandler {
  readonly #options: FileWorkerOptions

  constructor(options: FileWorkerOptions) {
    this.#options = options
  }

  async run(job: Job, { signal, describe }: JobContext): Promise<void> {
    const { database, sealer, folder: parent = tmpdir() } = this.#options
    const known = await findFileJob(database, sealer, job.subject)
    if (known === undefined || known.completed !== null) return void (await endJob(database, job))
    if (await isSuspended(database, known.eid)) {
      const refused = new Problem('conflict', 'The organisation was suspended before this work ended.')
      return await this.#refuse(job, known, refused, 'Cancelled')
    }
    await startFileJob(database, known)
    makeFolder(parent, 0o700)
    const folder = await mkdtemp(join(parent, 'job-'))
    try {
      await this.#finish(job, known, signal, await this.#do(known, folder, signal))
      describe({ work: known.work, status: 'Processed' })
    } catch (error) {
      const refused = signal.aborted ? undefined : explain(error, known)
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
    await this.#refuse(job, known, unavailable(FAILED, 30), 'UnknownError')
  }

  #do(known: FileJob, folder: string, signal: AbortSignal): Promise<Done> {
    const work = {
      upload: this.#readUpload,
      repair: this.#repair,
      preview: this.#preview,
      workbook: this.#return,
      marked: this.#return,
      corrected: this.#return,
      csv: this.#convert,
      ndjson: this.#convert,
    }[known.work]
    return work.call(this, known, folder, signal)
  }

  async #finish(job: Job, known: FileJob, signal: AbortSignal, { stored, end }: Done): Promise<void> {
    const { database, sealer } = this.#options
    try {
      await withSubmission(database, known, async (writer, submission) => {
        signal.throwIfAborted()
        if (!(await finish(writer, job))) throw new JobLost()
        await endFileJob(writer, sealer, known, { status: 'Processed', ...(await end(writer, submission)) })
      })
    } catch (error) {
      for (const { version } of stored)
        if (version !== known.content?.version) await dropContent(database, known.token, version)
      throw error
    }
  }

  async #refuse(
    job: Job,
    known: FileJob,
    problem: Problem,
    status: 'Halted' | 'Cancelled' | 'UnknownError',
  ): Promise<void> {
    const { database, sealer } = this.#options
    await changeSubmission(database, known.token, async (writer) => {
      if (!(await finish(writer, job))) return
      await endFileJob(writer, sealer, known, { status, refused: toRefusal(problem) })
    })
  }

  async #readUpload(known: FileJob, folder: string, signal: AbortSignal): Promise<Done> {
    const { database, sealer, definitions, maxBytes } = this.#options
    const { content, sent, resource, token, actor } = known
    const submission = await findState(database, known)
    if (submission === undefined || content === undefined || sent === undefined) throw cancelled()
    assertOpen(submission)
    const path = join(folder, 'content')
    await writeNew(path, readChunks(database, sealer, content), { signal })
    const definition = definitions.get(submission.definition ?? '')
    const { format, gzip, isContainer } = sent
    const kind = { only: resource ?? undefined, format, gzip, isContainer }
    const order = { kind: 'read', folder, path, definition, maxBytes, ...kind } as const
    const files = await this.#storeAll(known, await this.#carryOut(order, signal))
    return {
      stored: files.map(({ stored }) => stored),
      end: async (writer, now) => {
        const replaced = await replaceAll(writer, now, sealer, known, files)
        for (const { resource: file, records } of replaced)
          await recordActivity(writer, { token, event: 'FileUploaded', actor, file, detail: { records } })
        return { files: replaced }
      },
    }
  }

  /** Repairs the current files. Those before are kept until the files change, or the submission is submitted. */
  async #repair(known: FileJob, folder: string, signal: AbortSignal): Promise<Done> {
    const { sealer, limits, maxBytes, write } = this.#options
    const { token, actor } = known
    const { submission, request } = await this.#prepare(known, folder, signal)
    assertOpen(submission)
    const repaired = await repairFiles(request, { folder, limits, signal, write })
    const read: ReadFile[] = []
    for (const file of repaired.files) {
      const { resource } = file
      if (request.files.some(({ path }) => path === file.path)) continue
      const own = join(folder, `${resource}.read`)
      makeFolder(own, 0o700)
      const [{ path }, { definition }] = [file, request]
      const kind = { only: resource, format: 'csv', gzip: false, isContainer: false } as const
      const order = { kind: 'read', folder: own, path, definition, maxBytes, ...kind } as const
      read.push(...(await this.#carryOut(order, signal)))
    }
    const files = await this.#storeAll(known, read)
    const list = toRepairList(repaired, request.files)
    const listed = await this.#storeList(known, list)
    return {
      stored: [...files.map(({ stored }) => stored), listed],
      end: async (writer, now) => {
        assertOpen(now)
        await assertRepairable(writer, known, now)
        const replaced = await replaceAll(writer, now, sealer, known, files)
        for (const { resource, records, sha256 } of replaced) {
          const before = now.files.find((each) => each.resource === resource)
          await writer.run('update submission_file set previous = $3 where token = $1 and resource = $2', [
            token,
            resource,
            before?.version ?? null,
          ])
          const groups = list.groups.filter(({ file }) => file === resource)
          const changes = groups.reduce((sum, { count }) => sum + count, 0)
          const detail = { records, changes, digestBefore: before?.sha256, digestAfter: sha256 }
          await recordActivity(writer, { token, event: 'FileRepaired', actor, file: resource, detail })
        }
        await keepContent(writer, known, listed)
        return { files: replaced, changes: list.changes, version: listed.version }
      },
    }
  }

  /** Lists what a repair would change, and which causes are left after it. */
  async #preview(known: FileJob, folder: string, signal: AbortSignal): Promise<Done> {
    const { limits, check = checkFiles, write } = this.#options
    const { request } = await this.#prepare(known, folder, signal)
    const repaired = await repairFiles(request, { folder, limits, signal, write })
    const options = { limits, temporary: folder, signal }
    const { summary, dispose } = await check({ ...request, files: repaired.files }, options)
    await dispose()
    const causes = summary.causes.map(({ key, codes }) => ({ key, codes }))
    return copy(known, await this.#storeList(known, { ...toRepairList(repaired, request.files), causes }))
  }

  async #return(known: FileJob, folder: string, signal: AbortSignal): Promise<Done> {
    const { database, sealer, limits, write } = this.#options
    const { request } = await this.#prepare(known, folder, signal)
    const form = known.work as ReturnedForm
    const path = await returnFiles(request, { form, folder, limits, signal, write })
    return copy(known, await storeContent(database, sealer, known, readFile(path)))
  }

  /** Renders a file in another format, or in its own. */
  async #convert(known: FileJob, folder: string, signal: AbortSignal): Promise<Done> {
    const { database, sealer } = this.#options
    const { request } = await this.#prepare(known, folder, signal)
    const [file] = request.files
    if (file === undefined) throw new FileGone()
    const { resource, format, path } = file
    const to: Format = known.work === 'csv' ? 'csv' : 'ndjson'
    const form = formOf(request.definition.resources.find(({ name }) => name === resource))
    const order = { kind: 'convert', folder, path, form, to } as const
    const [converted] = format === to ? [file] : await this.#carryOut(order, signal)
    return copy(known, await storeContent(database, sealer, known, readFile(converted?.path ?? path)))
  }

  async #storeList(known: FileJob, list: RepairList): Promise<StoredContent> {
    const { database, sealer } = this.#options
    const content = Readable.from([Buffer.from(JSON.stringify(list))])
    return await storeContent(database, sealer, known, content)
  }

  /** Stores files; what arrived is stored already. */
  async #storeAll({ content, ...owner }: FileJob, files: readonly ReadFile[]): Promise<NewFile[]> {
    const { database, sealer } = this.#options
    const all: NewFile[] = []
    for (const file of files) {
      const { path, bytes, sha256 } = file
      const isKept = content?.sha256 === sha256
      const stored = isKept
        ? { ...content, bytes }
        : await storeContent(database, sealer, owner, readFile(path))
      all.push({ ...file, stored })
    }
    return all
  }

  /** Writes the files that work is about into its folder. */
  async #prepare(known: FileJob, folder: string, signal: AbortSignal) {
    const { database, sealer, definitions } = this.#options
    const submission = await findState(database, known)
    if (submission === undefined || submission.ended === 'Cancelled') throw cancelled()
    const { definition: name, returnId, type, revision } = submission
    if (revision !== known.revision) throw new FileGone()
    const definition = definitions.get(name ?? '')
    const of = ({ resource }: FileState) => known.resource === null || known.resource === resource
    const files = []
    for (const file of submission.files.filter(of)) {
      const path = join(folder, nameFile(file))
      await writeNew(path, readCurrentFile(database, sealer, file), { signal })
      files.push({ ...file, name: nameFile(file), path })
    }
    return { submission, request: { definition, files, returnId, complete: type !== 'Indicative' } }
  }

  async #carryOut(order: FileOrder, signal: AbortSignal): Promise<readonly ReadFile[]> {
    const { limits, readFiles = runFileOrder } = this.#options
    const { files, refused } = await readFiles(order, { limits, signal })
    if (refused !== undefined) throw toProblem(refused)
    return files
  }
}

/** A file that was read, and is stored. */
interface NewFile extends ReadFile {
  readonly stored: StoredContent
}

/** The end of work whose result is a copy. */
function copy(owner: FileJob, stored: StoredContent): Done {
  return {
    stored: [stored],
    end: async (writer) => {
      await keepContent(writer, owner, stored)
      return { version: stored.version }
    },
  }
}

/** @throws {Problem} if the files have changed since a repair was requested */
export async function assertRepairable(
  writer: SubmissionWriter,
  { id, token, revision }: FileJob,
  now: SubmissionState,
): Promise<void> {
  if (now.revision !== revision) throw new FileGone()
  await assertAllRead(writer, token, id)
}

/** @throws {Problem} if who requested work may no longer change files */
async function assertAllowed(writer: SubmissionWriter, { eid, actor }: FileJob): Promise<void> {
  const isAllowed =
    !(await isSuspended(writer, eid)) &&
    (!isKey(actor) || (await findValidKey(writer, actor.id, Date.now())) !== undefined)
  if (!isAllowed)
    throw new Problem('conflict', 'The credential ended before this work did. Nothing was changed.')
}

/** Makes files that were read the current ones, under the lock of their submission, and returns them in their order. */
async function replaceAll(
  writer: SubmissionWriter,
  submission: SubmissionState,
  sealer: Sealer,
  known: FileJob,
  files: readonly NewFile[],
): Promise<FileState[]> {
  const { token, eid, received, sent, content } = known
  assertOpen(submission)
  await assertAllowed(writer, known)
  if (files.length > 0) await noteChange(writer, token)
  for (const { resource, format, records, bytes, sha256, notes: found, stored } of files) {
    const before = submission.files.find((each) => each.resource === resource)
    if (sent !== undefined) assertMatches(submission, resource, sent)
    if (before !== undefined && before.received > received)
      throw overtaken('A later upload has replaced the file.')
    const { version } = stored
    if (version !== content?.version) await keepContent(writer, { token, eid }, stored)
    const notes = found.length === 0 ? null : sealNotes(sealer, version, found)
    await writer.run(
      `update file_version set resource = $2, format = $3, records = $4, size = $5, digest = $6, received = $7,
         notes = $8, stored = 1
       where version = $1`,
      [version, resource, format, records, bytes, sha256, received, notes],
    )
    await useVersion(writer, { token, resource, version })
  }
  const current = await listFiles(writer, token)
  return files.flatMap(({ resource }) => current.filter((each) => each.resource === resource))
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
function explain(error: unknown, { work }: FileJob): Problem | undefined {
  if (error instanceof Problem) return error
  if (error instanceof FileGone)
    return overtaken('A file was replaced or deleted while it was read. Try again.', { 'retry-after': '1' })
  if (error instanceof DiskFull || isDiskFull(error))
    return unavailable('The service has no disk space left for this work. Try again later.', 30)
  if (isOfService(error) || !(error instanceof UserError)) return undefined
  if (work !== 'upload') return new Problem('conflict', error.message)
  return new Problem('invalid-body', error instanceof CheckFailed ? EXCEEDED : error.message)
}
