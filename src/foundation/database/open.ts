import { statSync } from 'node:fs'
import { basename, dirname, join, resolve } from 'node:path'
import { type Database, DatabaseUnusable } from './database.ts'
import { hasTables, migrate } from './migrate.ts'

/** Connections of a command, which works sequentially. */
const DEFAULT_POOL_SIZE = 2

export interface OpenOptions {
  readonly poolSize?: number
  /** The name that PostgreSQL shows for the connections. */
  readonly applicationName?: string
  /** For commands that need an existing database: a wrong URL must not create a new one. */
  readonly existing?: boolean
  /** What names the database, for errors; by default `DATABASE_URL`. */
  readonly setting?: string
}

/**
 * Opens the database at `DATABASE_URL` and brings its tables up to date.
 *
 * @throws {DatabaseUnusable} if it cannot be used; the message says what to do
 */
export async function openDatabase(url: string, options: OpenOptions = {}): Promise<Database> {
  const database = await connectDatabase(url, options)
  try {
    if (options.existing === true) await assertTables(database, options.setting)
    await migrate(database)
    return database
  } catch (error) {
    await database.close()
    throw error
  }
}

/** @throws {DatabaseUnusable} if the database has no tables of Mahi */
export async function assertTables(database: Database, setting?: string): Promise<void> {
  if (await hasTables(database)) return
  const advice =
    setting === undefined ? 'Check DATABASE_URL, or create them with "mahi migrate"' : `Check ${setting}`
  throw new DatabaseUnusable(`${database.address} has no Mahi tables. ${advice}`)
}

/** The file of a `sqlite:` URL. */
export function pathOf(url: string): string {
  return url.slice('sqlite:'.length)
}

/** What all names of a file have in common: paths and links, of a file that does not exist yet those to its folder. */
export function identifyFile(path: string): string {
  const found = statSync(path, { throwIfNoEntry: false })
  if (found !== undefined) return `${found.dev} ${found.ino}`
  return join(identifyFile(dirname(resolve(path))), basename(path))
}

/** Whether two URLs name one database: a file has many names, and a database of a server many users. */
export function isSameDatabase(one: string, other: string): boolean {
  const identify = (url: string) => {
    if (url.startsWith('sqlite:')) return identifyFile(pathOf(url))
    const { hostname, port, pathname, search } = new URL(url)
    return `${hostname}:${port || 5432}${pathname}${search}`
  }
  return identify(one) === identify(other)
}

/** Opens a database and leaves its tables unchanged. */
export async function connectDatabase(
  url: string,
  { poolSize = DEFAULT_POOL_SIZE, applicationName, existing = false, setting }: OpenOptions = {},
): Promise<Database> {
  // Only the driver that is used is loaded, because each thread and each command opens the database.
  if (url.startsWith('sqlite:')) {
    const { openSqlite } = await import('./sqlite.ts')
    return openSqlite(pathOf(url), existing, setting)
  }
  if (/^postgres(?:ql)?:/.test(url)) {
    const { openPostgres } = await import('./postgres.ts')
    return await openPostgres(url, poolSize, applicationName)
  }
  throw new DatabaseUnusable(`${setting ?? 'DATABASE_URL'} must start with "sqlite:" or "postgres://"`)
}
