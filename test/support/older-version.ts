import { type ImportOptions, importOccupations } from '../../src/catalogue/import/import.ts'
import type { Database, Writer } from '../../src/foundation/database/database.ts'
import { sourceOf } from './source.ts'

/** The tables that only versions with a history know. */
const HISTORY = ['catalogue_revision', 'occupation_past', 'occupation_removed'] as const

/**
 * Imports as version 0.1.0 does in a rolling upgrade: the records and the current revision change, but the history
 * does not. There is no entry for the revision, no removal, no earlier content, and a record keeps the revision that
 * it had.
 */
export async function importAsOlderVersion(
  database: Database,
  records: readonly unknown[],
  options: Pick<ImportOptions, 'replace' | 'keepDates'> = {},
): Promise<void> {
  const older: Pick<Database, 'write'> = {
    write: (lock, work, onWait) =>
      database.write(
        lock,
        async (writer) => {
          await saveHistory(writer)
          const result = await work(writer)
          await restoreHistory(writer)
          return result
        },
        onWait,
      ),
  }
  await importOccupations(
    Object.assign(Object.create(database) as Database, older),
    sourceOf(records),
    options,
  )
}

async function saveHistory(writer: Writer): Promise<void> {
  await writer.run('create temporary table saved_occupation as select code, revision from occupation')
  for (const table of HISTORY)
    await writer.run(`create temporary table saved_${table} as select * from ${table}`)
}

async function restoreHistory(writer: Writer): Promise<void> {
  // 0 is the default of the column, which version 0.1.0 does not know.
  await writer.run(
    'update occupation set revision = coalesce((select s.revision from saved_occupation s where s.code = occupation.code), 0)',
  )
  for (const table of HISTORY) {
    await writer.run(`delete from ${table}`)
    await writer.run(`insert into ${table} select * from saved_${table}`)
    await writer.run(`drop table saved_${table}`)
  }
  await writer.run('drop table saved_occupation')
}
