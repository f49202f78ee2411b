import { existsSync, mkdirSync, rmSync } from 'node:fs'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { explainFileError } from '../command-line/output-file.ts'
import { compareCodePoints } from '../text/code-points.ts'
import {
  CopyDamaged,
  FILE,
  type Line,
  LineAppender,
  mergeLines,
  readLines,
  readState,
  replaceLines,
  toLine,
  writeState,
} from './copy.ts'
import { CatalogueChanged, findDeleted, type Known } from './deletions.ts'
import { takeLock } from './lock.ts'
import { type FetchPage, type SourcePage, walk } from './source.ts'

export interface MirrorOptions {
  /** The service's address, which the state file remembers. */
  readonly url: string
  readonly folder: string
  readonly fetchPage: FetchPage
  /** Fetch everything anew, whatever the copy holds. */
  readonly full?: boolean
  /** Called with the records fetched so far and, where it is known, how many there are. */
  readonly onProgress?: (fetched: number, total: number) => void
}

export interface MirrorSummary {
  readonly added: number
  readonly changed: number
  readonly removed: number
  /** Records in the copy now. */
  readonly total: number
}

/** How often a mirror begins again because the catalogue changed under it, before it gives up. */
const MAX_ROUNDS = 20

const PART = `${FILE}.part`
const PART_STATE = 'mirror.part.json'
const CHANGES = 'changes.ndjson'

/**
 * Brings a folder's copy of a catalogue to what the service has: what changed since the newest date seen, and what
 * was deleted. The first run fetches everything; one that was interrupted goes on where it stopped. The file in
 * place is a complete catalogue of one moment at any time.
 *
 * @throws {MahiError} if the service can't be reached or refuses
 */
export async function mirrorOccupations(options: MirrorOptions): Promise<MirrorSummary> {
  const unlock = openFolder(options.folder)
  try {
    return await bringUpToDate(options)
  } catch (error) {
    // What a power cut may have left of a file that was being written is nothing to go on from.
    if (!(error instanceof CopyDamaged) || options.full === true) throw error
    return await bringUpToDate({ ...options, full: true })
  } finally {
    unlock()
  }
}

function openFolder(folder: string): () => void {
  try {
    mkdirSync(folder, { recursive: true })
    return takeLock(folder)
  } catch (error) {
    throw explainFileError(error, folder)
  }
}

async function bringUpToDate(options: MirrorOptions): Promise<MirrorSummary> {
  const { folder, url } = options
  const state = await readState(folder)
  const file = join(folder, FILE)
  const base =
    options.full !== true && state?.url === url && existsSync(file)
      ? { path: file, seenUntil: state.seenUntil }
      : await fetchUntilForward(options)
  return await update(options, base)
}

/** Begins the first fetch again where a page was older than the first: what it lacks may have a date that was seen. */
async function fetchUntilForward(options: MirrorOptions): Promise<Base> {
  for (let round = 1; ; round++) {
    try {
      return await fetchEverything(round === 1 ? options : { ...options, full: true })
    } catch (error) {
      if (!(error instanceof CatalogueChanged) || round === MAX_ROUNDS) throw error
    }
  }
}

/** A file of complete lines in the order of codes, and the date up to which it misses no change. */
interface Base {
  readonly path: string
  readonly seenUntil: string | undefined
}

/** The revision that a first fetch began with, and the newest date on its first page. */
interface PartState {
  readonly url: string
  readonly revision: string
  readonly seenUntil: string | undefined
}

/**
 * Fetches every page into a file beside the copy. If the catalogue changes meanwhile, the file is a mixture, and what
 * changed is fetched afterwards: every change since the first page has a later date than any on that page.
 *
 * @throws {CatalogueChanged} if a page is older than the first one, as one from a standby or a cache may be
 */
async function fetchEverything({ folder, url, fetchPage, full, onProgress }: MirrorOptions): Promise<Base> {
  const path = join(folder, PART)
  const started = full === true ? undefined : await readPartState(folder, url)
  if (started === undefined) rmSync(path, { force: true })

  let fetched = 0
  let last: string | undefined
  let newest: string | undefined
  for await (const line of readLines(path)) {
    fetched++
    last = line.code
    newest = later(newest, line.date)
  }
  const appender = await LineAppender.open(path)
  let state = started
  let ofOneRevision = true
  try {
    for await (const page of walk(fetchPage, last === undefined ? {} : { cursor: last })) {
      if (state === undefined) {
        state = { url, revision: page.revision, seenUntil: newestOf(page) }
        await writePartState(folder, state)
      }
      if (page.revision !== state.revision) {
        if (!isLater(page.revision, state.revision)) throw new CatalogueChanged()
        ofOneRevision = false
      }
      const lines = page.records.filter(({ occupationCode }) => occupationCode !== last).map(toLine)
      await appender.append(lines.map(({ text }) => text))
      newest = later(newest, newestOf(page))
      fetched += lines.length
      onProgress?.(fetched, page.totalCount)
    }
  } finally {
    await appender.close()
  }
  return { path, seenUntil: ofOneRevision ? newest : state?.seenUntil }
}

/** Whether a revision is known to come after another: they are numbered. */
function isLater(revision: string, than: string): boolean {
  return numberOf(revision) > numberOf(than)
}

function numberOf(revision: string): number {
  return Number(/c(\d+)\.\w+$/.exec(revision)?.[1] ?? Number.NaN)
}

async function writePartState(folder: string, state: PartState): Promise<void> {
  const path = join(folder, PART_STATE)
  try {
    await writeFile(path, JSON.stringify(state))
  } catch (error) {
    throw explainFileError(error, path)
  }
}

async function readPartState(folder: string, url: string): Promise<PartState | undefined> {
  try {
    const state = JSON.parse(await readFile(join(folder, PART_STATE), 'utf8')) as PartState
    return state.url === url && existsSync(join(folder, PART)) ? state : undefined
  } catch {
    return undefined
  }
}

/** Fetches what changed since the base was complete, finds what was deleted, and puts the new copy in place. */
async function update(options: MirrorOptions, base: Base): Promise<MirrorSummary> {
  const { folder, url } = options
  const differences = await compareUntilStable(options, base)
  // The copy lacks records that no change explains: their dates were set by hand. Only everything will do.
  if (differences === 'incomplete')
    return await update(options, await fetchUntilForward({ ...options, full: true }))

  const { changes, deleted, seenUntil } = differences
  const file = join(folder, FILE)
  const before = await readDates(file)
  const summary =
    base.path === file && changes === 0 && deleted.size === 0
      ? { added: 0, changed: 0, removed: 0, total: before.size }
      : await replaceCopy(
          file,
          mergeLines(readLines(base.path), readLines(join(folder, CHANGES)), deleted),
          before,
        )
  // After the file: a crash between the two leaves an older date, from which more than enough is fetched again.
  if (seenUntil !== undefined) await writeState(folder, { url, seenUntil })
  for (const name of [PART, PART_STATE, CHANGES]) rmSync(join(folder, name), { force: true })
  return summary
}

async function replaceCopy(
  file: string,
  lines: AsyncIterable<Line>,
  before: ReadonlyMap<string, string>,
): Promise<MirrorSummary> {
  let [added, changed, kept] = [0, 0, 0]
  async function* count(): AsyncGenerator<string> {
    for await (const { code, date, text } of lines) {
      const dateBefore = before.get(code)
      if (dateBefore === undefined) added++
      else kept++
      if (dateBefore !== undefined && dateBefore !== date) changed++
      yield text
    }
  }
  const total = await replaceLines(file, count())
  return { added, changed, removed: before.size - kept, total }
}

interface Differences {
  /** Records in the file CHANGES. */
  readonly changes: number
  readonly deleted: ReadonlySet<string>
  readonly seenUntil: string | undefined
}

async function compareUntilStable(options: MirrorOptions, base: Base): Promise<Differences | 'incomplete'> {
  for (let round = 1; ; round++) {
    try {
      return await compare(options, base)
    } catch (error) {
      if (!(error instanceof CatalogueChanged) || round === MAX_ROUNDS) throw error
    }
  }
}

/** @throws {CatalogueChanged} unless every answer is of one revision */
async function compare(
  { folder, fetchPage, onProgress }: MirrorOptions,
  base: Base,
): Promise<Differences | 'incomplete'> {
  const known = new Map<string, Known>()
  const learn = ({ code, date, minorGroups }: Line) =>
    known.set(code, { code, date: Date.parse(date), minorGroups })
  for await (const line of readLines(base.path)) learn(line)

  const head = await fetchPage({ limit: 1 })
  let seenUntil = base.seenUntil
  let changes = 0
  rmSync(join(folder, CHANGES), { force: true })
  const appender = await LineAppender.open(join(folder, CHANGES))
  try {
    const query = base.seenUntil === undefined ? {} : { lastUpdatedAfter: base.seenUntil }
    for await (const page of walk(fetchPage, query)) {
      if (page.revision !== head.revision) throw new CatalogueChanged()
      const lines = page.records.map(toLine)
      for (const line of lines) learn(line)
      await appender.append(lines.map(({ text }) => text))
      seenUntil = later(seenUntil, newestOf(page))
      changes += lines.length
      onProgress?.(changes, page.totalCount)
    }
  } finally {
    await appender.close()
  }
  if (known.size < head.totalCount) return 'incomplete'
  const deleted = await findDeleted(fetchPage, known.values(), head.totalCount, head.revision)
  return { changes, deleted, seenUntil }
}

/** Compares the copy with everything the service has; nothing is written. */
export async function checkMirror({ folder, fetchPage, onProgress }: MirrorOptions): Promise<MirrorSummary> {
  const copy = readLines(join(folder, FILE))
  let [added, changed, removed, total] = [0, 0, 0, 0]
  let mine = await copy.next()
  const advance = async () => {
    total++
    mine = await copy.next()
  }
  let fetched = 0
  for await (const page of walk(fetchPage, {})) {
    for (const { code, text } of page.records.map(toLine)) {
      for (; mine.done !== true && compareCodePoints(mine.value.code, code) < 0; removed++) await advance()
      if (mine.done === true || mine.value.code !== code) {
        added++
        continue
      }
      if (mine.value.text !== text) changed++
      await advance()
    }
    fetched += page.records.length
    onProgress?.(fetched, page.totalCount)
  }
  for (; mine.done !== true; removed++) await advance()
  return { added, changed, removed, total }
}

/** The dates of the copy in place; of one that is damaged, of those before the damage. */
async function readDates(path: string): Promise<Map<string, string>> {
  const dates = new Map<string, string>()
  try {
    for await (const { code, date } of readLines(path)) dates.set(code, date)
  } catch (error) {
    if (!(error instanceof CopyDamaged)) throw error
  }
  return dates
}

/** The later of two dates; in the one form that the service sends, text sorts as time does. */
function later(one: string | undefined, other: string | undefined): string | undefined {
  if (one === undefined || other === undefined) return one ?? other
  return one > other ? one : other
}

function newestOf(page: SourcePage): string | undefined {
  return page.records.reduce<string | undefined>(
    (newest, { lastUpdatedDate }) => later(newest, lastUpdatedDate),
    undefined,
  )
}
