import { createHash, randomBytes } from 'node:crypto'
import { createReadStream, createWriteStream } from 'node:fs'
import { readFile, rename, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { Readable, Transform } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { createGzip } from 'node:zlib'
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

/** The catalogue in one revision as files, plain and compressed. */
export interface Snapshot {
  readonly revision: Revision
  /** The number of records. */
  readonly total: number
  /** The change feed token that continues from here. */
  readonly delta: string
  /** The NDJSON. */
  readonly identity: Measured
  readonly gzip: Measured
}

export type SnapshotEncoding = 'gzip' | 'identity'
const ENDINGS = { gzip: '.gz', identity: '' } as const

/** The path of a snapshot's file without its extension, the same in all processes of a database. */
function snapshotPath(folder: string, delta: string): string {
  return join(folder, `snapshot-${createHash('sha256').update(delta).digest('hex').slice(0, 32)}.ndjson`)
}

export function encodedPath(folder: string, { delta }: Snapshot, encoding: SnapshotEncoding): string {
  return snapshotPath(folder, delta) + ENDINGS[encoding]
}

/**
 * Writes the current catalogue to files, or finds those that another process or an earlier run has written. Compression
 * runs on threads, so the process continues to serve requests.
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
    const lines = Readable.from(readLines(reader), { objectMode: false })
    const identity = await writeFileOf(path, [lines], signal)
    const gzip = await writeFileOf(`${path}.gz`, [createReadStream(path), createGzip({ level: 6 })], signal)
    const snapshot: Snapshot = { revision, total, delta, identity, gzip }
    // It describes the files for other processes.
    await writeFileOf(`${path}.json`, [Readable.from([JSON.stringify(snapshot)])], signal)
    return snapshot
  })
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

/** Writes a file under a temporary name, and renames it when it is complete. */
async function writeFileOf(
  path: string,
  streams: readonly (NodeJS.ReadableStream | NodeJS.ReadWriteStream)[],
  signal: AbortSignal,
): Promise<Measured> {
  const part = `${path}.${process.pid}-${randomBytes(4).toString('hex')}.part`
  const hash = createHash('sha256')
  let length = 0
  const meter = new Transform({
    transform: (chunk: Buffer, _encoding, done) => {
      hash.update(chunk)
      length += chunk.length
      done(null, chunk)
    },
  })
  try {
    await pipeline([...streams, meter, createWriteStream(part, { mode: 0o600 })], { signal })
    await rename(part, path)
    return { length, digest: hash.digest('base64') }
  } catch (error) {
    await rm(part, { force: true })
    throw error
  }
}

/** Returns a snapshot whose files already exist with the expected size. */
async function findSnapshot(folder: string, delta: string): Promise<Snapshot | undefined> {
  try {
    const snapshot = JSON.parse(await readFile(`${snapshotPath(folder, delta)}.json`, 'utf8')) as Snapshot
    for (const encoding of ['gzip', 'identity'] as const)
      if ((await stat(encodedPath(folder, snapshot, encoding))).size !== snapshot[encoding].length)
        return undefined
    return snapshot
  } catch {
    return undefined
  }
}
