import { createHash } from 'node:crypto'
import { closeSync, createReadStream, openSync, statSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import Sqlite from 'better-sqlite3'
import { MahiError } from '../../client/src/errors.ts'
import type { Client, OccupationSnapshot } from '../../client/src/index.ts'
import { OCCUPATION_COLUMNS } from '../catalogue/records/record-schema.ts'
import { listCells, renderRows } from '../engines/records/index.ts'
import { diskFull, explainFileError, replaceFile } from '../foundation/command-line/output-file.ts'
import { fail } from '../foundation/faults/user-error.ts'
import { makeFolder } from '../foundation/make-folder.ts'
import type { Format } from './results.ts'

export interface MirrorOptions {
  /** The URL of the service, which the state file contains. */
  readonly url: string
  readonly folder: string
  readonly occupations: Pick<Client['occupations'], 'snapshot'>
  /** The format of the copy besides NDJSON. */
  readonly format?: Format
  /** Called with the number of records fetched so far, and their total. */
  readonly onProgress?: (fetched: number, total: number) => void
}

export interface MirrorSummary {
  /** The number of the service's revision. */
  readonly revision: number
  /** The records in the copy. */
  readonly total: number
  /** Whether the copy was replaced. */
  readonly changed: boolean
  /** The path of the copy in the requested format. */
  readonly file: string
}

/** What a mirror remembers between runs. It counts only while the copy has the digest. */
interface MirrorState {
  readonly url: string
  readonly etag: string
  readonly revision: number
  readonly total: number
  /** SHA-256 of the copy, in base64. */
  readonly digest: string
}

const FILE = 'occupations.ndjson'
const STATE = 'mirror.json'
const LOCK = 'mirror.lock'

/**
 * Replaces the copy of a catalogue in a folder by a snapshot, unless the service has the same one. The file in place
 * is a complete catalogue of one revision at any time.
 *
 * @throws {MahiError} if the service is unreachable, refuses, or does not send a catalogue with its digest
 */
export async function mirrorOccupations(options: MirrorOptions): Promise<MirrorSummary> {
  const { folder, format = 'ndjson' } = options
  const unlock = openFolder(folder)
  try {
    const { revision, total, changed } = await bringUpToDate(options)
    return { revision, total, changed, file: await writeFormat(folder, format) }
  } finally {
    unlock()
  }
}

async function bringUpToDate(options: MirrorOptions): Promise<MirrorState & { readonly changed: boolean }> {
  const known = await readState(options)
  try {
    const snapshot = await options.occupations.snapshot({ ifNoneMatch: known?.etag })
    return { ...(await replaceCopy(options, snapshot)), changed: true }
  } catch (error) {
    if (known === undefined || !(error instanceof MahiError) || error.status !== 304) throw error
    return { ...known, changed: false }
  }
}

/** What is known of the copy; `undefined` if there is none, or something else has changed or damaged it. */
async function readState({ folder, url }: MirrorOptions): Promise<MirrorState | undefined> {
  try {
    const state = JSON.parse(await readFile(join(folder, STATE), 'utf8')) as Partial<MirrorState> | null
    const isOurs = state?.url === url && typeof state.etag === 'string'
    return isOurs && (await digestFile(join(folder, FILE))) === state.digest
      ? (state as MirrorState)
      : undefined
  } catch {
    return undefined
  }
}

/** @throws {MahiError} before the copy is replaced, if the snapshot is not whole */
async function replaceCopy(
  { url, folder, onProgress }: MirrorOptions,
  snapshot: OccupationSnapshot,
): Promise<MirrorState> {
  const { etag, revision, totalCount: total, digest } = snapshot
  await replaceFile(join(folder, FILE), async (append) => {
    const hash = createHash('sha256')
    let fetched = 0
    for await (const line of snapshot.lines()) {
      fetched++
      if (!isRecord(line))
        throw new MahiError('unreadable', { title: `Line ${fetched} of the snapshot is not a record` })
      hash.update(`${line}\n`)
      await append(`${line}\n`)
      if (fetched % 1000 === 0) onProgress?.(fetched, total)
    }
    if (hash.digest('base64') !== digest)
      throw new MahiError('unreadable', { title: 'The snapshot does not match its digest' })
    onProgress?.(fetched, total)
  })
  const state = { url, etag, revision, total, digest }
  // A run that is killed before this leaves a state with another digest: the next one fetches everything.
  await replaceFile(join(folder, STATE), (append) => append(`${JSON.stringify(state, null, 2)}\n`))
  return state
}

function isRecord(line: string): boolean {
  try {
    const record = JSON.parse(line) as { occupationCode?: unknown } | null
    return typeof record?.occupationCode === 'string'
  } catch {
    return false
  }
}

/** SHA-256 of a file, in base64. */
async function digestFile(path: string): Promise<string> {
  const hash = createHash('sha256')
  for await (const chunk of createReadStream(path)) hash.update(chunk)
  return hash.digest('base64')
}

/** Writes the copy in another format; returns the path of the file. */
async function writeFormat(folder: string, format: Format): Promise<string> {
  const source = join(folder, FILE)
  if (format === 'ndjson') return source
  const target = join(folder, `occupations.${format}`)
  await replaceFile(target, async (append) => {
    await append(format === 'json' ? '[' : renderRows([OCCUPATION_COLUMNS.map(({ name }) => name)]))
    let count = 0
    for await (const line of readLines(source)) {
      if (format === 'json') await append(`${count++ === 0 ? '' : ','}\n${line}`)
      else await append(renderRows([listCells(OCCUPATION_COLUMNS, JSON.parse(line))]))
    }
    if (format === 'json') await append('\n]\n')
  })
  return target
}

async function* readLines(path: string): AsyncGenerator<string> {
  let rest = ''
  for await (const chunk of createReadStream(path, 'utf8')) {
    const lines = `${rest}${chunk}`.split('\n')
    rest = lines.pop() ?? ''
    yield* lines
  }
}

function openFolder(folder: string): () => void {
  try {
    makeFolder(folder, 0o700)
    return takeLock(folder)
  } catch (error) {
    throw explainFileError(error, folder)
  }
}

/**
 * Prevents two mirrors from using one folder at once. It locks an empty SQLite file: the operating system releases
 * the lock however the process ends, so no stale lock remains.
 *
 * @returns a function that releases the folder
 * @throws {UserError} if another mirror holds the lock
 */
function takeLock(folder: string): () => void {
  const path = join(folder, LOCK)
  // Created here, because SQLite would create it with the default permissions. It is not opened again, because closing
  // it could release the lock of another mirror in this process.
  if (statSync(path, { throwIfNoEntry: false }) === undefined) closeSync(openSync(path, 'w', 0o600))
  const connection = new Sqlite(path, { timeout: 0 })
  try {
    connection.exec('begin exclusive')
  } catch (error) {
    connection.close()
    if (!(error instanceof Sqlite.SqliteError)) throw error
    if (error.code === 'SQLITE_FULL') throw diskFull(folder, error)
    if (!error.code.startsWith('SQLITE_BUSY')) throw error
    fail({
      file: folder,
      message: 'Another process is mirroring into this folder. Wait until it has finished',
    })
  }
  return () => connection.close()
}
