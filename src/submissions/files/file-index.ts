import { Turns } from '../../engines/records/index.ts'
import type { Database } from '../../foundation/database/database.ts'
import type { Sealer } from '../../foundation/database/seal.ts'
import { changeSubmission, type SubmissionWriter } from '../findings/change-submission.ts'
import { assertOpen, type FileState, withSubmission } from '../submission.ts'
import { type FileForm, parseOperations, readLocalIds } from './current-file.ts'
import { FileGone, readChunks } from './file-store.ts'

/** Ids that are indexed, or rows that are deleted, in one transaction: few enough not to block others for long. */
const STEP = 5_000

/** The file is indexed. Any other number is that of the steps that are done. */
export const COMPLETE = -1

/** A file of a submission, and what its definition says about it. */
export interface OwnFile {
  readonly token: string
  readonly eid: string
  readonly resource: string
  readonly form: FileForm
}

/** Whether batches can look up which records of the file they replace. */
export function isIndexed({ chunks, indexed }: FileState): boolean {
  return chunks === 0 || indexed === COMPLETE
}

const building = new Map<string, Promise<void>>()

/**
 * Indexes the records of a file, so that batches know which records they replace. Each step is a
 * transaction of its own and stores how far the index is: others write in between, and after a crash, or beside another
 * process, the next step continues there. An uploaded id may be as long as a record, and a file has any number of them:
 * memory holds the hashes of one step.
 *
 * @throws {FileGone} if the file was replaced or deleted meanwhile
 * @throws {Refusal} if the submission can no longer be changed
 */
export function indexFile(
  database: Database,
  sealer: Sealer,
  owner: OwnFile,
  file: FileState,
): Promise<void> {
  const { version } = file
  let pending = building.get(version)
  if (pending === undefined) {
    pending = build(database, sealer, owner, file).finally(() => building.delete(version))
    building.set(version, pending)
  }
  return pending
}

async function build(database: Database, sealer: Sealer, owner: OwnFile, file: FileState): Promise<void> {
  const steps = new Steps(database, owner, file)
  let hashes: string[] = []
  for await (const localIds of readLocalIds(database, sealer, file, owner.form)) {
    for (const localId of localIds) {
      if (hashes.push(hashLocalId(sealer, file, localId)) < STEP) continue
      const some = hashes
      await steps.take((writer) => add(writer, file, some))
      hashes = []
    }
  }
  await steps.take((writer) => add(writer, file, hashes))
  const turns = new Turns()
  for await (const { content } of readChunks(database, sealer, file, 'batch')) {
    const stays = new Map<string, boolean>()
    for (const { operation, bytes } of parseOperations(content)) {
      stays.set(hashLocalId(sealer, file, operation.localId), operation.record !== undefined)
      await turns.spend(bytes)
    }
    await steps.take(async (writer) => {
      await writer.run(
        `delete from file_record
         where version = $1 and local_id in (select value from ${writer.dialect.texts('$2', 'changed')})`,
        [file.version, JSON.stringify([...stays.keys()])],
      )
      await add(
        writer,
        file,
        [...stays].flatMap(([hash, isLeft]) => (isLeft ? [hash] : [])),
      )
    })
  }
  await steps.end()
}

/** The steps of an index, of which some may be done. */
class Steps {
  readonly #database: Database
  readonly #owner: OwnFile
  readonly #file: FileState
  #next = 0
  #done: number

  constructor(database: Database, owner: OwnFile, file: FileState) {
    this.#database = database
    this.#owner = owner
    this.#file = file
    this.#done = file.indexed
  }

  /** Does the next step unless it is done. */
  async take(work: (writer: SubmissionWriter) => Promise<void>): Promise<void> {
    if (this.#done === this.#next) this.#done = await this.#advance(work, this.#next + 1)
    this.#next++
  }

  async end(): Promise<void> {
    if (this.#done === this.#next) await this.#advance(async () => undefined, COMPLETE)
  }

  /** Returns how many steps are done afterwards, of which others may have done some. */
  async #advance(work: (writer: SubmissionWriter) => Promise<void>, to: number): Promise<number> {
    const { version } = this.#file
    return await withSubmission(this.#database, this.#owner, async (writer, submission) => {
      assertOpen(submission)
      const now = submission.files.find(({ resource }) => resource === this.#owner.resource)
      if (now?.version !== version) throw new FileGone()
      const done = now.indexed
      if (done === COMPLETE) return Number.POSITIVE_INFINITY
      if (done !== this.#next) return done
      await work(writer)
      await writer.run('update file_version set indexed = $2 where version = $1', [version, to])
      return to === COMPLETE ? Number.POSITIVE_INFINITY : to
    })
  }
}

/** Deletes the index of a file that no submission has any more, in short transactions. */
export async function deleteIndex(database: Database, token: string, version: string): Promise<void> {
  for (let deleted = 1; deleted > 0; ) {
    deleted = await changeSubmission(database, token, (writer) =>
      writer.run(
        `delete from file_record where version = $1 and local_id in
           (select local_id from file_record where version = $1 order by local_id limit ${STEP})`,
        [version],
      ),
    )
  }
}

async function add(
  writer: SubmissionWriter,
  { version }: FileState,
  hashes: readonly string[],
): Promise<void> {
  if (hashes.length === 0) return
  await writer.run(
    `insert into file_record (version, local_id, copies)
     select cast($1 as text), value, count(*) from ${writer.dialect.texts('$2', 'read')} where true group by value
     on conflict (version, local_id) do update set copies = file_record.copies + excluded.copies`,
    [version, JSON.stringify(hashes)],
  )
}

/** Equal for equal ids within a file, and readable only without encryption. */
export function hashLocalId(sealer: Sealer, { version, sealed }: FileState, localId: string): string {
  return sealer.hash(sealed, localId, `record/${version}`)
}
