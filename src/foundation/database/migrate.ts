import { type Database, DatabaseUnusable, type Reader } from './database.ts'
import { initial } from './migrations/0001-initial.ts'
import { instance } from './migrations/0002-instance.ts'
import { submissions } from './migrations/0003-submissions.ts'
import { history } from './migrations/0004-history.ts'
import { consoleSessions } from './migrations/0005-console.ts'
import { search } from './migrations/0006-search.ts'
import { primaryGroups } from './migrations/0007-primary-groups.ts'
import { sharedTexts } from './migrations/0008-shared-texts.ts'
import { orphans } from './migrations/0009-orphans.ts'
import { searchIndex } from './migrations/0010-search-index.ts'
import { runCounts } from './migrations/0011-run-counts.ts'
import { fileIndex } from './migrations/0012-file-index.ts'
import { accessLog } from './migrations/0013-access-log.ts'
import { nameSources } from './migrations/0014-name-sources.ts'
import { trimmedRuns } from './migrations/0015-trimmed-runs.ts'
import { activity } from './migrations/0016-activity.ts'
import { explanations } from './migrations/0017-explanations.ts'
import { returns } from './migrations/0018-returns.ts'
import { suspendedOrganisations } from './migrations/0020-suspended-organisations.ts'
import { backups } from './migrations/0021-backups.ts'
import { findingBlocks } from './migrations/0022-finding-blocks.ts'
import { confirmedCodings } from './migrations/0025-confirmed-codings.ts'
import { fileNotes } from './migrations/0026-file-notes.ts'
import { linkNames } from './migrations/0027-link-names.ts'
import { noAccessLog } from './migrations/0028-no-access-log.ts'
import type { Migration } from './migrations/migration.ts'

/** A newer version of Mahi has changed the tables. */
export class NewerTables extends DatabaseUnusable {
  /** @param migrations the names of those that this version does not know */
  readonly migrations: readonly string[]

  constructor(migrations: readonly string[]) {
    super(
      `This database was changed by a newer version of Mahi (${migrations.join(', ')}). Run that version, or restore a backup`,
    )
    this.migrations = migrations
  }
}

/** All migrations, oldest first. A released migration is never changed or removed. */
const MIGRATIONS: readonly Migration[] = [
  initial,
  instance,
  submissions,
  history,
  consoleSessions,
  search,
  primaryGroups,
  sharedTexts,
  orphans,
  searchIndex,
  runCounts,
  fileIndex,
  accessLog,
  nameSources,
  trimmedRuns,
  activity,
  explanations,
  returns,
  suspendedOrganisations,
  backups,
  findingBlocks,
  confirmedCodings,
  fileNotes,
  linkNames,
  noAccessLog,
]

/**
 * Brings the tables up to date and returns the names of the migrations applied. Several processes may do this at
 * once: each checks first without a lock, then again with it.
 *
 * @throws {DatabaseUnusable} if a newer version of Mahi has changed the tables
 */
export async function migrate(database: Database): Promise<string[]> {
  if ((await pending(database)).length === 0) return []
  return await database.write('schema', async (writer) => {
    const missing = await pending(writer)
    for (const migration of missing) {
      for (const statement of migration.statements(writer.dialect)) await writer.run(statement)
      await writer.run('insert into migration (name, applied) values ($1, $2)', [migration.name, Date.now()])
    }
    return missing.map(({ name }) => name)
  })
}

/** Whether the tables are up to date for this version. */
export async function isMigrated(reader: Reader): Promise<boolean> {
  const applied = await reader.all<{ name: string }>('select name from migration')
  return MIGRATIONS.every((migration) => applied.some(({ name }) => name === migration.name))
}

/** How long a rolling restart may take, in milliseconds. */
const ROLLING_RESTART = 3_600_000
/** How long the migrations of a new database may take. */
const CREATION = 60_000

/**
 * Whether no older version of Mahi can still run that does not know what a migration has added: the database was
 * created with it, or the migration is older than a rolling restart.
 */
export async function isSettled(reader: Reader, migration: string): Promise<boolean> {
  const rows = await reader.all<{ name: string; applied: number }>(
    'select name, applied from migration where name in ($1, $2)',
    [initial.name, migration],
  )
  const applied = (name: string) => rows.find((row) => row.name === name)?.applied
  const [created = 0, added] = [applied(initial.name), applied(migration)]
  if (added === undefined) return false
  return added - created < CREATION || Date.now() - added > ROLLING_RESTART
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

async function pending(reader: Reader): Promise<Migration[]> {
  if (!(await hasTables(reader))) return [...MIGRATIONS]

  const applied = (await reader.all<{ name: string }>('select name from migration')).map(({ name }) => name)
  const unknown = applied.filter((name) => !MIGRATIONS.some((migration) => migration.name === name))
  if (unknown.length > 0) {
    throw new NewerTables(unknown)
  }
  return MIGRATIONS.filter(({ name }) => !applied.includes(name))
}
