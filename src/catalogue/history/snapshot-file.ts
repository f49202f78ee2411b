import { createHash, type Hash, randomBytes } from 'node:crypto'
import { createReadStream, createWriteStream } from 'node:fs'
import { readFile, rename, rm, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Readable, Transform } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { constants, createBrotliCompress, createGunzip, createGzip } from 'node:zlib'
import type { Database, Reader } from '../../foundation/database/database.ts'
import type { Revision } from '../../foundation/database/revisions.ts'
import { makeFolder } from '../../foundation/make-folder.ts'
import { readDocuments } from '../records/read-documents.ts'
import { readLatest } from './changes.ts'

/** Records read at once, without yielding to the event loop. */
const BATCH = 100

/** The number of bytes, and their SHA-256 in base64. */
export interface Measured {
  readonly length: number
  readonly digest: string
}

/** The catalogue in one revision as files, one for each requested encoding. */
export interface Snapshot {
  readonly revision: Revision
  /** The number of records. */
  readonly total: number
  /** The change feed token that continues from here. */
  readonly delta: string
  /** The NDJSON. */
  readonly identity: Measured
  /** Whether the NDJSON is stored as a file too. */
  readonly isPlainStored?: boolean
  readonly gzip: Measured
  readonly br?: Measured | undefined
}

export type SnapshotEncoding = 'gzip' | 'br' | 'identity'
const ENDINGS = { gzip: '.gz', br: '.br', identity: '' } as const

/** The path of a snapshot's file without its extension, the same in all processes of a database. */
function snapshotPath(folder: string, delta: string): string {
  return join(folder, `snapshot-${createHash('sha256').update(delta).digest('hex').slice(0, 32)}.ndjson`)
}

export function encodedPath(folder: string, { delta }: Snapshot, encoding: SnapshotEncoding): string {
  return snapshotPath(folder, delta) + ENDINGS[encoding]
}

/**
 * Writes the current catalogue to a gzip file, or finds the file that another process or an earlier run has written.
 * Compression runs on threads, so the process continues to serve requests.
 */
export async function buildSnapshot(
  database: Database,
  folder: string,
  signal: AbortSignal,
): Promise<Snapshot> {
  makeFolder(folder, 0o700)
  return await database.snapshot(async (reader) => {
    const { revision, totalCount: total, delta = '' } = await readLatest(reader)
    const known = await findSnapshot(folder, delta)
    if (known !== undefined) return known
    const path = snapshotPath(folder, delta)
    const plain = new Meter()
    const gzip = await writeFileOf(
      `${path}.gz`,
      [Readable.from(readLines(reader), { objectMode: false }), plain.stream, createGzip({ level: 6 })],
      signal,
    )
    const snapshot: Snapshot = { revision, total, delta, identity: plain.measured(), gzip }
    await describeSnapshot(folder, snapshot)
    return snapshot
  })
}

/** Adds the file of another encoding, converted from the gzip file, and returns what the snapshot then has besides. */
export async function addEncoding(
  folder: string,
  snapshot: Snapshot,
  encoding: 'br' | 'identity',
  signal: AbortSignal,
): Promise<Partial<Snapshot>> {
  const path = snapshotPath(folder, snapshot.delta)
  const params = { [constants.BROTLI_PARAM_QUALITY]: 5 }
  const measured = await writeFileOf(
    encodedPath(folder, snapshot, encoding),
    [
      createReadStream(`${path}.gz`),
      createGunzip(),
      ...(encoding === 'br' ? [createBrotliCompress({ params })] : []),
    ],
    signal,
  )
  return encoding === 'br' ? { br: measured } : { isPlainStored: true }
}

/** Removes the files of a snapshot. Readers that have one open can still read it completely. */
export async function removeSnapshot(folder: string, { delta }: Snapshot): Promise<void> {
  const path = snapshotPath(folder, delta)
  for (const ending of ['.json', ...Object.values(ENDINGS)]) await rm(path + ending, { force: true })
}

async function* readLines(reader: Reader): AsyncGenerator<Buffer> {
  for await (const documents of readDocuments(reader, { batch: BATCH }))
    yield Buffer.from(`${documents.join('\n')}\n`)
}

/** Counts and hashes the bytes that pass through. */
class Meter {
  readonly #hash: Hash = createHash('sha256')
  #length = 0
  readonly stream = new Transform({
    transform: (chunk: Buffer, _encoding, done) => {
      this.#hash.update(chunk)
      this.#length += chunk.length
      done(null, chunk)
    },
  })

  measured(): Measured {
    return { length: this.#length, digest: this.#hash.digest('base64') }
  }
}

/** Writes a file under a temporary name, and renames it when it is complete. */
async function writeFileOf(
  path: string,
  streams: readonly (NodeJS.ReadableStream | NodeJS.ReadWriteStream)[],
  signal: AbortSignal,
): Promise<Measured> {
  const part = `${path}.${process.pid}-${randomBytes(4).toString('hex')}.part`
  const meter = new Meter()
  try {
    await pipeline([...streams, meter.stream, createWriteStream(part, { mode: 0o600 })], { signal })
    await rename(part, path)
    return meter.measured()
  } catch (error) {
    await rm(part, { force: true })
    throw error
  }
}

/** Describes the files of a snapshot for other processes. */
export async function describeSnapshot(folder: string, snapshot: Snapshot): Promise<void> {
  const path = `${snapshotPath(folder, snapshot.delta)}.json`
  const part = `${path}.${process.pid}-${randomBytes(4).toString('hex')}.part`
  await writeFile(part, JSON.stringify(snapshot), { mode: 0o600 })
  await rename(part, path)
}

/** Returns a snapshot whose files already exist with the expected size. */
async function findSnapshot(folder: string, delta: string): Promise<Snapshot | undefined> {
  const path = snapshotPath(folder, delta)
  try {
    const snapshot = JSON.parse(await readFile(`${path}.json`, 'utf8')) as Snapshot
    const hasFile = async (encoding: SnapshotEncoding, { length }: Measured) =>
      (await stat(encodedPath(folder, snapshot, encoding)).catch(() => undefined))?.size === length
    if (!(await hasFile('gzip', snapshot.gzip))) return undefined
    return {
      ...snapshot,
      isPlainStored: snapshot.isPlainStored === true && (await hasFile('identity', snapshot.identity)),
      br: snapshot.br !== undefined && (await hasFile('br', snapshot.br)) ? snapshot.br : undefined,
    }
  } catch {
    return undefined
  }
}
