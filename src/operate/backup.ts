import { closeSync, existsSync, openSync, readdirSync, renameSync, rmSync, statSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import Sqlite from 'better-sqlite3'
import { say } from '../foundation/command-line/terminal.ts'
import { type Database, DatabaseUnusable } from '../foundation/database/database.ts'
import { assertTables, connectDatabase, identifyFile, pathOf } from '../foundation/database/open.ts'
import { makeFolder } from '../foundation/make-folder.ts'
import { count } from '../foundation/text/format-number.ts'
import { formatTimestamp } from '../foundation/text/timestamp.ts'
import { listBackups, recordBackup, recordFailure } from './backups.ts'

export interface Backup {
  readonly file: string
  readonly bytes: number
}

/** The name under which Mahi records its own backups. */
const PROGRAM = 'mahi'

/**
 * Writes a consistent copy of a SQLite database into one file while the database is in use. The file is written
 * completely or not at all, and only its owner can read it.
 *
 * @throws {DatabaseUnusable}
 */
export async function backUp(url: string, file: string): Promise<Backup> {
  if (!url.startsWith('sqlite:'))
    throw new DatabaseUnusable(
      'mahi backup copies a SQLite database. Back up PostgreSQL with pg_dump or pgBackRest, and record each backup with "mahi backup --made-by PROGRAM": docs/operations.md, "Backups"',
    )
  const path = pathOf(url)
  let database: Database | undefined
  /** What is removed at the end; nothing before it is known to be the backup's own. */
  let part: string | undefined
  try {
    database = await connectDatabase(url, { existing: true })
    await assertTables(database)
    if (statSync(file, { throwIfNoEntry: false })?.isDirectory())
      throw new DatabaseUnusable(
        `${file} is a folder. Name a file, such as ${join(file, 'mahi.backup')}, or keep several in it with --keep`,
      )
    const target = `${file}.part`
    assertNotDatabase(path, [file, target])
    part = target
    rmSync(part, { force: true })
    await copyPages(path, part)
    assertIntact(part)
    renameSync(part, file)
    // The copy is whole even where the database cannot be written, for example because its disk is full.
    await recordBackup(database, { program: PROGRAM, bytes: statSync(file).size }).catch(() =>
      say(
        'The backup is complete, but its time could not be recorded, so mahi_backup_age_seconds does not show it.',
      ),
    )
  } catch (error) {
    throw await describeFailure(database, explainFile(error, file))
  } finally {
    if (part !== undefined) removePart(part)
    await database?.close()
  }
  return { file: resolve(file), bytes: statSync(file).size }
}

/** The names of a series' files; nothing else in the folder is ever removed. */
const NAME = /^mahi-\d{8}T\d{6}Z\.backup$/

export interface SeriesBackup extends Backup {
  /** The removed older backups of the series. */
  readonly removed: readonly string[]
}

/**
 * Writes a backup with a timestamp in its name into a folder, then removes all but the newest ones of the series. A
 * failed backup removes nothing.
 *
 * @param keep how many backups to keep, at least 1
 */
export async function backUpSeries(
  url: string,
  folder: string,
  keep: number,
  now = new Date(),
): Promise<SeriesBackup> {
  // One that cannot be made is reported, and recorded, as the file that cannot be written.
  try {
    makeFolder(folder, 0o700)
  } catch {}
  const time = now.toISOString().replace(/\.\d+/, '').replaceAll(/[-:]/g, '')
  const backup = await backUp(url, join(folder, `mahi-${time}.backup`))
  const kept = [backup.file, pathOf(url)].map(identifyFile)
  // Where the clock has been set back, earlier ones have later names.
  const removed = readdirSync(folder)
    .filter((name) => NAME.test(name) && !kept.includes(identifyFile(join(folder, name))))
    .sort()
    .reverse()
    .slice(keep - 1)
  for (const name of removed) rmSync(join(folder, name))
  return { ...backup, removed }
}

/**
 * A backup in the place of the database, or of a file that SQLite keeps beside it, would destroy what it copies.
 *
 * @throws {DatabaseUnusable}
 */
function assertNotDatabase(database: string, written: readonly string[]): void {
  const own = ['', '-wal', '-shm', '-journal'].map((end) => identifyFile(`${database}${end}`))
  const taken = written.find((path) => own.includes(identifyFile(path)))
  if (taken !== undefined)
    throw new DatabaseUnusable(`${taken} belongs to the database itself. Name another file for the backup`)
}

/** Its folder may be no folder. */
function removePart(part: string): void {
  try {
    rmSync(part, { force: true })
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOTDIR') throw error
  }
}

/** Records a failure, and adds what it means: no backup, and how old the newest one is. */
async function describeFailure(database: Database | undefined, error: unknown): Promise<unknown> {
  if (!(error instanceof DatabaseUnusable)) return error
  const what = `${error.message}. No backup was written, and the service is unchanged`
  const todo = 'Correct this and run the command again.'
  if (database === undefined) return new DatabaseUnusable(`${what}. ${todo}`, { cause: error })
  await recordFailure(database, PROGRAM, error.message).catch(() => undefined)
  const [newest] = await listBackups(database).catch(() => [])
  const since =
    newest?.finished == null
      ? 'There is no earlier backup'
      : `The newest backup is of ${formatTimestamp(newest.finished)}, ${describeAge(Date.now() - newest.finished)}`
  return new DatabaseUnusable(`${what}. ${since}. ${todo}`, { cause: error })
}

function describeAge(milliseconds: number): string {
  const days = Math.floor(milliseconds / 86_400_000)
  if (days === 0) return 'less than a day ago'
  return `${count(days, 'day')} ago`
}

/** SQLite's online backup copies a consistent state. */
async function copyPages(from: string, to: string): Promise<void> {
  // SQLite would let others read it.
  closeSync(openSync(to, 'a', 0o600))
  const source = new Sqlite(from, { readonly: true, fileMustExist: true })
  try {
    await source.backup(to)
  } finally {
    source.close()
  }
  // One file, without a -wal and a -shm beside it while it is inspected.
  const backup = new Sqlite(to)
  backup.pragma('journal_mode = delete')
  backup.close()
}

/** @throws {DatabaseUnusable} if a file is not an intact SQLite database of Mahi */
export function assertIntact(file: string): void {
  const damaged = (cause?: unknown) =>
    new DatabaseUnusable(
      `${file} is damaged, or is not a backup of Mahi: use another backup, or copy this one again`,
      { cause },
    )
  const backup = new Sqlite(file, { readonly: true, fileMustExist: true })
  try {
    // SQLite notices missing pages, but reads the missing end of the last one as zeros.
    if (statSync(file).size % Number(backup.pragma('page_size', { simple: true })) !== 0) throw damaged()
    const faults = backup.pragma('integrity_check') as { integrity_check: string }[]
    const tables = backup.prepare(`select 1 from sqlite_master where name = 'migration'`).all()
    if (faults[0]?.integrity_check !== 'ok' || tables.length === 0) throw damaged()
  } catch (error) {
    if (!(error instanceof Sqlite.SqliteError)) throw error
    throw damaged(error)
  } finally {
    backup.close()
  }
}

/** What to do about a file that cannot be written, by the beginning of the code. */
const UNWRITABLE = [
  [/^(?:SQLITE_FULL|SQLITE_IOERR|ENOSPC)/, ': make room for the file'],
  [/^(?:SQLITE_READONLY|SQLITE_CANTOPEN|SQLITE_PERM|EACCES)/, ': run the command as the user of the service'],
  [/^(?:EEXIST|ENOENT|ENOTDIR|EROFS)/, ''],
] as const

function explainFile(error: unknown, file: string): unknown {
  const { code } = error as NodeJS.ErrnoException
  if (code === 'ENOENT' && !existsSync(dirname(file)))
    return new DatabaseUnusable(`${file} cannot be written: the folder ${dirname(file)} does not exist`, {
      cause: error,
    })
  const advice = UNWRITABLE.find(([codes]) => codes.test(code ?? ''))?.[1]
  if (advice !== undefined)
    return new DatabaseUnusable(`${file} cannot be written (${code})${advice}`, { cause: error })
  return error
}
