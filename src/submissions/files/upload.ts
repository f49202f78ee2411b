import { randomBytes } from 'node:crypto'
import { SERVICE } from '../../api/access/principal.ts'
import type { Database } from '../../foundation/database/database.ts'
import type { Sealer } from '../../foundation/database/seal.ts'
import { recordActivity } from '../activity/activity.ts'
import type { SubmissionWriter } from '../findings/change-submission.ts'
import { Refusal } from '../refusal.ts'
import { deleteInParts } from '../retention/purge.ts'
import { assertOpen, type FileState, type SubmissionState, withSubmission } from '../submission.ts'
import { claimWriter, holdWriter, releaseWriter, WRITER_LEASE } from './claims.ts'
import { dropVersion } from './file-store.ts'
import { type Received, receive, type Upload } from './receive.ts'

/** The ETag of a file: its digest or, with batches, its version and state. */
export function fileEtag({ sha256, batches, version, chunks }: FileState): string {
  return batches === 0 ? `"${sha256}"` : `"${version}.${chunks}"`
}

/**
 * Stores a file in chunks while it arrives, then replaces the previous file in one transaction. The data of a failed
 * upload is deleted.
 *
 * @throws {Refusal}
 */
export async function storeFile(database: Database, sealer: Sealer, upload: Upload): Promise<FileState> {
  const [file] = await storeFiles(database, sealer, [upload])
  if (file === undefined) throw new Error('the file that was just stored is missing')
  return file
}

/** A version of a file that is being stored. */
interface Draft {
  readonly upload: Upload
  readonly version: string
}

/**
 * Stores files of one submission one after the other, then replaces all previous ones in one transaction: if one is
 * refused, none is stored.
 *
 * @throws {Refusal}
 */
export async function storeFiles(
  database: Database,
  sealer: Sealer,
  uploads: readonly [Upload, ...Upload[]],
): Promise<FileState[]> {
  const drafts = uploads.map((upload) => ({ upload, version: randomBytes(16).toString('hex') }))
  const [submission] = uploads
  const change = <T>(work: (writer: SubmissionWriter, submission: SubmissionState) => Promise<T>) =>
    withSubmission(database, submission, work)
  await change(async (writer, state) => {
    for (const draft of drafts) await begin(writer, state, sealer, draft)
  })
  const timer = setInterval(() => {
    change(async (writer, state) => {
      for (const { upload, version } of drafts) await holdWriter(writer, state, upload, version)
    }).catch(() => undefined)
  }, WRITER_LEASE / 3)
  try {
    const received: [Draft, Received][] = []
    for (const draft of drafts)
      received.push([draft, await receive(database, sealer, draft.upload, draft.version)])
    return await change(async (writer, state) => {
      const files: FileState[] = []
      for (const [draft, content] of received)
        files.push(await replace(writer, state, sealer, draft, content))
      return files
    })
  } catch (error) {
    await abandon(database, drafts)
    throw error
  } finally {
    clearInterval(timer)
  }
}

/** Deletes what has arrived. The sweep deletes what is left. */
async function abandon(database: Database, drafts: readonly Draft[]): Promise<void> {
  for (const { upload, version } of drafts)
    await withSubmission(database, upload, (writer) => releaseWriter(writer, upload, version))
      .then(() => deleteInParts(database, upload.token, version))
      .catch(() => undefined)
  await database.scrub().catch(() => undefined)
}

async function begin(
  writer: SubmissionWriter,
  submission: SubmissionState,
  sealer: Sealer,
  { upload, version }: Draft,
): Promise<void> {
  const { token, resource, format } = upload
  assertOpen(submission)
  assertMatches(submission, upload)
  await claimWriter(writer, upload, version, Date.now() + WRITER_LEASE)
  await writer.run(
    `insert into file_version (version, token, resource, format, chunks, records, size, digest, batches, received, sealed, stored)
     values ($1, $2, $3, $4, 0, 0, 0, '', 0, $5, $6, 0)`,
    [version, token, resource, format, Date.now(), sealer.keyId],
  )
}

function assertMatches({ files }: SubmissionState, { resource, ifMatch, ifNoneMatch = [] }: Upload): void {
  const file = files.find((each) => each.resource === resource)
  const isOne = (etags: readonly string[]) =>
    file !== undefined && (etags.includes('*') || etags.includes(fileEtag(file)))
  if (isOne(ifNoneMatch))
    throw new Refusal('precondition', 'The file already exists in a state that If-None-Match rules out.')
  if (ifMatch === undefined || isOne(ifMatch)) return
  throw new Refusal(
    'precondition',
    file === undefined
      ? 'If-Match contains an ETag, but the file does not exist yet.'
      : 'The file has changed: its ETag is not in If-Match. Read it again before you replace it.',
  )
}

async function replace(
  writer: SubmissionWriter,
  submission: SubmissionState,
  sealer: Sealer,
  { upload, version }: Draft,
  { format, chunks, records, bytes, sha256, notes: found }: Received,
): Promise<FileState> {
  const { token, resource } = upload
  assertOpen(submission)
  assertMatches(submission, upload)
  await holdWriter(writer, submission, upload, version)
  const before = submission.files.find((each) => each.resource === resource)
  const received = Date.now()
  const notes = found.length === 0 ? null : JSON.stringify(found)
  await writer.run(
    `update file_version set chunks = $2, records = $3, size = $4, digest = $5, received = $6, format = $7,
       notes = $8, stored = 1
     where version = $1`,
    [version, chunks, records, bytes, sha256, received, format, notes],
  )
  await writer.run(
    `update submission_file set version = $3, writer = null, writer_until = null where token = $1 and resource = $2`,
    [token, resource, version],
  )
  await writer.run('update submission set revision = revision + 1 where token = $1', [token])
  if (before !== undefined) await dropVersion(writer, upload.eid, before.version)
  const { actor = SERVICE } = upload
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
    indexed: 0,
    notes,
  }
}
