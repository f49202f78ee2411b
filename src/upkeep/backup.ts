import { spawn } from 'node:child_process'
import { chmodSync, closeSync, existsSync, openSync, readSync, renameSync, rmSync, statSync } from 'node:fs'
import { resolve } from 'node:path'
import Sqlite from 'better-sqlite3'
import { type Database, DatabaseUnusable } from '../database/database.ts'
import { connectDatabase, openDatabase } from '../database/open.ts'

/** What begins every dump of `pg_dump --format=custom`. */
const DUMP = 'PGDMP'

export interface Backup {
  readonly file: string
  readonly bytes: number
}

/**
 * Writes everything that a database holds into one file, as it is at one moment, while it is in use. The file is there
 * whole or not at all, and only its owner may read it.
 *
 * @throws {DatabaseUnusable}
 */
export async function backUp(url: string, file: string): Promise<Backup> {
  const database = await connectDatabase(url, { existing: true })
  const part = `${file}.part`
  try {
    closeSync(openSync(part, 'w', 0o600))
    chmodSync(part, 0o600)
    if (url.startsWith('sqlite:')) {
      rmSync(part)
      await backUpSqlite(pathOf(url), part)
    } else {
      await run('pg_dump', url, [
        '--format=custom',
        '--no-owner',
        `--schema=${await schemaOf(database)}`,
        `--file=${part}`,
      ])
      await run('pg_restore', undefined, ['--list', part])
    }
    renameSync(part, file)
  } catch (error) {
    throw explainFile(error, file)
  } finally {
    rmSync(part, { force: true })
    await database.close()
  }
  return { file: resolve(file), bytes: statSync(file).size }
}

/**
 * Puts a backup in place of what a database holds, also while it is in use: readers see the old state until the new one
 * is complete. A backup of an older version is brought up to date.
 *
 * @param replace whether a database that holds data may be replaced
 * @throws {DatabaseUnusable}
 */
export async function restore(url: string, file: string, replace: boolean): Promise<void> {
  const isDump = readStart(file) === DUMP
  const toSqlite = url.startsWith('sqlite:')
  if (isDump === toSqlite) {
    const [is, wanted] = isDump ? ['PostgreSQL', 'a SQLite file'] : ['SQLite', 'PostgreSQL']
    throw new DatabaseUnusable(
      `${file} is a backup of ${is}, and DATABASE_URL names ${wanted}: restore it to ${is}, then use "mahi copy"`,
    )
  }
  if (toSqlite) checkSqlite(file)
  const target = await openDatabase(url)
  const schema = toSqlite ? '' : await schemaOf(target)
  try {
    if (!replace && (await holdsData(target)))
      throw new DatabaseUnusable(`${target.address} holds data: give --replace to replace all of it`)
  } finally {
    await target.close()
  }
  if (toSqlite) await copyPages(file, pathOf(url))
  else {
    await run('pg_restore', url, [
      ...[
        '--clean',
        '--if-exists',
        '--no-owner',
        '--no-privileges',
        '--single-transaction',
        '--exit-on-error',
      ],
      `--schema=${schema}`,
      file,
    ])
  }
  await (await openDatabase(url)).close()
}

function pathOf(url: string): string {
  return url.slice('sqlite:'.length)
}

async function holdsData(database: Database): Promise<boolean> {
  for (const table of ['occupation', 'submission', 'api_key'])
    if ((await database.get(`select 1 as found from ${table} limit 1`)) !== undefined) return true
  return false
}

async function schemaOf(database: Database): Promise<string> {
  const row = await database.get<{ name: string }>('select current_schema() as name')
  return row?.name ?? 'public'
}

async function backUpSqlite(path: string, file: string): Promise<void> {
  await copyPages(path, file)
  // One file, without a -wal and a -shm beside it whenever somebody looks into it.
  const backup = new Sqlite(file)
  backup.pragma('journal_mode = delete')
  backup.close()
  chmodSync(file, 0o600)
  checkSqlite(file)
}

/** SQLite's online backup: it copies the pages of one moment, and is one transaction for whoever reads the target. */
async function copyPages(from: string, to: string): Promise<void> {
  const source = new Sqlite(from, { readonly: true, fileMustExist: true })
  try {
    await source.backup(to)
  } finally {
    source.close()
  }
}

/** @throws {DatabaseUnusable} if a file is not a whole database of Mahi */
function checkSqlite(file: string): void {
  const backup = new Sqlite(file, { readonly: true, fileMustExist: true })
  try {
    const faults = backup.pragma('integrity_check') as { integrity_check: string }[]
    const tables = backup.prepare(`select 1 from sqlite_master where name = 'migration'`).all()
    if (faults[0]?.integrity_check !== 'ok' || tables.length === 0)
      throw new DatabaseUnusable(`${file} is damaged, or is not a backup of Mahi`)
  } catch (error) {
    if (!(error instanceof Sqlite.SqliteError)) throw error
    throw new DatabaseUnusable(`${file} is damaged, or is not a backup of Mahi`, { cause: error })
  } finally {
    backup.close()
  }
}

function readStart(file: string): string {
  if (!existsSync(file)) throw new DatabaseUnusable(`${file} does not exist`)
  const start = Buffer.alloc(DUMP.length)
  const descriptor = openSync(file, 'r')
  readSync(descriptor, start)
  closeSync(descriptor)
  return start.toString('latin1')
}

function explainFile(error: unknown, file: string): unknown {
  const { code } = error as NodeJS.ErrnoException
  if (code === 'ENOENT' || code === 'ENOTDIR' || code === 'EACCES' || code === 'EROFS' || code === 'ENOSPC')
    return new DatabaseUnusable(`${file} cannot be written (${code})`, { cause: error })
  return error
}

/** Runs a program of PostgreSQL; the password goes to it in its environment, which other users cannot see. */
async function run(program: string, url: string | undefined, parameters: readonly string[]): Promise<void> {
  const address = url === undefined ? undefined : new URL(url)
  const password = address?.password ?? ''
  if (address !== undefined) address.password = ''
  const connection = address === undefined ? [] : [`--dbname=${address}`]
  const env = { ...process.env, ...(password !== '' && { PGPASSWORD: decodeURIComponent(password) }) }
  const child = spawn(program, [...connection, ...parameters], { env, stdio: ['ignore', 'ignore', 'pipe'] })
  let said = ''
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    said = (said + text).slice(-2_000)
  })
  const code = await new Promise<number | null>((resolve, reject) => {
    child.once('error', (error: NodeJS.ErrnoException) =>
      reject(
        error.code === 'ENOENT'
          ? new DatabaseUnusable(
              `${program} is not installed: it comes with the client of PostgreSQL (postgresql-client)`,
            )
          : error,
      ),
    )
    child.once('close', resolve)
  })
  if (code !== 0) throw new DatabaseUnusable(`${program} failed: ${said.trim().replaceAll('\n', ' ')}`)
}
