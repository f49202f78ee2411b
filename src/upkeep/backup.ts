import { type ChildProcessByStdio, spawn } from 'node:child_process'
import { chmodSync, closeSync, existsSync, openSync, readSync, renameSync, rmSync, statSync } from 'node:fs'
import { resolve } from 'node:path'
import { PassThrough, type Readable, type Writable } from 'node:stream'
import Sqlite from 'better-sqlite3'
import { type Database, DatabaseUnusable } from '../database/database.ts'
import { connectDatabase, openDatabase } from '../database/open.ts'

/** The first bytes of every dump by `pg_dump --format=custom`. */
const DUMP = 'PGDMP'

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
 * Replaces the content of a database with a backup, even while it is in use: readers see the old state until the new
 * one is complete. A backup of an older version is migrated.
 *
 * @param replace whether a database with data may be replaced
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
  const tables = await target.all<{ name: string }>(target.dialect.tables)
  try {
    if (!replace && (await holdsData(target)))
      throw new DatabaseUnusable(`${target.address} holds data: give --replace to replace all of it`)
  } finally {
    await target.close()
  }
  if (toSqlite) await copyPages(file, pathOf(url))
  else {
    await replaceTables(
      url,
      tables.map(({ name }) => `"${schema}"."${name}"`),
      ['--clean', '--if-exists', '--no-owner', '--no-privileges', `--schema=${schema}`, '--file=-', file],
    )
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
  // One file, without a -wal and a -shm beside it while it is inspected.
  const backup = new Sqlite(file)
  backup.pragma('journal_mode = delete')
  backup.close()
  chmodSync(file, 0o600)
  checkSqlite(file)
}

/** SQLite's online backup copies a consistent state, and appears as one transaction to readers of the target. */
async function copyPages(from: string, to: string): Promise<void> {
  const source = new Sqlite(from, { readonly: true, fileMustExist: true })
  try {
    await source.backup(to)
  } finally {
    source.close()
  }
}

/** @throws {DatabaseUnusable} if a file is not an intact database of Mahi */
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

/**
 * Drops tables and restores a dump in one transaction. With `--clean` alone, tables that the dump of an older version
 * does not have would stay, and the migration that creates them would fail.
 */
async function replaceTables(url: string, tables: readonly string[], dump: readonly string[]): Promise<void> {
  const script = new PassThrough()
  script.write(`begin;\n${tables.map((name) => `drop table if exists ${name} cascade;\n`).join('')}`)
  const applied = run(
    'psql',
    url,
    ['--quiet', '--no-psqlrc', '--output=/dev/null', '--set=ON_ERROR_STOP=1', '--file=-'],
    { input: script },
  )
  // A dump that cannot be read to its end is rolled back.
  const read = run('pg_restore', undefined, dump, { output: script }).then(
    () => void script.end('commit;\n'),
    (error: unknown) => {
      script.end('rollback;\n')
      throw error
    },
  )
  // If psql fails, pg_restore would write to nobody.
  applied.catch(() => script.resume())
  const [first, second] = await Promise.allSettled([applied, read])
  for (const each of [first, second]) if (each.status === 'rejected') throw each.reason
}

/** Runs a program of PostgreSQL. Its password is passed in the environment, which other users cannot see. */
async function run(
  program: string,
  url: string | undefined,
  parameters: readonly string[],
  { input, output }: { readonly input?: Readable; readonly output?: Writable } = {},
): Promise<void> {
  const address = url === undefined ? undefined : new URL(url)
  const password = address?.password ?? ''
  if (address !== undefined) address.password = ''
  const connection = address === undefined ? [] : [`--dbname=${address}`]
  const env = { ...process.env, ...(password !== '' && { PGPASSWORD: decodeURIComponent(password) }) }
  const child = spawn(program, [...connection, ...parameters], {
    env,
    stdio: [input === undefined ? 'ignore' : 'pipe', output === undefined ? 'ignore' : 'pipe', 'pipe'],
  }) as ChildProcessByStdio<Writable | null, Readable | null, Readable>
  // A program that fails stops reading.
  child.stdin?.on('error', () => undefined)
  if (child.stdin !== null) input?.pipe(child.stdin)
  if (output !== undefined) child.stdout?.pipe(output, { end: false })
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
