import { type Database, DatabaseUnusable, type Reader } from './database.ts'
import type { Migration } from './migration.ts'
import { isForbidden } from './postgres-errors.ts'
import { schema } from './schema.ts'

/** All migrations, oldest first. A released migration is never changed or removed. */
const MIGRATIONS: readonly Migration[] = [schema]

/** Another version of Mahi has made or changed the tables. */
export class OtherTables extends DatabaseUnusable {
  readonly migrations: readonly string[]

  /**
   * @param migrations the names of those that this version does not know
   * @param remedy what can be done besides running the other version
   */
  constructor(migrations: readonly string[], remedy = 'restore a backup') {
    super(
      `The tables of this database are of another version of Mahi (${migrations.join(', ')}). Run that version, or ${remedy}`,
    )
    this.migrations = migrations
  }
}

/** The first migration of the versions before 1.0. */
const BEFORE_1 = '0001-initial'

/**
 * Brings the tables up to date and returns the names of the migrations applied. Several processes may do this at
 * once: each checks first without a lock, then again with it.
 *
 * @throws {DatabaseUnusable} if another version of Mahi made the tables, or this user may not change them
 */
export async function migrate(database: Database): Promise<string[]> {
  if ((await listMissing(database)).length === 0) return []
  try {
    return await database.write('schema', async (writer) => {
      const missing = await listMissing(writer)
      for (const { name, statements } of missing) {
        for (const statement of statements(writer.dialect)) await writer.run(statement)
        await writer.run('insert into migration (name, applied) values ($1, $2)', [name, Date.now()])
      }
      return missing.map(({ name }) => name)
    })
  } catch (error) {
    if (!isForbidden(error)) throw error
    throw new DatabaseUnusable(
      `The tables of ${database.address} are not up to date, and this user may not change them. Run "mahi migrate" with the DATABASE_URL of their owner first`,
      { cause: error },
    )
  }
}

/** Whether the tables are up to date for this version. */
export async function isMigrated(reader: Reader): Promise<boolean> {
  return (await listMissing(reader)).length === 0
}

/** Whether the database has tables of Mahi, of whatever version. */
export async function hasTables(reader: Reader): Promise<boolean> {
  const tables = await reader.all<{ name: string }>(reader.dialect.tables)
  return tables.some(({ name }) => name === 'migration')
}

/** When the tables were created, in milliseconds since 1970. */
export async function firstMigration(reader: Reader): Promise<number> {
  return (await reader.get<{ time: number }>('select min(applied) as time from migration'))?.time ?? 0
}

/** @throws {DatabaseUnusable} if another version of Mahi made the tables */
async function listMissing(reader: Reader): Promise<readonly Migration[]> {
  if (!(await hasTables(reader))) return MIGRATIONS
  const applied = (await reader.all<{ name: string }>('select name from migration')).map(({ name }) => name)
  if (applied.includes(BEFORE_1))
    throw new DatabaseUnusable(
      'This database was made by Mahi 0.x, which this version cannot read. Export its catalogue with Mahi 0.2 ("mahi occupations export"), and import it into a new database with this version: see "From 0.x to 1.0" in docs/operations.md',
    )
  const unknown = applied.filter((name) => !MIGRATIONS.some((migration) => migration.name === name))
  if (unknown.length > 0) throw new OtherTables(unknown)
  return MIGRATIONS.filter(({ name }) => !applied.includes(name))
}
