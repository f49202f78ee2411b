import type { Database, Reader } from '../../foundation/database/database.ts'
import { type Job, release } from '../../foundation/jobs/queue.ts'
import { changeSubmission } from '../lock.ts'
import {
  BLOCKS,
  CHUNKS,
  deleteDetached,
  deleteRepeatedly,
  detachFiles,
  detachRuns,
  ENTRIES,
} from './purge.ts'

/** The interval between sweeps for rows without an owner, in milliseconds: there should be none. */
const INTERVAL = 600_000

/** Owners that are looked up in one statement. */
const OWNERS = 1_000

/** Rows of a table that belong together, and their owner. */
interface Source {
  readonly table: string
  /** The first column of an index. */
  readonly column: string
  /** Precedes all of its values. */
  readonly start: string | number
  /** Whether `owner.name` has an owner. */
  readonly owned: string
  /** The second column of its key, and the rows deleted per transaction; absent if all of them are. */
  readonly part?: { readonly column: string; readonly most: number }
}

const OF_SUBMISSION = 'exists (select 1 from submission s where s.token = owner.name and s.purged is null)'
const OF_VERSION = 'exists (select 1 from file_version v where v.version = owner.name)'
const OF_RUN = 'exists (select 1 from submission_run r where r.run = owner.name)'

const SOURCES: readonly Source[] = [
  { table: 'file_version', column: 'token', start: '', owned: OF_SUBMISSION },
  { table: 'submission_file', column: 'token', start: '', owned: OF_SUBMISSION },
  { table: 'submission_job', column: 'token', start: '', owned: OF_SUBMISSION },
  { table: 'submission_run', column: 'token', start: '', owned: OF_SUBMISSION },
  {
    table: 'file_chunk',
    column: 'version',
    start: '',
    owned: OF_VERSION,
    part: { column: 'ordinal', most: CHUNKS },
  },
  {
    table: 'file_record',
    column: 'version',
    start: '',
    owned: OF_VERSION,
    part: { column: 'local_id', most: ENTRIES },
  },
  {
    table: 'result_block',
    column: 'run',
    start: 0,
    owned: OF_RUN,
    part: { column: 'block', most: BLOCKS },
  },
  { table: 'result_posting', column: 'run', start: 0, owned: OF_RUN },
]

/** Called with the number of submissions, files and runs whose rows were left, by table, if there were any. */
export type OnOrphans = (found: Readonly<Record<string, number>>) => void

/**
 * Deletes the data that belongs to no submission, or to one that was purged, and counts it.
 */
export async function sweepOrphans(database: Database, job: Job, onOrphans: OnOrphans): Promise<void> {
  const found: Record<string, number> = {}
  for (const source of SOURCES) {
    for await (const name of findOrphans(database, source)) {
      const deleted =
        source.owned === OF_SUBMISSION
          ? await deleteOfSubmission(database, String(name))
          : await deleteRows(database, source, name)
      if (deleted) found[source.table] = (found[source.table] ?? 0) + 1
    }
  }
  await database.write('job:orphans', async (writer) => {
    for (const [source, count] of Object.entries(found))
      await writer.run(
        `insert into orphan_count (source, total) values ($1, $2)
         on conflict (source) do update set total = orphan_count.total + excluded.total`,
        [source, count],
      )
    await release(writer, job, { due: Date.now() + INTERVAL, countAttempt: false })
  })
  if (Object.keys(found).length === 0) return
  await database.scrub()
  onOrphans(found)
}

/** The totals by table; every table is there from the start. */
export async function countOrphans(reader: Reader): Promise<Record<string, number>> {
  const rows = await reader.all<{ source: string; total: number }>('select source, total from orphan_count')
  const none = SOURCES.map(({ table }) => [table, 0] as const)
  return Object.fromEntries([...none, ...rows.map(({ source, total }) => [source, total] as const)])
}

/** Walks along the index from one value to the next, so that the time does not depend on the number of rows. */
async function* findOrphans(
  reader: Reader,
  { table, column, start, owned }: Source,
): AsyncGenerator<string | number> {
  const next = (after: string) => `(select min(${column}) from ${table} where ${column} > ${after})`
  for (let last = start; ; ) {
    const rows = await reader.all<{ name: string | number; owned: number }>(
      `with recursive owner (name, place) as (
         select ${next('$1')}, 1
         union all
         select ${next('owner.name')}, place + 1 from owner where owner.name is not null and place < ${OWNERS}
       )
       select name, case when ${owned} then 1 else 0 end as owned from owner where name is not null order by name`,
      [last],
    )
    for (const { name, owned } of rows) if (owned === 0) yield name
    const end = rows.at(-1)
    if (end === undefined) return
    last = end.name
  }
}

/** Returns `false` if somebody has deleted it, or the submission exists now. */
async function deleteOfSubmission(database: Database, token: string): Promise<boolean> {
  const detached = await changeSubmission(database, token, async (writer) => {
    const owner = await writer.get('select token from submission where token = $1 and purged is null', [
      token,
    ])
    if (owner !== undefined) return undefined
    const claims = await writer.get('select token from submission_file where token = $1 limit 1', [token])
    const versions = await detachFiles(writer, token)
    const runs = await detachRuns(writer, token)
    return { versions, runs, isLeft: claims !== undefined || versions.length + runs.length > 0 }
  })
  if (detached === undefined) return false
  await deleteDetached(database, token, detached)
  return detached.isLeft
}

/** Rows without a submission have the lock of the empty token. */
async function deleteRows(
  database: Database,
  { table, column, owned, part }: Source,
  name: string | number,
): Promise<boolean> {
  const some =
    part === undefined
      ? ''
      : `and ${part.column} in (
           select ${part.column} from ${table} where ${column} = $1 order by ${part.column} limit ${part.most})`
  // Again in the statement itself: it may have an owner since it was found.
  const remove = `delete from ${table} where ${column} = $1 and not ${owned.replaceAll('owner.name', '$1')} ${some}`
  return (await deleteRepeatedly(database, '', remove, name)) > 0
}
