import { createHash } from 'node:crypto'
import type { Problem } from '../../api/request/problems.ts'
import { actForItself } from '../../foundation/database/caller.ts'
import type { Database } from '../../foundation/database/database.ts'
import type { Sealer } from '../../foundation/database/seal.ts'
import { deleteOwned, deleteOwners } from '../submission/deletion.ts'
import { changeSubmission, type SubmissionName, type SubmissionWriter } from '../submission/lock.ts'
import { assertOpen, cancelled, findState, overtaken } from '../submission/submission.ts'
import {
  ARRIVAL_LEASE,
  CHUNK_BYTES,
  insertChunk,
  insertVersion,
  packChunk,
  type StoredFile,
} from './file-store.ts'

/** Content that is stored, and belongs to nothing yet. */
export interface StoredContent extends StoredFile {
  readonly bytes: number
  readonly sha256: string
}

/**
 * Stores content in chunks while it arrives. Its owner takes it with `keepContent`; what nobody takes is deleted.
 *
 * @throws {Problem} if its data was deleted meanwhile
 */
export async function storeContent(
  database: Database,
  sealer: Sealer,
  owner: SubmissionName,
  content: AsyncIterable<Uint8Array>,
): Promise<StoredContent> {
  const version = await changeSubmission(database, owner.token, (writer) =>
    insertVersion(writer, sealer, owner.token),
  )
  const sealing = sealer.begin()
  const digest = createHash('sha256')
  let [chunks, bytes] = [0, 0]
  /** Shows that the content still arrives. */
  const hold = (work: (writer: SubmissionWriter) => Promise<void> = async () => undefined) =>
    changeSubmission(database, owner.token, async (writer) => {
      const held = await writer.run(
        'update file_version set received = $2, chunks = $3, size = $4 where version = $1 and stored = 0',
        [version, Date.now(), chunks, bytes],
      )
      // Without its owner, a chunk would outlive the purge that took the others.
      if (held === 0) throw await explainLoss(writer, owner)
      await work(writer)
    })
  const timer = setInterval(() => hold().catch(() => undefined), ARRIVAL_LEASE / 4)
  try {
    for await (const chunk of inChunks(content)) {
      bytes += chunk.length
      digest.update(chunk)
      const ordinal = chunks
      const data = await packChunk(sealing, version, ordinal, chunk)
      await database.assertRoom(data.length)
      chunks++
      await hold((writer) => insertChunk(writer, { version, ordinal, data }))
    }
    await hold()
    return { version, chunks, bytes, sha256: digest.digest('hex') }
  } catch (error) {
    await dropContent(database, owner.token, version)
    throw error
  } finally {
    clearInterval(timer)
  }
}

/** The content in chunks of one size, the last of which may be shorter. Each is valid until the next one. */
async function* inChunks(content: AsyncIterable<Uint8Array>): AsyncGenerator<Buffer> {
  // One buffer for all chunks: pieces that are collected first stay in memory until the next collection of garbage.
  const chunk = Buffer.allocUnsafeSlow(CHUNK_BYTES)
  let filled = 0
  for await (const piece of content) {
    const bytes = Buffer.from(piece.buffer, piece.byteOffset, piece.byteLength)
    for (let from = 0; from < bytes.length; ) {
      const copied = bytes.copy(chunk, filled, from)
      from += copied
      filled += copied
      if (filled < CHUNK_BYTES) continue
      yield chunk
      filled = 0
    }
  }
  if (filled > 0) yield chunk.subarray(0, filled)
}

async function explainLoss(writer: SubmissionWriter, owner: SubmissionName): Promise<Problem> {
  const submission = await findState(writer, owner)
  if (submission === undefined) return cancelled()
  assertOpen(submission)
  return overtaken('The upload paused for too long, and its data was deleted.')
}

/** Ends the arrival of content, in the transaction that gives it its owner. */
export async function keepContent(
  writer: SubmissionWriter,
  owner: SubmissionName,
  { version, sha256 }: StoredContent,
): Promise<void> {
  const kept = await writer.run(
    'update file_version set stored = 1, digest = $2 where version = $1 and stored = 0',
    [version, sha256],
  )
  if (kept === 0) throw await explainLoss(writer, owner)
}

/** Deletes content that nobody took, at once: it may have filled the disk. The sweep deletes what is left. */
export async function dropContent(database: Database, token: string, version: string): Promise<void> {
  const only = { condition: 'o.version = $2', values: [version] }
  const drop = async () => {
    // Its rows first, which leaves room for what follows.
    await deleteOwned(database, { owner: 'version', name: version })
    await changeSubmission(database, token, (writer) => deleteOwners(writer, 'version', token, only))
    await database.scrub()
  }
  await actForItself(drop).catch(() => undefined)
}
