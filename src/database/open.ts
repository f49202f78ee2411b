import { type Database, DatabaseUnusable } from './database.ts'
import { hasTables, migrate } from './migrate.ts'
import { openPostgres } from './postgres.ts'
import { openSqlite } from './sqlite.ts'

/** Connections of a command, which does one thing after the other. */
const DEFAULT_POOL_SIZE = 2

export interface OpenOptions {
  readonly poolSize?: number
  /** For commands that only make sense on a database that is in use: a wrong address must not make a new one. */
  readonly existing?: boolean
}

/**
 * Opens the database that `DATABASE_URL` names and brings its tables up to date.
 *
 * @throws {DatabaseUnusable} if it can't be used; the message says what to do
 */
export async function openDatabase(
  url: string,
  { poolSize = DEFAULT_POOL_SIZE, existing = false }: OpenOptions = {},
): Promise<Database> {
  const database = await connectDatabase(url, { poolSize, existing })
  try {
    if (existing && !(await hasTables(database))) {
      throw new DatabaseUnusable(
        `${database.address} has no Mahi tables. Check DATABASE_URL, or create them with "mahi migrate"`,
      )
    }
    await migrate(database)
    return database
  } catch (error) {
    await database.close()
    throw error
  }
}

/** Opens a database and leaves its tables as they are. */
export async function connectDatabase(
  url: string,
  { poolSize = DEFAULT_POOL_SIZE, existing = false }: OpenOptions = {},
): Promise<Database> {
  if (url.startsWith('sqlite:')) return openSqlite(url.slice('sqlite:'.length), existing)
  if (/^postgres(?:ql)?:/.test(url)) return openPostgres(url, poolSize)
  throw new DatabaseUnusable('DATABASE_URL must start with "sqlite:" or "postgres://"')
}
