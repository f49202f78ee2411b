import { randomBytes } from 'node:crypto'
import type { ReadFile } from '../../engines/records/index.ts'
import type { Reader, Writer } from '../../foundation/database/database.ts'
import {
  bumpRevision,
  CATALOGUE_REVISION,
  type Revision,
  readRevisions,
} from '../../foundation/database/revisions.ts'
import { enqueue } from '../../foundation/jobs/queue.ts'

/** The default number of days for which a superseded revision can be restored. */
const DEFAULT_HISTORY_DAYS = 90

const DAY = 86_400_000

/** The effect of a change on the catalogue, in numbers of records. */
export interface ChangeCounts {
  readonly created: number
  readonly updated: number
  readonly unchanged: number
  readonly deleted: number
}

/** A revision of the catalogue and its origin. */
export interface CatalogueRevision {
  readonly number: number
  /** When it was stored. */
  readonly stored: number
  /** The command, such as `import`. */
  readonly command: string
  readonly files: readonly ReadFile[]
  readonly created: number
  readonly updated: number
  readonly deleted: number
  /** Records in the catalogue. */
  readonly total: number
  /** Whether its content can still be read. */
  readonly kept: boolean
  /** What its amounts of pay are, as the import stated it; empty if none did. */
  readonly payBasis: string
}

/** The origin of a revision. */
export interface Origin {
  readonly command: string
  readonly files: readonly ReadFile[]
  /** What the amounts of pay are, such as `USD 2023, United States`; without it, what they were. */
  readonly payBasis?: string
}

/** How long the history is kept. */
export interface Retention {
  /** Days for which a superseded revision stays readable; the previous revision is always kept. */
  readonly historyDays: number
}

const DEFAULT_RETENTION: Retention = { historyDays: DEFAULT_HISTORY_DAYS }

/**
 * The current time, or if a clock was ahead, the millisecond after the newest stored date or last import. This is
 * later than every date that a reader can have seen, including those of deleted records.
 */
export async function nextDate(writer: Writer): Promise<number> {
  const { catalogue } = await readRevisions(writer)
  const newest = await writer.get<{ updated: number | null }>(
    `select max(start) as updated from occupation_date
     where span = 0 and filter = (select id from occupation_filter where major = '' and minor = '')`,
  )
  return Math.max(Date.now(), Math.max(catalogue.changed, newest?.updated ?? Number.NEGATIVE_INFINITY) + 1)
}

/** The revision that a transaction is about to create. */
export async function nextRevision(writer: Writer, changed: number): Promise<Revision> {
  const { catalogue } = await readRevisions(writer)
  return { number: catalogue.number + 1, changed }
}

/** Increments the revision, logs it, requests its search index, and deletes expired history. */
export async function logRevision(
  writer: Writer,
  revision: Revision,
  origin: Origin,
  counts: ChangeCounts,
  retention: Retention = DEFAULT_RETENTION,
): Promise<void> {
  await bumpRevision(writer, 'catalogue', revision.changed)
  await insertRevision(writer, revision, origin, counts)
  await enqueue(writer, { kind: 'index', subject: String(revision.number), eid: '' })
  await forget(writer, revision.number, retention)
}

async function insertRevision(
  writer: Writer,
  { number, changed }: Revision,
  { command, files, payBasis }: Origin,
  { created = 0, updated = 0, deleted = 0 }: Partial<ChangeCounts>,
): Promise<void> {
  const whole = await writer.get<{ total: number }>(
    `select total from occupation_filter where major = '' and minor = ''`,
  )
  await writer.run(
    `insert into catalogue_revision
      (number, id, changed, stored, command, files, created, updated, deleted, total, kept, pay_basis)
     values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, 1, $11)`,
    [
      number,
      randomBytes(16).toString('hex'),
      changed,
      Date.now(),
      command,
      JSON.stringify(files),
      created,
      updated,
      deleted,
      whole?.total ?? 0,
      payBasis ?? (await readPayBasis(writer)),
    ],
  )
}

/** What the amounts of pay in the catalogue are; empty if no import stated it. */
export async function readPayBasis(reader: Reader): Promise<string> {
  const row = await reader.get<{ basis: string }>(
    'select pay_basis as basis from catalogue_revision order by number desc limit 1',
  )
  return row?.basis ?? ''
}

/** Keeps every revision that was current at any time since the cut-off, and the previous revision. */
async function forget(writer: Writer, current: number, { historyDays }: Retention): Promise<void> {
  const cutOff = Date.now() - historyDays * DAY
  const row = await writer.get<{ number: number | null }>(
    'select max(number) as number from catalogue_revision where stored < $1',
    [cutOff],
  )
  const oldest = Math.min(row?.number ?? 0, current - 1)
  await writer.run('update catalogue_revision set kept = 0 where number < $1 and kept = 1', [oldest])
  await writer.run('delete from occupation_past where until <= $1', [oldest])
}

/** The latest revisions, newest first. */
export async function listRevisions(reader: Reader, limit: number): Promise<CatalogueRevision[]> {
  const rows = await reader.all<Omit<CatalogueRevision, 'files' | 'kept'> & { files: string; kept: number }>(
    `select number, stored, command, files, created, updated, deleted, total, kept, pay_basis as "payBasis"
     from catalogue_revision order by number desc limit $1`,
    [limit],
  )
  return rows.map((row) => ({
    ...row,
    files: JSON.parse(row.files) as ReadFile[],
    kept: row.kept === 1,
  }))
}

/** SQL for the oldest readable revision. */
export const OLDEST_KEPT = '(select min(number) from catalogue_revision where kept = 1)'

/** The numbers of the oldest readable revision and of the current one. */
export async function readKept(reader: Reader): Promise<{ oldest: number; current: number }> {
  const row = await reader.get<{ oldest: number; current: number }>(
    `select r.number as current, ${OLDEST_KEPT} as oldest from ${CATALOGUE_REVISION} r`,
  )
  if (row === undefined) throw new Error('the database has no revision of the catalogue')
  return row
}
