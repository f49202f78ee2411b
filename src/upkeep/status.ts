import { statfsSync } from 'node:fs'
import { dirname } from 'node:path'
import { listKeys } from '../access/keys.ts'
import type { Database, Reader } from '../database/database.ts'
import { readRevisions } from '../database/revisions.ts'
import { VERSION } from '../package/root.ts'
import { countByKey } from '../submissions/reencrypt.ts'
import { formatTimestamp } from '../text/timestamp.ts'
import { listTables } from './tables.ts'

const DAY = 86_400_000

/** Days before its expiry from which a key is listed as expiring. */
export const EXPIRING_DAYS = 30

export interface Status {
  readonly version: string
  readonly database: string
  readonly bytes: number
  /** Free bytes on the disk of a SQLite file. */
  readonly free: number | null
  readonly occupations: number
  readonly lastImport: string | null
  readonly revisions: Readonly<Record<string, number>>
  readonly submissions: { readonly total: number; readonly byState: Readonly<Record<string, number>> }
  readonly queue: { readonly waiting: number; readonly running: number; readonly oldest: string | null }
  readonly workers: number
  /** Files and runs by the key that encrypts them; those with `null` are not, or not completely. */
  readonly encryption: readonly { readonly id: string | null; readonly count: number }[]
  readonly keys: {
    readonly valid: number
    readonly expired: number
    readonly revoked: number
    readonly expiring: readonly { id: string; clientId: string; expires: string }[]
  }
}

/** The state of a database, for its operator. */
export async function readStatus(database: Database, now = Date.now()): Promise<Status> {
  return await database.snapshot(async (reader) => {
    const tables = new Set((await listTables(reader)).map(({ name }) => name))
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
      submissions: {
        total: await count('submission'),
        byState: tables.has('submission_run') ? await readStates(reader) : {},
      },
      ...(tables.has('job') ? await readQueue(reader, now) : NO_QUEUE),
      encryption: tables.has('file_version') ? await countByKey(reader) : [],
      keys: await readKeys(reader, now),
    }
  })
}

const NO_QUEUE = { queue: { waiting: 0, running: 0, oldest: null }, workers: 0 }

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

async function readStates(reader: Reader): Promise<Record<string, number>> {
  const rows = await reader.all<{ status: string; count: number }>(
    'select status, count(*) as count from submission_run group by status order by status',
  )
  return Object.fromEntries(rows.map(({ status, count }) => [status, count]))
}

async function readQueue(reader: Reader, now: number): Promise<Pick<Status, 'queue' | 'workers'>> {
  // A job that is not due yet, such as the next deletion of expired data, does not wait for a worker.
  const row = await reader.get<{ waiting: number; running: number; workers: number; oldest: number | null }>(
    `select count(case when due <= $1 and coalesce(lease, 0) <= $1 then 1 end) as waiting,
       count(case when lease > $1 then 1 end) as running,
       count(distinct case when lease > $1 then worker end) as workers,
       min(case when due <= $1 and coalesce(lease, 0) <= $1 then queued end) as oldest from job`,
    [now],
  )
  const { waiting = 0, running = 0, workers = 0, oldest = null } = row ?? {}
  return {
    queue: { waiting, running, oldest: oldest === null ? null : formatTimestamp(oldest) },
    workers,
  }
}

async function readKeys(reader: Reader, now: number): Promise<Status['keys']> {
  const all = await listKeys(reader)
  const alive = all.filter(({ revoked }) => revoked === null)
  const valid = alive.filter(({ expires }) => expires > now)
  return {
    valid: valid.length,
    expired: alive.length - valid.length,
    revoked: all.length - alive.length,
    expiring: valid
      .filter(({ expires }) => expires <= now + EXPIRING_DAYS * DAY)
      .sort((a, b) => a.expires - b.expires)
      .map(({ id, client, expires }) => ({ id, clientId: client, expires: formatTimestamp(expires) })),
  }
}

/** The status as text, with one item per line. */
export function describeStatus(status: Status): string {
  const { submissions, queue, encryption, keys } = status
  const states = Object.entries(submissions.byState).map(([state, count]) => `${count} ${state}`)
  const encrypted = encryption.map(({ id, count }) => `${count} ${id === null ? 'not' : `with ${id}`}`)
  const lines: [string, string][] = [
    ['Version', status.version],
    ['Database', `${status.database}, ${formatBytes(status.bytes)}`],
    ...(status.free === null ? [] : ([['Disk', `${formatBytes(status.free)} free`]] as [string, string][])),
    ['Occupations', `${status.occupations}; last import ${status.lastImport ?? 'never'}`],
    ['Submissions', `${submissions.total}${states.length > 0 ? `; runs: ${states.join(', ')}` : ''}`],
    [
      'Queue',
      `${queue.waiting} waiting, ${queue.running} running${queue.running === 0 ? '' : ` on ${status.workers} workers`}`,
    ],
    ['Encryption', `files and runs: ${encrypted.join(', ') || 'none'}`],
    ['Keys', `${keys.valid} valid, ${keys.expired} expired, ${keys.revoked} revoked`],
    ...keys.expiring.map(
      ({ id, clientId, expires }) =>
        ['Expiring', `${id}  ${clientId}  ${expires.slice(0, 10)}`] as [string, string],
    ),
  ]
  return lines.map(([name, text]) => `${name.padEnd(12)} ${text}\n`).join('')
}

function formatBytes(bytes: number): string {
  const mebibytes = bytes / 2 ** 20
  return mebibytes < 1024 ? `${mebibytes.toFixed(1)} MiB` : `${(mebibytes / 1024).toFixed(1)} GiB`
}

/** The text for somebody who starts a server in a terminal: its URL, and what is missing. */
export async function describeServer(url: string, database: Database): Promise<string> {
  const { occupations, keys } = await readStatus(database)
  const missing = [
    ...(occupations === 0 ? ['Import occupations: mahi occupations import FILE'] : []),
    ...(keys.valid === 0 ? ['Make a key for each client: mahi keys create --client NAME'] : []),
  ]
  const plural = (count: number, noun: string) => `${count} ${noun}${count === 1 ? '' : 's'}`
  const holds = `Mahi serves ${url} with ${plural(occupations, 'occupation')} and ${plural(keys.valid, 'valid key')}.`
  return [holds, ...missing, 'Ctrl+C stops it.'].join('\n')
}
