import { statfsSync } from 'node:fs'
import { dirname } from 'node:path'
import {
  type ExpiringKey,
  type KeyDescription,
  listExpiring,
  listKeys,
  listValid,
} from '../api/access/keys.ts'
import { countOccupations } from '../catalogue/records/rows.ts'
import { type IndexState, readIndexState } from '../catalogue/search/index-store.ts'
import type { Database, Reader } from '../foundation/database/database.ts'
import { pathOf } from '../foundation/database/open.ts'
import { type Revision, type RevisionName, readRevisions } from '../foundation/database/revisions.ts'
import { countJobs, type JobCounts } from '../foundation/jobs/queue.ts'
import { VERSION } from '../foundation/package/root.ts'
import { readPause } from '../submissions/retention/pause.ts'
import { countEndings, type Ending, type EndingCount } from '../submissions/runs/run-counts.ts'
import { countRuns } from '../submissions/submission/runs.ts'
import { countSubmissions } from '../submissions/submission/submission.ts'
import { type BackupRecord, listBackups, readBackupAge } from './backups.ts'

type Counts = Readonly<Record<string, number>>

/** What is so in a database: `mahi status`, `GET /v1/overview` and the metrics show parts of it. */
export interface State {
  readonly version: string
  /** The URL of the database, without its password. */
  readonly database: string
  readonly bytes: number
  /** Free bytes on the disk of a SQLite file. */
  readonly free: number | null
  readonly occupations: number
  readonly revisions: Readonly<Record<RevisionName, Revision>>
  readonly searchIndex: IndexState
  /** By status. */
  readonly submissions: Counts
  /** By status. */
  readonly runs: Counts
  readonly endings: Readonly<Record<Ending, EndingCount>>
  /** By kind. */
  readonly jobs: readonly JobCounts[]
  /** Until when nothing is deleted by age, in milliseconds since 1970. */
  readonly retentionPause: number | undefined
  /** Newest first. */
  readonly backups: readonly BackupRecord[]
  /** Seconds since the newest backup, or since the database was created if there is none. */
  readonly backupAge: number
  readonly keys: readonly KeyDescription[]
  readonly validKeys: number
  /** Those that expire first come first. */
  readonly expiringKeys: readonly ExpiringKey[]
}

/**
 * Reads the state of a database with the tables of this version. Each read has a time limit, which those of a snapshot
 * have not: a locked table must not hold up the metrics that show it.
 */
export async function readState(database: Database, now = Date.now()): Promise<State> {
  const keys = await listKeys(database)
  const backups = await listBackups(database)
  return {
    version: VERSION,
    database: database.address,
    bytes: await readSize(database),
    free: readFree(database),
    occupations: await countOccupations(database),
    revisions: await readRevisions(database),
    searchIndex: await readIndexState(database),
    submissions: await countSubmissions(database),
    runs: await countRuns(database),
    endings: await countEndings(database),
    jobs: await countJobs(database, now),
    retentionPause: await readPause(database, now),
    backups,
    backupAge: await readBackupAge(database, backups, now),
    keys,
    validKeys: listValid(keys, now).length,
    expiringKeys: listExpiring(keys, now),
  }
}

/** The keys that somebody must replace. */
export function listUnreplaced({ expiringKeys }: State): KeyDescription[] {
  return expiringKeys.filter(({ successor }) => successor === undefined).map(({ key }) => key)
}

async function readSize(reader: Reader): Promise<number> {
  const row = await reader.get<{ bytes: number }>(
    reader.dialect.name === 'sqlite'
      ? 'select page_count * page_size as bytes from pragma_page_count(), pragma_page_size()'
      : 'select pg_database_size(current_database()) as bytes',
  )
  return row?.bytes ?? 0
}

function readFree({ address, dialect }: Database): number | null {
  if (dialect.name !== 'sqlite') return null
  const { bavail, bsize } = statfsSync(dirname(pathOf(address)))
  return bavail * bsize
}
