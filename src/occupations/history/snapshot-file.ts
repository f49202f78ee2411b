import { createHash, type Hash, randomBytes } from 'node:crypto'
import { createReadStream, createWriteStream } from 'node:fs'
import { mkdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Readable, Transform } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { constants, createBrotliCompress, createGunzip, createGzip } from 'node:zlib'
import type { Database, Reader } from '../../database/database.ts'
import type { Revision } from '../../database/revisions.ts'
import { readLatest } from './changes.ts'

/** Records read from the database at a time: a batch is read without a pause. */
const BATCH = 100

/** Bytes, and their SHA-256 in base64. */
export interface Measured {
  readonly length: number
  readonly digest: string
}

/** The catalogue of one revision as files, one for each encoding that was asked for. */
export interface Snapshot {
  readonly revision: Revision
  /** Records. */
  readonly total: number
  /** The token of the change feed that continues from here. */
  readonly delta: string
  /** The NDJSON itself, of which there is no file. */
  readonly identity: Measured
  readonly gzip: Measured
  readonly br?: Measured | undefined
}

export type Compression = 'gzip' | 'br'
const ENDINGS = { gzip: 'gz', br: 'br' } as const

/** The path of a snapshot's file without its ending: the same for every process that serves the same database. */
export function snapshotPath(folder: string, delta: string): string {
  return join(folder, `snapshot-${createHash('sha256').update(delta).digest('hex').slice(0, 32)}.ndjson`)
}

export function compressedPath(folder: string, { delta }: Snapshot, compression: Compression): string {
  return `${snapshotPath(folder, delta)}.${ENDINGS[compression]}`
}

/**
 * Writes the current catalogue to a gzip file, or finds the file that another process or an earlier run has written.
 * Compression runs on the threads of the runtime, so requests are served meanwhile.
 */
export async function buildSnapshot(
  database: Database,
  folder: string,
  signal: AbortSignal,
): Promise<Snapshot> {
  await mkdir(folder, { recursive: true, mode: 0o700 })
  return await database.snapshot(async (reader) => {
    const { revision, totalCount: total, delta = '' } = await readLatest(reader)
    const known = await findSnapshot(folder, delta)
    if (known !== undefined) return known
    const path = snapshotPath(folder, delta)
    const plain = new Meter()
    const gzip = await writeCompressed(
      `${path}.gz`,
      [Readable.from(readLines(reader), { objectMode: false }), plain.stream, createGzip({ level: 6 })],
      signal,
    )
    const snapshot: Snapshot = { revision, total, delta, identity: plain.measured(), gzip }
    await describeSnapshot(folder, snapshot)
    return snapshot
  })
}

/** Adds the brotli file to a snapshot; it is made from the gzip file. */
export async function addBrotli(folder: string, snapshot: Snapshot, signal: AbortSignal): Promise<Snapshot> {
  const path = snapshotPath(folder, snapshot.delta)
  const params = { [constants.BROTLI_PARAM_QUALITY]: 5 }
  const br = await writeCompressed(
    `${path}.br`,
    [createReadStream(`${path}.gz`), createGunzip(), createBrotliCompress({ params })],
    signal,
  )
  const whole = { ...snapshot, br }
  await describeSnapshot(folder, whole)
  return whole
}

/** Removes the files of a snapshot. Whoever is reading one reads on to its end. */
export async function removeSnapshot(folder: string, { delta }: Snapshot): Promise<void> {
  const path = snapshotPath(folder, delta)
  for (const ending of ['json', 'gz', 'br']) await rm(`${path}.${ending}`, { force: true })
}

async function* readLines(reader: Reader): AsyncGenerator<Buffer> {
  let last = ''
  for (;;) {
    const rows = await reader.all<{ code: string; document: string }>(
      `select code, document from occupation where code > $1 order by code limit ${BATCH}`,
      [last],
    )
    const end = rows.at(-1)
    if (end === undefined) return
    last = end.code
    yield Buffer.from(`${rows.map(({ document }) => document).join('\n')}\n`)
  }
}

/** Counts and digests what passes through. */
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

/** Writes a file beside its place, and puts it there once it is whole. */
async function writeCompressed(
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

async function describeSnapshot(folder: string, snapshot: Snapshot): Promise<void> {
  const path = `${snapshotPath(folder, snapshot.delta)}.json`
  const part = `${path}.${process.pid}-${randomBytes(4).toString('hex')}.part`
  await writeFile(part, JSON.stringify(snapshot), { mode: 0o600 })
  await rename(part, path)
}

/** The snapshot whose files are there already, if they have the length that they should. */
async function findSnapshot(folder: string, delta: string): Promise<Snapshot | undefined> {
  const path = snapshotPath(folder, delta)
  try {
    const snapshot = JSON.parse(await readFile(`${path}.json`, 'utf8')) as Snapshot
    if ((await stat(`${path}.gz`)).size !== snapshot.gzip.length) return undefined
    if (snapshot.br === undefined || (await stat(`${path}.br`)).size === snapshot.br.length) return snapshot
    return { ...snapshot, br: undefined }
  } catch {
    return undefined
  }
}
