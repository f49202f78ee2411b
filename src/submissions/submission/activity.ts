import type { FastifyRequest } from 'fastify'
import { type Actor, actorOf, SERVICE } from '../../api/access/principal.ts'
import type { Database, Reader } from '../../foundation/database/database.ts'
import { takeTurn } from '../../foundation/timed-turns.ts'
import { changeSubmission, type SubmissionWriter } from './lock.ts'

export const ACTIVITY_EVENTS = [
  'Created',
  'FileUploaded',
  'FileRepaired',
  'RepairUndone',
  'RecordsChanged',
  'CheckRequested',
  'CheckCancelled',
  'Checked',
  'Explained',
  'ExplanationWithdrawn',
  'Submitted',
  'Reopened',
  'Deleted',
  'Downloaded',
  'Expired',
  'Purged',
] as const
type ActivityEvent = (typeof ACTIVITY_EVENTS)[number]

/** When somebody last changed the submission `s`, in SQL; Mahi's own deletions and downloads are no changes. */
export const LAST_CHANGE = `(select a.time from activity a
  where a.token = s.token and a.event not in ('Downloaded', 'Expired', 'Purged') order by a.id desc limit 1)`

/** Numbers and codes, never data of learners. */
export type ActivityDetail = Readonly<Record<string, string | number | readonly string[] | undefined>>

export interface Activity {
  readonly token: string
  readonly event: ActivityEvent
  readonly actor: Actor
  /** The name of the file in its definition. */
  readonly file?: string | undefined
  /** The number of the run among all runs. */
  readonly run?: number | undefined
  readonly detail?: ActivityDetail
}

/** A stored activity. */
export interface ActivityRow {
  readonly id: number
  readonly time: number
  readonly event: ActivityEvent
  readonly actor: string
  readonly actorName: string
  readonly file: string | null
  readonly detail: string
}

const COLUMNS = 'id, time, event, actor, actor_name as "actorName", file, detail'

/** How long the same actor's similar activities count as one, in milliseconds: batches and polling would fill the list. */
const SIMILAR = 60_000

/** Records what was done, in the transaction that does it. */
export async function recordActivity(
  writer: SubmissionWriter,
  { token, event, actor, file, run, detail = {} }: Activity,
): Promise<void> {
  await writer.run(
    `insert into activity (token, time, event, actor, actor_name, file, run, detail)
     values ($1, $2, $3, $4, $5, $6, $7, $8)`,
    [token, Date.now(), event, actor.id, actor.name, file ?? null, run ?? null, JSON.stringify(detail)],
  )
}

/** Records one of many similar activities: the first within a minute stands for the others. */
export async function recordSimilar(writer: SubmissionWriter, activity: Activity): Promise<void> {
  const { token, event, actor, file } = activity
  const known = await writer.get(
    `select id from activity
     where token = $1 and event = $2 and actor = $3 and coalesce(file, '') = $4 and time > $5 limit 1`,
    [token, event, actor.id, file ?? '', Date.now() - SIMILAR],
  )
  if (known === undefined) await recordActivity(writer, activity)
}

/** Records that somebody downloads a file or the findings; call it before the first byte is sent. */
export async function recordDownload(
  database: Database,
  { method, principal }: Pick<FastifyRequest, 'method' | 'principal'>,
  { token, file }: { readonly token: string; readonly file: string },
): Promise<void> {
  // Of which nobody gets a byte.
  if (method === 'HEAD') return
  const actor = actorOf(principal)
  await changeSubmission(database, token, (writer) =>
    recordSimilar(writer, { token, event: 'Downloaded', actor, file }),
  )
}

/** Who requested a run, for what it leads to. */
export async function findRequester(reader: Reader, token: string, run: number): Promise<Actor> {
  const row = await reader.get<{ actor: string; name: string }>(
    `select actor, actor_name as name from activity
     where token = $1 and run = $2 and event = 'CheckRequested' order by id limit 1`,
    [token, run],
  )
  return row === undefined ? SERVICE : { id: row.actor, name: row.name }
}

/** A page of the activities of a submission, newest first. */
export async function listActivity(
  reader: Reader,
  token: string,
  { page, pageSize }: { page: number; pageSize: number },
): Promise<{ rows: ActivityRow[]; totalCount: number }> {
  const total = await reader.get<{ total: number }>(
    'select count(*) as total from activity where token = $1',
    [token],
  )
  const rows = await reader.all<ActivityRow>(
    `select ${COLUMNS} from activity where token = $1 order by id desc limit $2 offset $3`,
    [token, pageSize, (page - 1) * pageSize],
  )
  return { rows, totalCount: total?.total ?? 0 }
}

const BATCH = 500

/** All activities of a submission up to now, newest first, however many there are. */
export async function* readActivity(reader: Reader, token: string): AsyncGenerator<ActivityRow> {
  for (let before = Number.MAX_SAFE_INTEGER; ; ) {
    // Reads from SQLite wait for nothing.
    await takeTurn()
    const rows: ActivityRow[] = await reader.all<ActivityRow>(
      `select ${COLUMNS} from activity where token = $1 and id < $2 order by id desc limit ${BATCH}`,
      [token, before],
    )
    yield* rows
    const last = rows.at(-1)
    if (last === undefined) return
    before = last.id
  }
}

/** How many activities of each kind the organisations have had for a return since a time. */
export async function countActivities(
  reader: Reader,
  returnId: string,
  since: number,
): Promise<{ event: ActivityEvent; eid: string; total: number }[]> {
  return await reader.all(
    `select a.event, s.eid, count(*) as total from activity a join submission s on s.token = a.token
     where a.time > $2 and s.return_id = $1 group by a.event, s.eid`,
    [returnId, since],
  )
}

/** The tokens of the submissions that were deleted, also of those that retention has removed since. */
export async function listDeleted(reader: Reader): Promise<string[]> {
  const rows = await reader.all<{ token: string }>(`select token from activity where event = 'Deleted'`)
  return rows.map(({ token }) => token)
}

/** Deletes the activities of a submission whose record is deleted, except that it was: a restore must not bring it back. */
export async function forgetActivity(writer: SubmissionWriter, token: string): Promise<void> {
  await writer.run(`delete from activity where token = $1 and event <> 'Deleted'`, [token])
}
