import type { Reader } from '../../foundation/database/database.ts'
import { readReopenings } from '../explanations/receipt.ts'
import { LAST_CHANGE } from '../submission/activity.ts'
import { countsFirst } from '../submission/counts-first.ts'

export const STANDINGS = [
  'NotStarted',
  'FilesReceived',
  'Validating',
  'HasErrors',
  'Incomplete',
  'Ready',
  'Submitted',
  'Reopened',
] as const
export type Standing = (typeof STANDINGS)[number]

/** How far an organisation is with a return. */
export interface OrganisationStanding {
  readonly eid: string
  readonly status: Standing
  readonly token?: string
  readonly errors?: number
  readonly warnings?: number
  readonly started?: number
  /** When somebody last changed the submission. */
  readonly active?: number
  readonly submitted?: number
  /** Until when it can be changed after it was opened again, and why; absent once it is submitted. */
  readonly reopenedUntil?: number
  readonly reopenReason?: string
  /** Since when the organisation is suspended. */
  readonly suspended?: number
}

interface Row {
  readonly token: string
  readonly eid: string
  readonly created: number
  readonly ended: string | null
  readonly endedAt: number | null
  readonly reopenedUntil: number | null
  readonly revision: number
  readonly files: number
  readonly active: number
  readonly activeAt: number | null
  readonly runRevision: number | null
  readonly errors: number | null
  readonly stopped: number | null
  readonly warnings: number | null
}

/** Counters of runs are read, never findings. Each lookup is by a key. */
const SUBMISSIONS = `select s.token, s.eid, s.created, s.ended, s.ended_at as "endedAt", s.revision,
    case when s.ended is null then s.reopened_until end as "reopenedUntil",
    case when exists (select 1 from submission_file f where f.token = s.token)
      then 1 else 0 end as files,
    case when exists (select 1 from submission_run q where q.token = s.token and q.completed is null)
      then 1 else 0 end as active,
    ${LAST_CHANGE} as "activeAt",
    r.revision as "runRevision", r.errors, r.warnings, r.stopped
  from submission s left join submission_run r on r.run = s.run
  where s.return_id = $1 and s.eid = coalesce($2, s.eid)
    and s.created is not null and coalesce(s.ended, '') <> 'Cancelled'
  order by ${countsFirst('s')}`

/**
 * How far the organisations are that have a submission for a return.
 *
 * @param eid only this organisation
 */
export async function readStandings(
  reader: Reader,
  returnId: string,
  eid?: string,
): Promise<Map<string, OrganisationStanding>> {
  const standings = new Map<string, OrganisationStanding>()
  const rows = await reader.all<Row>(SUBMISSIONS, [returnId, eid ?? null])
  const isReopened = rows.some(({ reopenedUntil }) => reopenedUntil !== null)
  const reopenings = isReopened ? await readReopenings(reader, returnId) : undefined
  for (const row of rows) {
    if (!standings.has(row.eid)) standings.set(row.eid, { ...toStanding(row), ...reopenings?.get(row.token) })
  }
  return standings
}

function toStanding(row: Row): OrganisationStanding {
  const { token, eid, created, ended, endedAt, errors, warnings, revision, runRevision } = row
  const { activeAt, reopenedUntil } = row
  const isChecked = runRevision !== null && runRevision === revision
  return {
    eid,
    token,
    status: statusOf(row, isChecked),
    started: created,
    ...(activeAt !== null && { active: activeAt }),
    ...(isChecked && errors !== null && { errors }),
    ...(isChecked && warnings !== null && { warnings }),
    ...(ended === 'Submitted' && endedAt !== null && { submitted: endedAt }),
    ...(reopenedUntil !== null && { reopenedUntil }),
  }
}

function statusOf(
  { ended, files, active, errors, stopped, reopenedUntil }: Row,
  isChecked: boolean,
): Standing {
  if (ended === 'Submitted') return 'Submitted'
  if (reopenedUntil !== null) return 'Reopened'
  if (active === 1) return 'Validating'
  if (files === 0) return 'NotStarted'
  if (!isChecked) return 'FilesReceived'
  if ((errors ?? 0) > 0) return 'HasErrors'
  return (stopped ?? 0) > 0 ? 'Incomplete' : 'Ready'
}
