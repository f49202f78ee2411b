import { closeSync, existsSync, openSync, renameSync, rmSync, statSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import Sqlite from 'better-sqlite3'
import { say } from '../foundation/command-line/terminal.ts'
import { type Database, DatabaseUnusable } from '../foundation/database/database.ts'
import { assertTables, connectDatabase } from '../foundation/database/open.ts'
import { formatTimestamp } from '../foundation/text/timestamp.ts'
import { listBackups, recordBackup, recordFailure } from './backups.ts'
import { runProgram } from './postgres-programs.ts'

export interface Backup {
  readonly file: string
  readonly bytes: number
}

/**
 * Writes a consistent copy of a database into one file while the database is in use. The file is written completely
 * or not at all, and only its owner can read it.
 *
 * @throws {DatabaseUnusable}
 */
export async function backUp(url: string, file: string): Promise<Backup> {
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
    if (url.startsWith('sqlite:')) assertNotDatabase(pathOf(url), [file, target])
    part = target
    rmSync(part, { force: true })
    createPrivate(part)
    if (url.startsWith('sqlite:')) {
      await backUpSqlite(pathOf(url), part)
    } else {
      const parameters = [
        '--format=custom',
        '--no-owner',
        `--schema=${await schemaOf(database)}`,
        `--file=${part}`,
      ]
      await runProgram({ program: 'pg_dump', url, parameters })
      await runProgram({ program: 'pg_restore', parameters: ['--list', part] })
    }
    renameSync(part, file)
    await recordBackup(database, { program: PROGRAM, bytes: statSync(file).size }).catch(sayUnrecorded)
  } catch (error) {
    throw await describeFailure(database, explainFile(error, file))
  } finally {
    if (part !== undefined) removePart(part)
    await database?.close()
  }
  return { file: resolve(file), bytes: statSync(file).size }
}

/**
 * A backup in the place of the database, or of a file that SQLite keeps beside it, would destroy what it copies.
 *
 * @throws {DatabaseUnusable}
 */
function assertNotDatabase(database: string, written: readonly string[]): void {
  const identify = (path: string) => {
    const found = statSync(path, { throwIfNoEntry: false })
    return found === undefined ? resolve(path) : `${found.dev} ${found.ino}`
  }
  const own = ['', '-wal', '-shm', '-journal'].map((end) => identify(`${database}${end}`))
  const taken = written.find((path) => own.includes(identify(path)))
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

/** The name under which Mahi records its own backups. */
const PROGRAM = 'mahi'

/** A standby, or a database of an earlier version, cannot record it. */
function sayUnrecorded(): void {
  say(
    'The backup is complete, but its time could not be recorded, so mahi_backup_age_seconds does not show it.',
  )
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
  return `${days} day${days === 1 ? '' : 's'} ago`
}

/** The file of a `sqlite:` URL. */
export function pathOf(url: string): string {
  return url.slice('sqlite:'.length)
}

export async function schemaOf(database: Database): Promise<string> {
  const row = await database.get<{ name: string }>('select current_schema() as name')
  return row?.name ?? 'public'
}

async function backUpSqlite(path: string, file: string): Promise<void> {
  await copyPages(path, file)
  // One file, without a -wal and a -shm beside it while it is inspected.
  const backup = new Sqlite(file)
  backup.pragma('journal_mode = delete')
  backup.close()
  checkSqlite(file)
}

/** Creates a file that only its owner can read, unless it exists: SQLite and pg_dump would let others read it. */
function createPrivate(file: string): void {
  closeSync(openSync(file, 'a', 0o600))
}

/** Pause between two attempts to copy while another process writes, in milliseconds. */
const RETRY_PAUSE = 25

/**
 * SQLite's online backup copies a consistent state, and appears as one transaction to readers of the target. It waits
 * until nobody else writes to the target, then holds its lock to the end.
 */
export async function copyPages(from: string, to: string): Promise<void> {
  createPrivate(to)
  const source = new Sqlite(from, { readonly: true, fileMustExist: true })
  try {
    // A locked target is no error to the driver: it reports that all of zero pages are copied.
    while ((await source.backup(to)).totalPages === 0) await sleep(RETRY_PAUSE)
  } finally {
    source.close()
  }
}

/** @throws {DatabaseUnusable} if a file is not an intact database of Mahi */
export function checkSqlite(file: string): void {
  const backup = new Sqlite(file, { readonly: true, fileMustExist: true })
  try {
    // SQLite notices missing pages, but reads the missing end of the last one as zeros.
    if (statSync(file).size % Number(backup.pragma('page_size', { simple: true })) !== 0) throw damaged(file)
    const faults = backup.pragma('integrity_check') as { integrity_check: string }[]
    const tables = backup.prepare(`select 1 from sqlite_master where name = 'migration'`).all()
    if (faults[0]?.integrity_check !== 'ok' || tables.length === 0) throw damaged(file)
  } catch (error) {
    if (!(error instanceof Sqlite.SqliteError)) throw error
    throw damaged(file, error)
  } finally {
    backup.close()
  }
}

/** A file that is cut off, altered, or something else. */
export function damaged(file: string, cause?: unknown): DatabaseUnusable {
  return new DatabaseUnusable(
    `${file} is damaged, or is not a backup of Mahi: use another backup, or copy this one again`,
    { cause },
  )
}

/** What to do about a file that cannot be written, by the beginning of the code. */
const UNWRITABLE = [
  [/^(?:SQLITE_FULL|SQLITE_IOERR|ENOSPC)/, ': make room for the file'],
  [/^(?:SQLITE_READONLY|SQLITE_CANTOPEN|SQLITE_PERM|EACCES)/, ': run the command as the user of the service'],
  [/^(?:EEXIST|ENOENT|ENOTDIR|EROFS)/, ''],
] as const

export function explainFile(error: unknown, file: string): unknown {
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
