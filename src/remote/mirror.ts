import { createHash } from 'node:crypto'
import { join } from 'node:path'
import { MahiError } from '../../client/src/errors.ts'
import type { OccupationSnapshot } from '../../client/src/index.ts'
import { explainFileError } from '../foundation/command-line/output-file.ts'
import { UserError } from '../foundation/faults/user-error.ts'
import { makeFolder } from '../foundation/make-folder.ts'
import { compareCodePoints } from '../foundation/text/code-points.ts'
import {
  CopyDamaged,
  commitCopy,
  digestFile,
  FILE,
  type Line,
  type MirrorState,
  readCode,
  readLines,
  readState,
  stageCopy,
  tidyUp,
  writeState,
} from './copy.ts'
import { applyChanges, compareLines, type Differences } from './differences.ts'
import { type Format, writeFormat } from './formats.ts'
import { takeLock } from './lock.ts'
import type { Source } from './source.ts'

export interface MirrorOptions {
  /** The URL of the service, which the state file contains. */
  readonly url: string
  readonly folder: string
  readonly source: Source
  /** The format of the copy besides NDJSON. */
  readonly format?: Format
  /** Fetch everything again, whatever the copy contains. */
  readonly full?: boolean
  /** Called with the number of records fetched so far, and their total if known. */
  readonly onProgress?: (fetched: number, total?: number) => void
}

export interface MirrorSummary extends Differences {
  /** The records now in the copy. */
  readonly total: number
  /** Why everything was fetched again, if the user should know. */
  readonly notice?: string
}

/** The most characters of changes held in memory; beyond that, a snapshot is cheaper. */
const MOST_CHANGES = 64 * 1024 * 1024

/**
 * Updates the copy of a catalogue in a folder: by the changes since the last run, or by a snapshot if there is no
 * copy to continue from. The file in place is a complete catalogue of one revision at any time.
 *
 * @throws {MahiError} if the service is unreachable, refuses, or does not send a catalogue
 */
export async function mirrorOccupations(
  options: MirrorOptions,
): Promise<MirrorSummary & { readonly file: string }> {
  const unlock = openFolder(options.folder)
  try {
    const summary = await bringUpToDate(options)
    return { ...summary, file: await writeFormat(options.folder, options.format ?? 'ndjson') }
  } finally {
    unlock()
  }
}

async function bringUpToDate(options: MirrorOptions): Promise<MirrorSummary> {
  const state = await readState(options.folder)
  if (options.full === true || state?.url !== options.url) return await fetchSnapshot(options, state)
  return await fetchChanges(options, state)
}

function openFolder(folder: string): () => void {
  try {
    makeFolder(folder, 0o700)
    return takeLock(folder)
  } catch (error) {
    throw explainFileError(error, folder)
  }
}

/** The combined pages of changes. */
interface Collected {
  /** The newest text of each changed code; `undefined` if the record was removed. */
  readonly changes: ReadonlyMap<string, string | undefined>
  readonly token: string
  readonly revision: number
  readonly total: number
  /** The digest of the catalogue with the changes; absent if the service did not send it. */
  readonly digest: string | undefined
}

/** The changes do not lead to the catalogue that the service has. */
class ChangesWrong extends UserError {}

/** The changes cannot be compared with the snapshot, which shows another revision. */
class RevisionDiffers extends UserError {}

/** How often the changes are read if the catalogue changes meanwhile. */
const MOST_ATTEMPTS = 3

async function fetchChanges(options: MirrorOptions, state: MirrorState): Promise<MirrorSummary> {
  for (let attempt = 0; attempt < MOST_ATTEMPTS; attempt++) {
    let collected: Collected | undefined
    try {
      collected = await collectChanges(options, state.token)
    } catch (error) {
      if (!(error instanceof MahiError) || error.status !== 410) throw error
      return await fetchSnapshot(options, state)
    }
    if (collected === undefined) return await fetchSnapshot(options, state)
    try {
      return await applyCollected(options, state, collected)
    } catch (error) {
      if (error instanceof RevisionDiffers) continue
      if (error instanceof CopyDamaged)
        return await fetchSnapshot(options, state, 'The copy was damaged: everything was fetched again.')
      if (!(error instanceof ChangesWrong)) throw error
      const reason =
        'The changes do not lead to the catalogue of the service, so something between here and there alters responses: everything was fetched again.'
      return await fetchSnapshot(options, state, reason)
    }
  }
  const reason = `The snapshot had another revision than the changes ${MOST_ATTEMPTS} times, as while imports run: everything was fetched again.`
  return await fetchSnapshot(options, state, reason)
}

/** Reads all changes; `undefined` if they are too many to hold in memory. */
async function collectChanges(
  { source, onProgress }: MirrorOptions,
  since: string,
): Promise<Collected | undefined> {
  const changes = new Map<string, string | undefined>()
  let size = 0
  for await (const page of source.changes(since)) {
    for (const { occupationCode: code = '', record } of page.changes ?? []) {
      const text = record === undefined ? undefined : JSON.stringify(record)
      size += code.length + (text?.length ?? 0) - (changes.get(code)?.length ?? 0)
      changes.set(code, text)
    }
    if (size > MOST_CHANGES) return undefined
    onProgress?.(changes.size)
    const { delta, revision = 0, totalCount = 0, digest } = page
    if (delta !== undefined) return { changes, token: delta, revision, total: totalCount, digest }
  }
  throw new MahiError('unreadable', { title: 'The changes end without a token for the next request' })
}

/**
 * @throws {CopyDamaged} if the copy does not match its state
 * @throws {ChangesWrong} if the result does not match the service
 * @throws {RevisionDiffers} if the service has another revision by now, and has not sent the digest of this one
 */
async function applyCollected(
  options: MirrorOptions,
  state: MirrorState,
  { changes, token, revision, total, digest }: Collected,
): Promise<MirrorSummary> {
  const { folder } = options
  const path = join(folder, FILE)
  const damaged = () => new CopyDamaged([{ file: path, message: 'differs from what the last run wrote' }])
  const after = { ...state, token, revision }
  const counts: Differences = { added: 0, changed: 0, removed: 0 }
  if ((await digestFile(path)) !== state.digest) throw damaged()
  const announced = { total, digest, revision }
  if (changes.size === 0) {
    await verify(options, state, announced)
    if (token !== state.token) await writeState(folder, after)
    return { ...counts, total }
  }
  const sorted = [...changes].sort(([one], [other]) => compareCodePoints(one, other))
  const merged = applyChanges(readLines(path), sorted)
  const staged = await stageCopy(folder, compareLines(readLines(path), merged, counts))
  await verify(options, staged, announced)
  await commitCopy(folder, state, { ...after, ...staged })
  return { ...counts, total }
}

/**
 * Compares a copy with the service before it replaces the one in place. A service that has not sent the digest shows it
 * with its snapshot, whose content need not be read.
 *
 * @throws {ChangesWrong} if the total or, at the same revision, the digest differs
 * @throws {RevisionDiffers} if the snapshot is of another revision, such as that of an import that has just ended
 */
async function verify(
  { source }: MirrorOptions,
  copy: { readonly total: number; readonly digest: string },
  announced: Pick<Collected, 'total' | 'digest' | 'revision'>,
): Promise<void> {
  const wrong = () => new ChangesWrong('The changes do not lead to the catalogue of the service')
  // The total is of the same revision as the changes, whatever the snapshot shows.
  if (copy.total !== announced.total) throw wrong()
  const { digest, revision } =
    announced.digest === undefined ? await readDigest(source) : { ...announced, digest: announced.digest }
  if (revision !== announced.revision)
    throw new RevisionDiffers('The snapshot has another revision than the changes')
  if (copy.digest !== digest) throw wrong()
}

/** The digest of the service's catalogue, and its revision. */
async function readDigest(source: Source): Promise<Pick<OccupationSnapshot, 'digest' | 'revision'>> {
  const snapshot = await source.snapshot()
  // Reading has to begin before it can end, and with it the response.
  for await (const _ of snapshot.lines()) break
  return snapshot
}

async function fetchSnapshot(
  options: MirrorOptions,
  before: MirrorState | undefined,
  reason?: string,
): Promise<MirrorSummary> {
  const { folder, url } = options
  const snapshot = await options.source.snapshot()
  const { delta: token, revision } = snapshot
  const counts: Differences = { added: 0, changed: 0, removed: 0 }
  const lines = readSnapshot(snapshot, options.onProgress)
  const old = undamaged(readLines(join(folder, FILE)))
  const staged = await stageCopy(folder, compareLines(old, lines, counts))
  assertDigest(snapshot, staged.digest)
  const { outputs = {} } = before ?? {}
  await commitCopy(folder, before, { url, token, revision, ...staged, outputs })
  await tidyUp(folder)
  const notice = reason ?? explainSnapshot(options, before, revision)
  return { ...counts, total: staged.total, ...(notice === undefined ? {} : { notice }) }
}

function explainSnapshot(
  { full, url }: MirrorOptions,
  before: MirrorState | undefined,
  revision: number,
): string | undefined {
  if (before === undefined || before.url !== url) return undefined
  if (revision < before.revision) {
    return `The service went back from revision ${before.revision} to ${revision}: it was probably restored from a backup. Everything was fetched again.`
  }
  return full
    ? undefined
    : 'Everything was fetched again, for the changes since the last run are not available.'
}

/** @throws {MahiError} if something on the way has altered the snapshot */
function assertDigest(snapshot: OccupationSnapshot, digest: string): void {
  if (digest !== snapshot.digest)
    throw new MahiError('unreadable', { title: 'The snapshot does not match its digest' })
}

/** The lines of a snapshot, which must be records ordered by code. */
async function* readSnapshot(
  snapshot: OccupationSnapshot,
  onProgress: MirrorOptions['onProgress'],
): AsyncGenerator<Line> {
  let fetched = 0
  let last: string | undefined
  for await (const text of snapshot.lines()) {
    const code = readCode(text)
    if (code === undefined || (last !== undefined && compareCodePoints(last, code) >= 0)) {
      throw new MahiError('unreadable', {
        title: `Line ${fetched + 1} of the snapshot is not a record or is out of order`,
      })
    }
    last = code
    yield { code, text }
    if (++fetched % 1000 === 0) onProgress?.(fetched, snapshot.totalCount)
  }
  onProgress?.(fetched, snapshot.totalCount)
}

/** The lines before the first damaged one; the copy is about to be replaced. */
async function* undamaged(lines: AsyncIterable<Line>): AsyncGenerator<Line> {
  try {
    yield* lines
  } catch (error) {
    if (!(error instanceof CopyDamaged)) throw error
  }
}

export interface CheckSummary extends MirrorSummary {
  /** Set if the copy contains something other than ordered records. */
  readonly damaged?: true
}

/**
 * Compares the copy with the service's catalogue without writing anything.
 *
 * @throws {MahiError} if the service is unreachable, refuses, or does not send a catalogue: nothing is known of the copy
 */
export async function checkMirror({ folder, source, onProgress }: MirrorOptions): Promise<CheckSummary> {
  const snapshot = await source.snapshot()
  const counts: Differences = { added: 0, changed: 0, removed: 0 }
  let [total, damaged] = [0, false]
  async function* copy(): AsyncGenerator<Line> {
    try {
      for await (const line of readLines(join(folder, FILE))) {
        total++
        yield line
      }
    } catch (error) {
      if (!(error instanceof CopyDamaged)) throw error
      damaged = true
    }
  }
  const hash = createHash('sha256')
  async function* sent(): AsyncGenerator<Line> {
    for await (const line of readSnapshot(snapshot, onProgress)) {
      hash.update(`${line.text}\n`)
      yield line
    }
  }
  for await (const _ of compareLines(copy(), sent(), counts));
  assertDigest(snapshot, hash.digest('base64'))
  return { ...counts, total, ...(damaged && { damaged }) }
}
