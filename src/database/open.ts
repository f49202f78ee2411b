import { type Database, DatabaseUnusable } from './database.ts'
import { migrate } from './migrate.ts'
import { openSqlite } from './sqlite.ts'

/**
 * Opens the database that `DATABASE_URL` names and brings its tables up to date.
 *
 * @throws {DatabaseUnusable} if it can't be used; the message says what to do
 */
export async function openDatabase(url: string): Promise<Database> {
  const database = await connect(url)
  try {
    await migrate(database)
    return database
  } catch (error) {
    await database.close()
    throw error
  }
}

async function connect(url: string): Promise<Database> {
  if (url.startsWith('sqlite:')) return openSqlite(url.slice('sqlite:'.length))
  throw new DatabaseUnusable(`DATABASE_URL has an unknown kind of address: begin it with "sqlite:"`)
}
