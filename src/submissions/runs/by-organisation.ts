import type { Database, Reader } from '../../foundation/database/database.ts'
import { changeSubmission } from '../submission/lock.ts'
import { readRun } from '../submission/runs.ts'
import { endRun } from './validation.ts'

/** What the service stores for an organisation. */
export interface Usage {
  readonly submissions: number
  /** Bytes of the uploaded files that are stored, also of replaced ones that are still to be deleted. */
  readonly bytes: number
  readonly runs: number
  /** Runs that are queued or in progress. */
  readonly active: number
  /** Findings of the stored runs, with those of older runs that are only counted. */
  readonly findings: number
}

export const NOTHING: Usage = { submissions: 0, bytes: 0, runs: 0, active: 0, findings: 0 }

/** Sums what is stored, for each organisation that has a submission or for one. */
export async function sumUsage(reader: Reader, eid?: string): Promise<Map<string, Usage>> {
  const sums = new Map<string, Usage>()
  const add = async (statement: string) => {
    for (const { eid: of, ...sum } of await reader.all<{ eid: string } & Partial<Usage>>(statement, [
      eid ?? null,
    ]))
      sums.set(of, { ...NOTHING, ...sums.get(of), ...sum })
  }
  await add('select eid, count(*) as submissions from submission where eid = coalesce($1, eid) group by eid')
  await add(
    `select s.eid, cast(sum(v.size) as bigint) as bytes from file_version v join submission s on s.token = v.token
     where s.eid = coalesce($1, s.eid) group by s.eid`,
  )
  await add(
    `select eid, count(*) as runs, cast(sum(total) as bigint) as findings,
       cast(sum(case when completed is null then 1 else 0 end) as bigint) as active
     from submission_run where eid = coalesce($1, eid) group by eid`,
  )
  return sums
}

/** Why a run of a suspended organisation has no result, for its caller. */
export const ENDED_BY_SUSPENSION =
  'The organisation was suspended before this run ended, so the run has no results. The files and earlier results are unchanged. Request a run again when the organisation has been resumed.'

/**
 * Cancels the runs of an organisation that are queued or in progress; their workers find them gone and store nothing.
 *
 * @returns their number
 */
export async function cancelRunsOf(database: Database, eid: string): Promise<number> {
  const active = await database.all<{ run: number; token: string }>(
    'select run, token from submission_run where eid = $1 and completed is null order by run',
    [eid],
  )
  let ended = 0
  for (const { run: number, token } of active)
    await changeSubmission(database, token, async (writer) => {
      const run = await readRun(writer, number)
      if (run === undefined || run.completed !== null) return
      await endRun(writer, run, 'Cancelled', ENDED_BY_SUSPENSION)
      ended++
    })
  return ended
}
