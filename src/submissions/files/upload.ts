import { createHash, randomBytes, timingSafeEqual } from 'node:crypto'
import { createGunzip } from 'node:zlib'
import { inTurns } from '../../engines/records/index.ts'
import type { Database } from '../../foundation/database/database.ts'
import type { Sealer } from '../../foundation/database/seal.ts'
import type { SubmissionWriter } from '../findings/change-submission.ts'
import { Refusal } from '../refusal.ts'
import { deleteInParts } from '../retention/purge.ts'
import { assertOpen, type FileState, type SubmissionState, withSubmission } from '../submission.ts'
import { type FileForm, knownColumns } from './current-file.ts'
import { CHUNK_BYTES, dropVersion, insertChunk, packChunk } from './file-store.ts'
import { type Format, Scanner } from './scan.ts'

/**
 * How long an upload keeps its claim on the file without extending it, in milliseconds: after a crash, the next upload
 * waits this long at most. An upload that pauses for longer can still finish, unless another change has started.
 */
const WRITER_LEASE = 10_000

export interface Upload {
  readonly token: string
  readonly eid: string
  /** The name of the file in its definition, such as `learners`. */
  readonly resource: string
  readonly format: Format
  readonly form: FileForm
  readonly gzip: boolean
  readonly content: AsyncIterable<Uint8Array>
  /** SHA-256 of the content as sent, from `Content-Digest`. */
  readonly digest?: Uint8Array
  /** The file must have one of these ETags; `*` matches any file. */
  readonly ifMatch?: readonly string[]
  /** The file must have none of these ETags. */
  readonly ifNoneMatch?: readonly string[]
  /** The largest file in bytes, uncompressed. */
  readonly maxBytes: number
}

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
  const version = randomBytes(16).toString('hex')
  await begin(database, sealer, upload, version)
  const change = <T>(work: (writer: SubmissionWriter, submission: SubmissionState) => Promise<T>) =>
    withSubmission(database, upload, work)
  const timer = setInterval(() => {
    change((writer, submission) => holdWriter(writer, submission, upload, version)).catch(() => undefined)
  }, WRITER_LEASE / 3)
  try {
    const stored = await receive(database, sealer, upload, version)
    return await change((writer, submission) => replace(writer, submission, sealer, upload, version, stored))
  } catch (error) {
    await change((writer) => abandon(writer, upload, version))
      .then(() => deleteInParts(database, upload.token, version))
      .then(() => database.scrub())
      // The sweep deletes what is left.
      .catch(() => undefined)
    throw error
  } finally {
    clearInterval(timer)
  }
}

async function begin(database: Database, sealer: Sealer, upload: Upload, version: string): Promise<void> {
  const { token, resource, format } = upload
  await withSubmission(database, upload, async (writer, submission) => {
    assertOpen(submission)
    assertMatches(submission, upload)
    await claimWriter(writer, upload, version, Date.now() + WRITER_LEASE)
    await writer.run(
      `insert into file_version (version, token, resource, format, chunks, records, size, digest, batches, received, sealed, stored)
       values ($1, $2, $3, $4, 0, 0, 0, '', 0, $5, $6, 0)`,
      [version, token, resource, format, Date.now(), sealer.keyId],
    )
  })
}

/** @throws {Refusal} if another change of the file is in progress */
export async function claimWriter(
  writer: SubmissionWriter,
  { token, resource }: { token: string; resource: string },
  name: string | null,
  until: number,
): Promise<void> {
  await writer.run(
    'insert into submission_file (token, resource) values ($1, $2) on conflict (token, resource) do nothing',
    [token, resource],
  )
  const claimed = await writer.run(
    `update submission_file set writer = $3, writer_until = $4
     where token = $1 and resource = $2 and (writer is null or writer_until <= $5)`,
    [token, resource, name, until, Date.now()],
  )
  if (claimed === 1) return
  throw new Refusal('conflict', 'Another change of this file is in progress. Wait until it ends.', {
    errorCode: 'DS1',
    retryAfter: 1,
  })
}

/** @throws {Refusal} if another change has started, or the data of this one was deleted */
async function holdWriter(
  writer: SubmissionWriter,
  submission: SubmissionState,
  upload: Upload,
  version: string,
): Promise<void> {
  const { token, resource } = upload
  const held = await writer.run(
    'update submission_file set writer_until = $4 where token = $1 and resource = $2 and writer = $3',
    [token, resource, version, Date.now() + WRITER_LEASE],
  )
  if (held === 1) return
  assertOpen(submission)
  throw new Refusal(
    'conflict',
    'The upload paused for too long, and its data was deleted or another change of the file has started.',
    { errorCode: 'DS1' },
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

interface Received {
  readonly chunks: number
  readonly records: number
  readonly bytes: number
  readonly sha256: string
}

async function receive(
  database: Database,
  sealer: Sealer,
  upload: Upload,
  version: string,
): Promise<Received> {
  const { format, form, gzip, content, digest, maxBytes } = upload
  const sent = createHash('sha256')
  const plain = createHash('sha256')
  const scanner = new Scanner(format, knownColumns(form))
  const sealing = sealer.begin()
  let bytes = 0
  let chunks = 0
  // One buffer for all chunks: pieces that are collected first stay in memory until the next collection of garbage.
  const chunk = Buffer.allocUnsafeSlow(CHUNK_BYTES)
  let filled = 0
  const store = async () => {
    const data = await packChunk(sealing, version, chunks, chunk.subarray(0, filled))
    filled = 0
    const ordinal = chunks++
    await database.assertRoom(data.length)
    await withSubmission(database, upload, async (writer, submission) => {
      // Without the claim, the chunk would outlive the purge that took it.
      await holdWriter(writer, submission, upload, version)
      await insertChunk(writer, { version, ordinal, kind: 'file', data })
    })
  }
  const hashed = hashAll(content, digest === undefined ? undefined : sent)
  for await (const piece of inTurns(gzip ? gunzip(hashed) : hashed)) {
    bytes += piece.length
    if (bytes > maxBytes) throw tooLarge(maxBytes)
    plain.update(piece)
    scanner.push(piece)
    for (let from = 0; from < piece.length; ) {
      const copied = piece.copy(chunk, filled, from)
      from += copied
      filled += copied
      if (filled === CHUNK_BYTES) await store()
    }
  }
  const records = scanner.end()
  if (digest !== undefined && !isEqual(sent.digest(), digest))
    throw new Refusal('invalid', 'Content-Digest does not match the content that arrived.')
  if (filled > 0) await store()
  return { chunks, records, bytes, sha256: plain.digest('hex') }
}

function tooLarge(maxBytes: number): Refusal {
  return new Refusal('too-large', `The file must be at most ${maxBytes} bytes, uncompressed.`)
}

async function* hashAll(
  content: AsyncIterable<Uint8Array>,
  hash: ReturnType<typeof createHash> | undefined,
): AsyncGenerator<Buffer> {
  for await (const chunk of content) {
    const bytes = Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength)
    hash?.update(bytes)
    yield bytes
  }
}

/** Decompresses on demand, so that a small upload cannot fill the memory. */
async function* gunzip(content: AsyncGenerator<Buffer>): AsyncGenerator<Buffer> {
  const unpack = createGunzip({ chunkSize: 256 * 1024 })
  const closed = once(unpack, 'close')
  let failure: unknown
  const feeding = (async () => {
    try {
      for await (const chunk of content) {
        if (unpack.destroyed) return
        if (!unpack.write(chunk)) await Promise.race([once(unpack, 'drain'), closed])
      }
      unpack.end()
    } catch (error) {
      failure = error
      unpack.destroy(error instanceof Error ? error : undefined)
    }
  })()
  try {
    for await (const chunk of unpack) yield chunk as Buffer
    await feeding
  } catch (error) {
    if (failure !== undefined) throw failure
    if (error instanceof Error && 'code' in error && String(error.code).startsWith('Z_')) {
      throw new Refusal('invalid', 'The gzip content is damaged or truncated.', {
        errorCode: 'GM1',
      })
    }
    throw error
  } finally {
    unpack.destroy()
    await content.return(undefined).catch(() => undefined)
  }
}

function once(emitter: NodeJS.EventEmitter, event: string): Promise<void> {
  return new Promise((resolve) => emitter.once(event, () => resolve()))
}

function isEqual(one: Uint8Array, other: Uint8Array): boolean {
  return one.length === other.length && timingSafeEqual(one, other)
}

async function replace(
  writer: SubmissionWriter,
  submission: SubmissionState,
  sealer: Sealer,
  upload: Upload,
  version: string,
  { chunks, records, bytes, sha256 }: Received,
): Promise<FileState> {
  const { token, resource, format } = upload
  assertOpen(submission)
  assertMatches(submission, upload)
  await holdWriter(writer, submission, upload, version)
  const before = submission.files.find((each) => each.resource === resource)
  const received = Date.now()
  await writer.run(
    `update file_version set chunks = $2, records = $3, size = $4, digest = $5, received = $6, stored = 1
     where version = $1`,
    [version, chunks, records, bytes, sha256, received],
  )
  await writer.run(
    `update submission_file set version = $3, writer = null, writer_until = null where token = $1 and resource = $2`,
    [token, resource, version],
  )
  await writer.run('update submission set revision = revision + 1 where token = $1', [token])
  if (before !== undefined) await dropVersion(writer, upload.eid, before.version)
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
    indexed: null,
  }
}

async function abandon(
  writer: SubmissionWriter,
  { token, resource }: Upload,
  version: string,
): Promise<void> {
  await writer.run(
    `update submission_file set writer = null, writer_until = null
     where token = $1 and resource = $2 and writer = $3`,
    [token, resource, version],
  )
}
