import type { Database, Reader, Writer } from '../foundation/database/database.ts'
import { firstMigration } from '../foundation/database/migrate.ts'

/** The last backup by a program, and its last failure since. Times are milliseconds since 1970. */
export interface BackupRecord {
  /** `mahi`, or another one that makes backups of the same database. */
  readonly program: string
  readonly finished: number | null
  readonly bytes: number | null
  readonly failed: number | null
  /** Why it failed, without any of the data. */
  readonly reason: string | null
}

const COLUMNS = 'program, finished, bytes, failed, reason'

/** The records, newest backup first. */
export async function listBackups(reader: Reader): Promise<BackupRecord[]> {
  return await reader.all<BackupRecord>(
    `select ${COLUMNS} from backup order by coalesce(finished, 0) desc, program`,
  )
}

/** Records a backup; failures before it no longer matter. */
export async function recordBackup(
  database: Database,
  { program, bytes = null }: { program: string; bytes?: number | null },
): Promise<void> {
  const row = { program, finished: Date.now(), bytes, failed: null, reason: null }
  await database.write('job:backup', (writer) => store(writer, row))
}

export async function recordFailure(database: Database, program: string, reason: string): Promise<void> {
  await database.write('job:backup', async (writer) => {
    const before = (await listBackups(writer)).find((row) => row.program === program)
    const { finished = null, bytes = null } = before ?? {}
    await store(writer, { program, finished, bytes, failed: Date.now(), reason })
  })
}

async function store(
  writer: Writer,
  { program, finished, bytes, failed, reason }: BackupRecord,
): Promise<void> {
  await writer.run(
    `insert into backup (${COLUMNS}) values ($1, $2, $3, $4, $5) on conflict (program) do update
     set finished = excluded.finished, bytes = excluded.bytes, failed = excluded.failed, reason = excluded.reason`,
    [program, finished, bytes, failed, reason],
  )
}

/**
 * Seconds since the newest backup, or since the database was created if there is none.
 *
 * @param records from `listBackups`
 */
export async function readBackupAge(
  reader: Reader,
  [newest]: readonly BackupRecord[],
  now: number,
): Promise<number> {
  return (now - (newest?.finished ?? (await firstMigration(reader)))) / 1000
}
