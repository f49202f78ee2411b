import { type Database, DatabaseUnusable } from './database.ts'
import { migrate } from './migrate.ts'
import { openPostgres } from './postgres.ts'
import { openSqlite } from './sqlite.ts'

/** Connections of a command, which does one thing after the other. */
const DEFAULT_POOL_SIZE = 2

/**
 * Opens the database that `DATABASE_URL` names and brings its tables up to date.
 *
 * @throws {DatabaseUnusable} if it can't be used; the message says what to do
 */
export async function openDatabase(url: string, poolSize = DEFAULT_POOL_SIZE): Promise<Database> {
  const database = await connect(url, poolSize)
  try {
    await migrate(database)
    return database
  } catch (error) {
    await database.close()
    throw error
  }
}

async function connect(url: string, poolSize: number): Promise<Database> {
  if (url.startsWith('sqlite:')) return openSqlite(url.slice('sqlite:'.length))
  if (/^postgres(?:ql)?:/.test(url)) return openPostgres(url, poolSize)
  throw new DatabaseUnusable(
    'DATABASE_URL has an unknown kind of address: begin it with "sqlite:" or "postgres://"',
  )
}
