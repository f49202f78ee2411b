import { statfsSync } from 'node:fs'
import { dirname } from 'node:path'
import { listExpiring, listKeys, listValid } from '../api/access/keys.ts'
import { readIndexState } from '../catalogue/search/index-store.ts'
import type { Database, Reader } from '../foundation/database/database.ts'
import { readRevisions } from '../foundation/database/revisions.ts'
import { countJobs, type JobCounts } from '../foundation/jobs/queue.ts'
import { VERSION } from '../foundation/package/root.ts'
import { count, formatBytes, formatNumber } from '../foundation/text/format-number.ts'
import { formatTimestamp } from '../foundation/text/timestamp.ts'
import { countByKey } from '../submissions/encryption/open-sealer.ts'
import { countRuns } from '../submissions/findings/runs.ts'
import { type BackupRecord, listBackups } from './backups.ts'

export interface Status {
  readonly version: string
  readonly database: string
  readonly bytes: number
  /** Free bytes on the disk of a SQLite file. */
  readonly free: number | null
  readonly occupations: number
  readonly lastImport: string | null
  readonly revisions: Readonly<Record<string, number>>
  readonly searchIndex: SearchIndexStatus
  readonly submissions: { readonly total: number; readonly byState: Readonly<Record<string, number>> }
  readonly queue: { readonly waiting: number; readonly running: number; readonly oldest: string | null }
  readonly workers: number
  /** Files and runs by the key that encrypts them; those with `null` are not, or not completely. */
  readonly encryption: readonly { readonly id: string | null; readonly count: number }[]
  /** The last backup that each program has recorded, and its last failure since. */
  readonly backups: readonly {
    readonly program: string
    readonly finished: string | null
    readonly bytes: number | null
    readonly failed: string | null
    readonly reason: string | null
  }[]
  readonly keys: {
    readonly valid: number
    readonly expired: number
    readonly revoked: number
    /** With the id of the key that replaces it, if there is one: nobody needs to renew it. */
    readonly expiring: readonly { id: string; clientId: string; expires: string; replacedBy?: string }[]
  }
}

/** The search index: whether it is that of the catalogue, and otherwise why not. */
interface SearchIndexStatus {
  readonly state: 'current' | 'waiting' | 'failed'
  /** Bytes of the stored index, which servers open also while it is not current; `null` if there is none. */
  readonly bytes: number | null
  /** The revision of the catalogue that it was built from; `null` if there is none. */
  readonly revision: number | null
  readonly failed: string | null
  readonly reason: string | null
}

/** The state of a database with the tables of this version, for its operator. */
export async function readStatus(database: Database, now = Date.now()): Promise<Status> {
  return await database.snapshot(async (reader) => {
    const count = async (table: string) =>
      (await reader.get<{ count: number }>(`select count(*) as count from ${table}`))?.count ?? 0
    const { catalogue, keys, run } = await readRevisions(reader)
    return {
      version: VERSION,
      database: database.address,
      bytes: await readSize(reader),
      free: readFree(database),
      occupations: await count('occupation'),
      lastImport: catalogue.changed === 0 ? null : formatTimestamp(catalogue.changed),
      revisions: { catalogue: catalogue.number, keys: keys.number, run: run.number },
      searchIndex: await readSearchIndex(reader),
      submissions: { total: await count('submission'), byState: await countRuns(reader) },
      ...(await readQueue(reader, now)),
      encryption: await countByKey(reader),
      backups: (await listBackups(reader)).map(describeBackup),
      keys: await readKeys(reader, now),
    }
  })
}

function describeBackup({ program, finished, bytes, failed, reason }: BackupRecord) {
  const show = (time: number | null) => (time === null ? null : formatTimestamp(time))
  return { program, finished: show(finished), bytes, failed: show(failed), reason }
}

async function readSearchIndex(reader: Reader): Promise<SearchIndexStatus> {
  const { stored, failure, current } = await readIndexState(reader)
  return {
    state: current ? 'current' : failure === undefined ? 'waiting' : 'failed',
    bytes: stored?.bytes ?? null,
    revision: stored?.revision.number ?? null,
    failed: failure === undefined ? null : formatTimestamp(failure.failed),
    reason: failure?.reason ?? null,
  }
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
  const { bavail, bsize } = statfsSync(dirname(address.slice('sqlite:'.length)))
  return bavail * bsize
}

async function readQueue(reader: Reader, now: number): Promise<Pick<Status, 'queue' | 'workers'>> {
  const kinds = await countJobs(reader, now)
  const sum = (value: (counts: JobCounts) => number) => kinds.reduce((all, each) => all + value(each), 0)
  const oldest = Math.min(...kinds.flatMap(({ queued }) => queued ?? []))
  return {
    queue: {
      waiting: sum(({ waiting }) => waiting),
      running: sum(({ running }) => running),
      oldest: Number.isFinite(oldest) ? formatTimestamp(oldest) : null,
    },
    workers: sum(({ workers }) => workers),
  }
}

/** Counts the keys, and lists those that expire soon. */
export async function readKeys(reader: Reader, now: number): Promise<Status['keys']> {
  const all = await listKeys(reader)
  const alive = all.filter(({ revoked }) => revoked === null)
  const valid = listValid(all, now)
  return {
    valid: valid.length,
    expired: alive.length - valid.length,
    revoked: all.length - alive.length,
    expiring: listExpiring(all, now).map(({ key: { id, client, expires }, successor }) => ({
      id,
      clientId: client,
      expires: formatTimestamp(expires),
      ...(successor !== undefined && { replacedBy: successor.id }),
    })),
  }
}

/** The status as text, with one item per line. */
export function describeStatus(status: Status): string {
  const { submissions, queue, encryption, backups, keys } = status
  const states = Object.entries(submissions.byState).map(([state, runs]) => `${formatNumber(runs)} ${state}`)
  const encrypted = encryption.map(
    ({ id, count: kept }) => `${formatNumber(kept)} ${id === null ? 'not' : `with ${id}`}`,
  )
  const lines: [string, string][] = [
    ['Version', status.version],
    ['Database', `${status.database}, ${formatBytes(status.bytes)}`],
    ...(status.free === null ? [] : ([['Disk', `${formatBytes(status.free)} free`]] as [string, string][])),
    ['Occupations', `${formatNumber(status.occupations)}; last import ${status.lastImport ?? 'never'}`],
    ['Search index', describeIndex(status.searchIndex)],
    [
      'Submissions',
      `${formatNumber(submissions.total)}${states.length > 0 ? `; runs: ${states.join(', ')}` : ''}`,
    ],
    [
      'Queue',
      `${formatNumber(queue.waiting)} waiting, ${queue.running} running${queue.running === 0 ? '' : ` on ${count(status.workers, 'worker')}`}`,
    ],
    ['Encryption', `files and runs: ${encrypted.join(', ') || 'none'}`],
    ...(backups.length === 0
      ? ([['Backup', 'none recorded: see "Backups" in docs/operations.md']] as [string, string][])
      : backups.map((backup) => ['Backup', showBackup(backup)] as [string, string])),
    ['Keys', `${keys.valid} valid, ${keys.expired} expired, ${keys.revoked} revoked`],
    ...keys.expiring.map(
      ({ id, clientId, expires, replacedBy }) =>
        [
          'Expiring',
          `${id}  ${clientId}  ${expires.slice(0, 10)}${replacedBy === undefined ? '' : `; ${replacedBy} replaces it`}`,
        ] as [string, string],
    ),
  ]
  return lines.map(([name, text]) => `${name.padEnd(13)} ${text}\n`).join('')
}

function showBackup({ program, finished, bytes, failed, reason }: Status['backups'][number]): string {
  const made = finished === null ? 'never' : `${finished}${bytes === null ? '' : `, ${formatBytes(bytes)}`}`
  return `${made}, by ${program}${failed === null ? '' : `; failed on ${failed}: ${reason}`}`
}

function describeIndex({ state, bytes, revision, failed, reason }: SearchIndexStatus): string {
  if (state === 'current') return `${formatBytes(bytes ?? 0)}, of revision ${revision}`
  const meanwhile = revision === null ? 'search is unavailable' : `search uses that of revision ${revision}`
  if (state === 'waiting') return `not built yet; ${meanwhile}`
  return `could not be built on ${failed}: ${reason}; ${meanwhile}. Build it with "mahi occupations index"`
}

/** The text for somebody who starts a server in a terminal: its URL, and what is missing. */
export async function describeServer(url: string, database: Database): Promise<string> {
  const { occupations, keys } = await readStatus(database)
  const missing = [
    ...(occupations === 0 ? ['Import occupations: mahi occupations import FILE'] : []),
    ...(keys.valid === 0 ? ['Make a key for each client: mahi keys create --client NAME'] : []),
  ]
  const holds = `Mahi serves ${url} with ${count(occupations, 'occupation')} and ${count(keys.valid, 'valid key')}.`
  return [holds, ...missing, 'Ctrl+C stops it.'].join('\n')
}
