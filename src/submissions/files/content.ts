import { createHash, randomBytes } from 'node:crypto'
import type { Problem } from '../../api/contract/problems.ts'
import type { Database } from '../../foundation/database/database.ts'
import type { Sealer, Sealing } from '../../foundation/database/seal.ts'
import { changeSubmission, type SubmissionWriter } from '../lock.ts'
import { deleteOwners } from '../owned.ts'
import { assertOpen, cancelled, findState, overtaken } from '../submission.ts'
import { ARRIVAL_LEASE, CHUNK_BYTES, insertChunk, packChunk, type StoredFile } from './file-store.ts'

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
  owner: { readonly token: string; readonly eid: string },
  content: AsyncIterable<Uint8Array>,
): Promise<StoredContent> {
  const arriving = new Arriving(database, sealer, owner)
  await arriving.begin()
  const timer = setInterval(() => arriving.hold().catch(() => undefined), ARRIVAL_LEASE / 4)
  try {
    for await (const piece of content) await arriving.add(piece)
    return await arriving.end()
  } catch (error) {
    await dropContent(database, owner.token, arriving.version)
    throw error
  } finally {
    clearInterval(timer)
  }
}

class Arriving {
  readonly version = randomBytes(16).toString('hex')
  readonly #database: Database
  readonly #owner: { readonly token: string; readonly eid: string }
  readonly #keyId: string | null
  readonly #sealing: Sealing
  readonly #digest = createHash('sha256')
  // One buffer for all chunks: pieces that are collected first stay in memory until the next collection of garbage.
  readonly #chunk = Buffer.allocUnsafeSlow(CHUNK_BYTES)
  #filled = 0
  #chunks = 0
  #bytes = 0

  constructor(database: Database, sealer: Sealer, owner: { token: string; eid: string }) {
    this.#database = database
    this.#owner = owner
    this.#keyId = sealer.keyId
    this.#sealing = sealer.begin()
  }

  async begin(): Promise<void> {
    const { token } = this.#owner
    await changeSubmission(this.#database, token, (writer) =>
      writer.run(
        `insert into file_version (version, token, resource, format, chunks, records, size, digest, batches, received, sealed, stored)
         values ($1, $2, '', '', 0, 0, 0, '', 0, $3, $4, 0)`,
        [this.version, token, Date.now(), this.#keyId],
      ),
    )
  }

  async add(piece: Uint8Array): Promise<void> {
    const bytes = Buffer.from(piece.buffer, piece.byteOffset, piece.byteLength)
    this.#bytes += bytes.length
    this.#digest.update(bytes)
    for (let from = 0; from < bytes.length; ) {
      const copied = bytes.copy(this.#chunk, this.#filled, from)
      from += copied
      this.#filled += copied
      if (this.#filled === CHUNK_BYTES) await this.#store()
    }
  }

  /** Shows that the content still arrives. */
  async hold(work: (writer: SubmissionWriter) => Promise<void> = async () => undefined): Promise<void> {
    await changeSubmission(this.#database, this.#owner.token, async (writer) => {
      const held = await writer.run(
        'update file_version set received = $2, chunks = $3, size = $4 where version = $1 and stored = 0',
        [this.version, Date.now(), this.#chunks, this.#bytes],
      )
      // Without its owner, a chunk would outlive the purge that took the others.
      if (held === 0) throw await explainLoss(writer, this.#owner)
      await work(writer)
    })
  }

  async #store(): Promise<void> {
    const content = this.#chunk.subarray(0, this.#filled)
    const ordinal = this.#chunks
    const data = await packChunk(this.#sealing, this.version, ordinal, content)
    this.#filled = 0
    await this.#database.assertRoom(data.length)
    this.#chunks++
    await this.hold((writer) => insertChunk(writer, { version: this.version, ordinal, data }))
  }

  async end(): Promise<StoredContent> {
    if (this.#filled > 0) await this.#store()
    await this.hold()
    const sha256 = this.#digest.digest('hex')
    return { version: this.version, chunks: this.#chunks, bytes: this.#bytes, sha256 }
  }
}

async function explainLoss(
  writer: SubmissionWriter,
  owner: { readonly token: string; readonly eid: string },
): Promise<Problem> {
  const submission = await findState(writer, owner)
  if (submission === undefined) return cancelled()
  assertOpen(submission)
  return overtaken('The upload paused for too long, and its data was deleted.')
}

/** Ends the arrival of content, in the transaction that gives it its owner. */
export async function keepContent(
  writer: SubmissionWriter,
  owner: { readonly token: string; readonly eid: string },
  { version, sha256 }: StoredContent,
): Promise<void> {
  const kept = await writer.run(
    'update file_version set stored = 1, digest = $2 where version = $1 and stored = 0',
    [version, sha256],
  )
  if (kept === 0) throw await explainLoss(writer, owner)
}

/** Deletes content that nobody took. The sweep deletes what is left. */
export async function dropContent(database: Database, token: string, version: string): Promise<void> {
  await deleteOwners(database, token, { versions: [version], runs: [] })
    .then(() => database.scrub())
    .catch(() => undefined)
}
