import { randomBytes } from 'node:crypto'
import { promisify } from 'node:util'
import { constants, zstdCompress, zstdDecompress } from 'node:zlib'
import { continueAfter } from '../../api/contract/results.ts'
import type { Reader } from '../../foundation/database/database.ts'
import type { Sealer, Sealing } from '../../foundation/database/seal.ts'
import type { SubmissionWriter } from '../submission/lock.ts'

/** The size of a stored chunk in bytes. */
export const CHUNK_BYTES = 1024 * 1024

const compress = promisify(zstdCompress)
const decompress = promisify(zstdDecompress)

/**
 * How long content that arrives may pause, in milliseconds: after that, it counts as abandoned and is deleted. While
 * its process lives, it does not pause.
 */
export const ARRIVAL_LEASE = 60_000

/** The name of a file in findings. */
export const nameFile = ({ resource, format }: { resource: string; format: string }): string =>
  `${resource}.${format}`

/** Compresses and encrypts a chunk for storage. */
export async function packChunk(
  sealing: Sealing,
  version: string,
  ordinal: number,
  content: Buffer,
): Promise<Buffer> {
  const packed = await compress(content, { params: { [constants.ZSTD_c_compressionLevel]: 1 } })
  return sealing.seal(packed, chunkContext(version, ordinal))
}

export async function insertChunk(
  writer: SubmissionWriter,
  { version, ordinal, data }: { version: string; ordinal: number; data: Buffer },
): Promise<void> {
  await writer.run('insert into file_chunk (version, ordinal, data) values ($1, $2, $3)', [
    version,
    ordinal,
    data,
  ])
}

/**
 * Begins a version without content, and returns its name.
 *
 * @param built the file and the format of a version that is built from batches; what arrives has none yet
 */
export async function insertVersion(
  writer: SubmissionWriter,
  sealer: Sealer,
  token: string,
  built?: { readonly resource: string; readonly format: string },
): Promise<string> {
  const version = randomBytes(16).toString('hex')
  await writer.run(
    `insert into file_version (version, token, resource, format, chunks, records, size, digest, batches, received, sealed, stored)
     values ($1, $2, $3, $4, 0, 0, 0, '', 0, $5, $6, $7)`,
    [
      ...[version, token, built?.resource ?? '', built?.format ?? ''],
      ...[Date.now(), sealer.keyId, built === undefined ? 0 : 1],
    ],
  )
  return version
}

/** Makes a version the current one of a file. */
export async function useVersion(
  writer: SubmissionWriter,
  { token, resource, version }: { token: string; resource: string; version: string },
): Promise<void> {
  await writer.run(
    `insert into submission_file (token, resource, version) values ($1, $2, $3)
     on conflict (token, resource) do update set version = excluded.version`,
    [token, resource, version],
  )
}

/** A stored file, or the part of it that a run covers. */
export interface StoredFile {
  readonly version: string
  readonly chunks: number
}

/** The file was replaced or deleted while it was read. */
export class FileGone extends Error {}

/**
 * Reads the chunks of a file in order, one at a time.
 *
 * @throws {FileGone}
 */
export async function* readChunks(
  reader: Reader,
  sealer: Sealer,
  { version, chunks }: StoredFile,
): AsyncGenerator<Buffer> {
  for (let ordinal = 0; ordinal < chunks; ordinal++) {
    const row = await reader.get<{ data: Uint8Array }>(
      'select data from file_chunk where version = $1 and ordinal = $2',
      [version, ordinal],
    )
    if (row === undefined) throw new FileGone()
    yield await decompress(sealer.open(row.data, chunkContext(version, ordinal)))
  }
}

/**
 * The content of a stored file, whose first chunk has been read.
 *
 * @throws {FileGone}
 */
export async function openContent(
  reader: Reader,
  sealer: Sealer,
  file: StoredFile,
): Promise<AsyncIterable<Buffer>> {
  const chunks = readChunks(reader, sealer, file)
  return continueAfter(await chunks.next(), chunks)
}

/** The position of a chunk, to which its encryption is bound. */
function chunkContext(version: string, ordinal: number): string {
  return `chunk/${version}/${ordinal}`
}
