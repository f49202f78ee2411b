import { closeSync, existsSync, openSync, readSync, rmSync, statSync } from 'node:fs'
import { resolve } from 'node:path'
import { type Database, DatabaseUnusable } from '../foundation/database/database.ts'
import { NewerTables } from '../foundation/database/migrate.ts'
import { openDatabase } from '../foundation/database/open.ts'
import { checkSqlite, copyPages, explainFile, pathOf } from './backup.ts'
import { restorePostgres } from './restore-postgres.ts'

/** The first bytes of every dump by `pg_dump --format=custom`. */
const DUMP = 'PGDMP'

export interface RestoreOptions {
  /** Whether a database with data may be replaced. */
  readonly replace: boolean
  /**
   * Called with the restored database before anything is replaced, for the last checks and changes; `replaced` is the
   * database in use.
   */
  readonly prepare: (restored: Database, replaced: Database) => Promise<void>
}

/**
 * Replaces the content of a database with a backup, even while it is in use. The backup is restored beside the content
 * and migrated; then the two are switched in one transaction, so readers see the old state or the new one.
 *
 * @throws {DatabaseUnusable} if this is not possible; nothing is changed then
 */
export async function restore(url: string, file: string, options: RestoreOptions): Promise<void> {
  const given = identify(file)
  let isRead = false
  const assertSame = () => {
    if (!isRead && identify(file) !== given)
      throw new DatabaseUnusable(
        `${file} was replaced while it was read: wait until it is complete, and restore it again`,
      )
  }
  const prepare: RestoreOptions['prepare'] = async (restored, replaced) => {
    assertSame()
    isRead = true
    await options.prepare(restored, replaced)
  }
  try {
    await restoreFile(url, file, { ...options, prepare }).catch((error) => {
      // Whatever failed before may have failed because of it.
      assertSame()
      throw error
    })
  } catch (error) {
    throw explainFailure(error, file)
  }
}

/** What changes when a file is replaced, or written to. */
function identify(file: string): string | undefined {
  const { ino, size, mtimeMs } = statSync(file, { throwIfNoEntry: false }) ?? {}
  return ino === undefined ? undefined : `${ino} ${size} ${mtimeMs}`
}

async function restoreFile(url: string, file: string, options: RestoreOptions): Promise<void> {
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
  try {
    if (!options.replace && (await holdsData(target)))
      throw new DatabaseUnusable(`${target.address} holds data: give --replace to replace all of it`)
    const prepare = (restored: Database) => options.prepare(restored, target)
    if (toSqlite) await restoreSqlite(pathOf(url), file, prepare)
    else await restorePostgres(target, url, file, prepare)
  } finally {
    await target.close()
  }
}

type Prepare = (restored: Database) => Promise<void>

async function restoreSqlite(path: string, file: string, prepare: Prepare): Promise<void> {
  const beside = `${path}.restore`
  // It would be deleted before it is read.
  if (resolve(file) === resolve(beside))
    throw new DatabaseUnusable(`${file} has the name of the file that a restore works with. Rename it`)
  const remove = () => {
    for (const suffix of ['', '-wal', '-shm']) rmSync(beside + suffix, { force: true })
  }
  remove()
  try {
    await copyPages(file, beside)
    const restored = await openDatabase(`sqlite:${beside}`)
    try {
      await prepare(restored)
    } finally {
      await restored.close()
    }
    await copyPages(beside, path)
  } catch (error) {
    throw explainFile(error, path)
  } finally {
    remove()
  }
}

const UNCHANGED = 'Nothing was changed'

/** Says of every failure that nothing was restored. */
function explainFailure(error: unknown, file: string): unknown {
  if (!(error instanceof DatabaseUnusable)) return error
  const message =
    error instanceof NewerTables
      ? `${file} was made by a newer version of Mahi (${error.migrations.join(', ')}): restore it with that version`
      : error.message
  if (message === error.message && message.includes(UNCHANGED)) return error
  return new DatabaseUnusable(
    `${message}. ${UNCHANGED}: nothing was restored, and the service can continue.`,
    {
      cause: error,
    },
  )
}

async function holdsData(database: Database): Promise<boolean> {
  for (const table of ['occupation', 'submission', 'api_key'])
    if ((await database.get(`select 1 as found from ${table} limit 1`)) !== undefined) return true
  return false
}

function readStart(file: string): string {
  if (!existsSync(file)) throw new DatabaseUnusable(`${file} does not exist`)
  const start = Buffer.alloc(DUMP.length)
  try {
    const descriptor = openSync(file, 'r')
    try {
      readSync(descriptor, start)
    } finally {
      closeSync(descriptor)
    }
  } catch (cause) {
    const { code = '' } = cause as NodeJS.ErrnoException
    if (code === 'EISDIR') throw new DatabaseUnusable(`${file} is a folder. Name a backup in it`, { cause })
    const advice = code === 'EACCES' ? ': run the command as the user that made the backup' : ''
    throw new DatabaseUnusable(`${file} cannot be read (${code})${advice}`, { cause })
  }
  return start.toString('latin1')
}
