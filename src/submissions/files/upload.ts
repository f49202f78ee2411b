import { createHash, randomBytes, timingSafeEqual } from 'node:crypto'
import { type Actor, SERVICE } from '../../api/access/actor.ts'
import { EncodingLook, inTurns } from '../../engines/records/index.ts'
import type { Database } from '../../foundation/database/database.ts'
import type { Sealer, Sealing } from '../../foundation/database/seal.ts'
import { recordActivity } from '../activity/activity.ts'
import type { SubmissionWriter } from '../findings/change-submission.ts'
import { Refusal } from '../refusal.ts'
import { deleteInParts } from '../retention/purge.ts'
import { assertOpen, type FileState, type SubmissionState, withSubmission } from '../submission.ts'
import { type FileForm, knownColumns } from './current-file.ts'
import { CR_NOTE, describeEncoding, unpack, WideText } from './decode.ts'
import { CHUNK_BYTES, dropVersion, emptyChunk, insertChunk, packChunk, readChunks } from './file-store.ts'
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
  /** Whether the content is said to be gzip; it may be without being said to be. */
  readonly gzip: boolean
  readonly content: AsyncIterable<Uint8Array>
  /** Says what is wrong with the first line of a CSV file. */
  readonly judgeStart?: (start: Buffer) => string | undefined
  /** SHA-256 of the content as sent, from `Content-Digest`. */
  readonly digest?: Uint8Array
  /** The file must have one of these ETags; `*` matches any file. */
  readonly ifMatch?: readonly string[]
  /** The file must have none of these ETags. */
  readonly ifNoneMatch?: readonly string[]
  /** The largest file in bytes, uncompressed. */
  readonly maxBytes: number
  readonly actor?: Actor
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
export async function storeFile(
  database: Database,
  sealer: Sealer,
  upload: Upload,
): Promise<FileState & { readonly notes?: readonly string[] }> {
  const version = randomBytes(16).toString('hex')
  await begin(database, sealer, upload, version)
  const change = <T>(work: (writer: SubmissionWriter, submission: SubmissionState) => Promise<T>) =>
    withSubmission(database, upload, work)
  const timer = setInterval(() => {
    change((writer, submission) => holdWriter(writer, submission, upload, version)).catch(() => undefined)
  }, WRITER_LEASE / 3)
  try {
    const stored = await receive(database, sealer, upload, version)
    const file = await change((writer, submission) =>
      replace(writer, submission, sealer, upload, version, stored),
    )
    return { ...file, ...(stored.notes.length > 0 && { notes: stored.notes }) }
  } catch (given) {
    const error = nameFile(given, upload)
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

/** Says which file was refused, if its content is why. */
function nameFile(error: unknown, { resource }: Upload): unknown {
  if (!(error instanceof Refusal) || !['invalid', 'unsupported', 'too-large'].includes(error.kind))
    return error
  const { kind, message, errorCode } = error
  return new Refusal(kind, `${resource}: ${message}`, { ...(errorCode !== undefined && { errorCode }) })
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
  readonly format: Format
  readonly chunks: number
  readonly records: number
  readonly bytes: number
  readonly sha256: string
  /** What was guessed about the file, as full sentences. */
  readonly notes: readonly string[]
}

/** Content that is being stored in chunks: its records are counted, and its digest is taken. */
class Storing {
  readonly #database: Database
  readonly #upload: Upload
  readonly #version: string
  readonly #sealing: Sealing
  readonly #scanner: Scanner
  readonly #digest = createHash('sha256')
  // One buffer for all chunks: pieces that are collected first stay in memory until the next collection of garbage.
  readonly #chunk = Buffer.allocUnsafeSlow(CHUNK_BYTES)
  #filled = 0
  #chunks: number
  #bytes = 0

  /** @param chunks those that the version has already */
  constructor(database: Database, sealer: Sealer, upload: Upload, version: string, chunks = 0) {
    this.#database = database
    this.#upload = upload
    this.#version = version
    this.#sealing = sealer.begin()
    this.#scanner = new Scanner(upload.format, knownColumns(upload.form))
    this.#chunks = chunks
  }

  get bytes(): number {
    return this.#bytes
  }

  async add(piece: Buffer): Promise<void> {
    this.#bytes += piece.length
    this.#digest.update(piece)
    this.#scanner.push(piece)
    for (let from = 0; from < piece.length; ) {
      const copied = piece.copy(this.#chunk, this.#filled, from)
      from += copied
      this.#filled += copied
      if (this.#filled === CHUNK_BYTES) await this.#store()
    }
  }

  async #store(): Promise<void> {
    const data = await packChunk(
      this.#sealing,
      this.#version,
      this.#chunks,
      this.#chunk.subarray(0, this.#filled),
    )
    this.#filled = 0
    const ordinal = this.#chunks++
    await this.#database.assertRoom(data.length)
    await withSubmission(this.#database, this.#upload, async (writer, submission) => {
      // Without the claim, the chunk would outlive the purge that took it.
      await holdWriter(writer, submission, this.#upload, this.#version)
      await insertChunk(writer, { version: this.#version, ordinal, kind: 'file', data })
    })
  }

  async end(): Promise<Omit<Received, 'notes'>> {
    const records = this.#scanner.end()
    if (this.#filled > 0) await this.#store()
    const { format } = this.#scanner
    return {
      format,
      chunks: this.#chunks,
      records,
      bytes: this.#bytes,
      sha256: this.#digest.digest('hex'),
    }
  }
}

/** The bytes at the start of a file that show its header. */
const JUDGED = 64 * 1024

/** Stores the content as UTF-8, which every later reader expects. */
async function receive(
  database: Database,
  sealer: Sealer,
  upload: Upload,
  version: string,
): Promise<Received> {
  const { form, gzip, content, digest, maxBytes } = upload
  const sent = createHash('sha256')
  const look = new EncodingLook()
  const storing = new Storing(database, sealer, upload, version)
  const hashed = hashAll(content, digest === undefined ? undefined : sent)
  const wide = new WideText(await unpack(hashed, gzip))
  let start = Buffer.alloc(0)
  for await (const piece of inTurns(wide.read())) {
    if (storing.bytes + piece.length > maxBytes) throw tooLarge(maxBytes)
    look.push(piece)
    if (start.length < JUDGED) start = Buffer.concat([start, piece.subarray(0, JUDGED - start.length)])
    await storing.add(piece)
  }
  const stored = await storing.end()
  if (digest !== undefined && !isEqual(sent.digest(), digest))
    throw new Refusal('invalid', 'Content-Digest does not match the content that arrived.')
  const { encoding, endsWithCr } = look.end()
  const lineEnds = endsWithCr && form.hasOwnDialect !== true
  const read = wide.encoding ?? encoding
  const wrong = stored.format === 'csv' ? upload.judgeStart?.(start) : undefined
  const notes = [
    ...(wrong === undefined ? [] : [wrong]),
    ...(read === 'UTF-8' ? [] : [describeEncoding(read)]),
    ...(lineEnds ? [CR_NOTE] : []),
  ]
  if (encoding === 'UTF-8' && !lineEnds) return { ...stored, notes }
  const { chunks } = stored
  const converted = await convert(database, sealer, upload, { version, chunks, encoding, lineEnds })
  return { ...converted, notes }
}

/** Stores the content again behind itself, converted, and empties the chunks that it was read from. */
async function convert(
  database: Database,
  sealer: Sealer,
  upload: Upload,
  {
    version,
    chunks,
    encoding,
    lineEnds,
  }: { version: string; chunks: number; encoding: 'UTF-8' | 'Windows-1252'; lineEnds: boolean },
): Promise<Omit<Received, 'notes'>> {
  const storing = new Storing(database, sealer, upload, version, chunks)
  const decoder = new TextDecoder(encoding)
  for await (const { content } of readChunks(database, sealer, { version, chunks })) {
    const text = decoder.decode(content, { stream: true })
    const plain = lineEnds ? text.replaceAll('\r', '\n') : text
    for await (const piece of inTurns(from(Buffer.from(plain)))) await storing.add(piece)
  }
  const stored = await storing.end()
  const sealing = sealer.begin()
  for (let ordinal = 0; ordinal < chunks; ordinal++) {
    const data = await packChunk(sealing, version, ordinal, Buffer.alloc(0))
    await withSubmission(database, upload, async (writer, submission) => {
      await holdWriter(writer, submission, upload, version)
      await emptyChunk(writer, { version, ordinal, data })
    })
  }
  return stored
}

async function* from(bytes: Buffer): AsyncGenerator<Buffer> {
  yield bytes
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

function isEqual(one: Uint8Array, other: Uint8Array): boolean {
  return one.length === other.length && timingSafeEqual(one, other)
}

async function replace(
  writer: SubmissionWriter,
  submission: SubmissionState,
  sealer: Sealer,
  upload: Upload,
  version: string,
  { format, chunks, records, bytes, sha256 }: Received,
): Promise<FileState> {
  const { token, resource } = upload
  assertOpen(submission)
  assertMatches(submission, upload)
  await holdWriter(writer, submission, upload, version)
  const before = submission.files.find((each) => each.resource === resource)
  const received = Date.now()
  await writer.run(
    `update file_version set chunks = $2, records = $3, size = $4, digest = $5, received = $6, format = $7, stored = 1
     where version = $1`,
    [version, chunks, records, bytes, sha256, received, format],
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
