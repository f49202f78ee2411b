import type { Database, Reader } from '../../foundation/database/database.ts'
import { type Job, release } from '../../foundation/jobs/queue.ts'
import { changeSubmission } from '../lock.ts'
import {
  deleteInParts,
  deleteOwned,
  deleteOwners,
  findOwners,
  OWNED,
  OWNERS,
  type Owned,
  type Owner,
} from '../owned.ts'

/** The interval between sweeps for rows without an owner, in milliseconds: there should be none. */
const INTERVAL = 600_000

/** Owners that are looked up in one statement. */
const LOOKED_UP = 1_000

/** Whether `owner.name` exists. */
const EXISTS: Readonly<Record<Owner, string>> = {
  version: 'exists (select 1 from file_version v where v.version = owner.name)',
  run: 'exists (select 1 from submission_run r where r.run = owner.name)',
  token: 'exists (select 1 from submission s where s.token = owner.name and s.purged is null)',
}

const SOURCES: readonly (Owned & { readonly owner: Owner })[] = [
  ...Object.values(OWNERS).map((table) => ({ table, owner: 'token' as const })),
  ...(['token', 'version', 'run'] as const).flatMap((owner) =>
    OWNED[owner].map((owned) => ({ ...owned, owner })),
  ),
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
      const { owner } = source
      // Again in the statement itself: it may have an owner since it was found. Rows without one have no lock either.
      const isLost = `and not ${EXISTS[owner].replaceAll('owner.name', '$1')}`
      const deleted =
        owner === 'token'
          ? await deleteOfSubmission(database, String(name))
          : await deleteInParts(database, '', source, [owner, name], isLost)
      if (deleted > 0) found[source.table] = (found[source.table] ?? 0) + 1
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
  { table, owner: column }: (typeof SOURCES)[number],
): AsyncGenerator<string | number> {
  const next = (after: string) => `(select min(${column}) from ${table} where ${column} > ${after})`
  for (let last: string | number = column === 'run' ? 0 : ''; ; ) {
    const rows = await reader.all<{ name: string | number; owned: number }>(
      `with recursive owner (name, place) as (
         select ${next('$1')}, 1
         union all
         select ${next('owner.name')}, place + 1 from owner where owner.name is not null and place < ${LOOKED_UP}
       )
       select name, case when ${EXISTS[column]} then 1 else 0 end as owned from owner where name is not null order by name`,
      [last],
    )
    for (const { name, owned } of rows) if (owned === 0) yield name
    const end = rows.at(-1)
    if (end === undefined) return
    last = end.name
  }
}

/** Returns the number of rows, unless somebody has deleted them, or the submission exists now. */
async function deleteOfSubmission(database: Database, token: string): Promise<number> {
  const left = await changeSubmission(database, token, async (writer) => {
    const known = await writer.get('select token from submission where token = $1 and purged is null', [
      token,
    ])
    if (known !== undefined) return undefined
    return { rows: await deleteOwned(writer, 'token', token), owners: await findOwners(writer, token) }
  })
  if (left === undefined) return 0
  const { rows, owners } = left
  await deleteOwners(database, token, owners)
  return rows + owners.versions.length + owners.runs.length
}
