import { createHash } from 'node:crypto'
import type { Actor } from '../../api/access/principal.ts'
import { EMPTY_NOTE } from '../../engines/checking/index.ts'
import { EncodingLook, inTurns } from '../../engines/records/index.ts'
import type { Database } from '../../foundation/database/database.ts'
import type { Sealer, Sealing } from '../../foundation/database/seal.ts'
import { Refusal } from '../refusal.ts'
import { withSubmission } from '../submission.ts'
import { holdWriter } from './claims.ts'
import { type FileForm, knownColumns } from './current-file.ts'
import { CR_NOTE, describeEncoding, describeLoss, unpack, WideText } from './decode.ts'
import { CHUNK_BYTES, emptyChunk, insertChunk, packChunk, readChunks } from './file-store.ts'
import { type Format, Scanner } from './scan.ts'
import { assertDigest, hashAll } from './sent-digest.ts'

export interface Upload {
  readonly token: string
  readonly eid: string
  /** The name of the file in its definition, such as `learners`. */
  readonly resource: string
  /** Its name in messages, such as `archive.zip/learners.csv`; that in its definition by default. */
  readonly name?: string
  readonly format: Format
  readonly form: FileForm
  /** Whether the content is said to be gzip; it may be without being said to be. */
  readonly gzip: boolean
  readonly content: AsyncIterable<Uint8Array>
  /** What is known about it before it is read, as full sentences. */
  readonly notes?: readonly string[]
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

/** Content that is stored, and not yet the file of its submission. */
export interface Received {
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

/** The bytes at the start of a file that show its header, which is compared with that of each file of its definition. */
const JUDGED = 16 * 1024

/**
 * Stores the content in chunks while it arrives, as UTF-8, which every later reader expects.
 *
 * @throws {Refusal} if it is not a file of its kind, which the message names
 */
export async function receive(
  database: Database,
  sealer: Sealer,
  upload: Upload,
  version: string,
): Promise<Received> {
  try {
    return await store(database, sealer, upload, version)
  } catch (error) {
    throw nameFile(error, upload)
  }
}

/** Says which file was refused, if its content is why. */
function nameFile(error: unknown, { resource, name = resource }: Upload): unknown {
  if (!(error instanceof Refusal) || !['invalid', 'unsupported', 'too-large'].includes(error.kind))
    return error
  const { kind, message, errorCode } = error
  return new Refusal(kind, `${name}: ${message}`, { ...(errorCode !== undefined && { errorCode }) })
}

async function store(database: Database, sealer: Sealer, upload: Upload, version: string): Promise<Received> {
  const { form, gzip, content, digest, maxBytes } = upload
  const sent = createHash('sha256')
  const look = new EncodingLook()
  const storing = new Storing(database, sealer, upload, version)
  const hashed = hashAll(content, digest === undefined ? undefined : sent)
  const wide = new WideText(await unpack(hashed, gzip))
  let start = Buffer.alloc(0)
  for await (const piece of inTurns(wide.read())) {
    if (storing.bytes + piece.length > maxBytes) throw tooLarge(maxBytes)
    // UTF-16 is UTF-8 by now, and no text file has this character.
    if (piece.includes(0)) throw notText()
    look.push(piece)
    if (start.length < JUDGED) start = Buffer.concat([start, piece.subarray(0, JUDGED - start.length)])
    await storing.add(piece)
  }
  const stored = await storing.end()
  if (digest !== undefined) assertDigest(sent, digest)
  const known = wide.encoding === undefined ? form.encoding : undefined
  const encoding = look.end(known)
  const lineEnds = look.endsWithCr && form.hasOwnDialect !== true
  const read = wide.encoding ?? encoding
  const wrong = stored.format === 'csv' ? upload.judgeStart?.(start) : undefined
  const notes = [
    ...(upload.notes ?? []),
    ...(wrong === undefined ? [] : [wrong]),
    ...(read === 'UTF-8' ? [] : [describeEncoding(read, form.encoding)]),
    ...(lineEnds ? [CR_NOTE] : []),
  ]
  const { chunks } = stored
  const { loses, ...received } =
    encoding === 'UTF-8' && !lineEnds
      ? { ...stored, loses: false }
      : await convert(database, sealer, upload, { version, chunks, encoding, lineEnds })
  if (loses) notes.push(describeLoss(encoding))
  if (wrong === undefined && received.records === 0) notes.push(EMPTY_NOTE)
  return { ...received, notes }
}

interface Converted extends Omit<Received, 'notes'> {
  /** Whether bytes had no character in an encoding other than UTF-8, in which records with such bytes are faulty. */
  readonly loses: boolean
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
  }: { version: string; chunks: number; encoding: string; lineEnds: boolean },
): Promise<Converted> {
  const storing = new Storing(database, sealer, upload, version, chunks)
  const decoder = new TextDecoder(encoding)
  let loses = false
  const add = async (text: string) => {
    loses ||= encoding !== 'UTF-8' && text.includes('\ufffd')
    const plain = lineEnds ? text.replaceAll('\r', '\n') : text
    for await (const piece of inTurns(from(Buffer.from(plain)))) await storing.add(piece)
  }
  for await (const { content } of readChunks(database, sealer, { version, chunks }))
    await add(decoder.decode(content, { stream: true }))
  await add(decoder.decode())
  const stored = await storing.end()
  const sealing = sealer.begin()
  for (let ordinal = 0; ordinal < chunks; ordinal++) {
    const data = await packChunk(sealing, version, ordinal, Buffer.alloc(0))
    await withSubmission(database, upload, async (writer, submission) => {
      await holdWriter(writer, submission, upload, version)
      await emptyChunk(writer, { version, ordinal, data })
    })
  }
  return { ...stored, loses }
}

async function* from(bytes: Buffer): AsyncGenerator<Buffer> {
  yield bytes
}

function notText(): Refusal {
  return new Refusal(
    'unsupported',
    'The content has NUL characters, so it is not a text file. Send CSV, NDJSON, a ZIP archive or a workbook (XLSX). Nothing was replaced.',
  )
}

function tooLarge(maxBytes: number): Refusal {
  return new Refusal('too-large', `The file must be at most ${maxBytes} bytes, uncompressed.`)
}
