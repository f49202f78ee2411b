import type { Database, Reader } from '../../foundation/database/database.ts'
import { bumpRevision } from '../../foundation/database/revisions.ts'

/** An organisation whose requests are refused. */
export interface Suspension {
  readonly eid: string
  /** Milliseconds since 1970. */
  readonly suspended: number
  /** The operator's note; callers do not see it. */
  readonly reason: string
}

export async function listSuspensions(reader: Reader): Promise<Suspension[]> {
  return await reader.all<Suspension>(
    'select eid, suspended, reason from organisation_suspension order by eid',
  )
}

export async function isSuspended(reader: Reader, eid: string): Promise<boolean> {
  return (await reader.get('select eid from organisation_suspension where eid = $1', [eid])) !== undefined
}

/** Suspends an organisation, or replaces the note of one that is suspended already and keeps its date. */
export async function storeSuspension(
  database: Database,
  { eid, reason }: Pick<Suspension, 'eid' | 'reason'>,
): Promise<void> {
  await database.write('keys', async (writer) => {
    await writer.run(
      `insert into organisation_suspension (eid, suspended, reason) values ($1, $2, $3)
       on conflict (eid) do update set reason = excluded.reason`,
      [eid, Date.now(), reason],
    )
    // Every process reads the suspensions again.
    await bumpRevision(writer, 'keys')
  })
}

/** Returns whether it was suspended. */
export async function removeSuspension(database: Database, eid: string): Promise<boolean> {
  return await database.write('keys', async (writer) => {
    const removed = await writer.run('delete from organisation_suspension where eid = $1', [eid])
    if (removed > 0) await bumpRevision(writer, 'keys')
    return removed > 0
  })
}
