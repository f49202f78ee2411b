import type { Database } from '../foundation/database/database.ts'
import { enqueue } from '../foundation/jobs/queue.ts'
import type { SubmissionWriter } from './lock.ts'

/** What owns more rows than one transaction should delete: versions of files and runs. */
type Owner = 'version' | 'run'

interface Owned {
  readonly table: string
  /** The rest of its key, by which it is deleted, and how many rows at once: few enough not to block others for long. */
  readonly key: string
  readonly most: number
}

const OWNED: Readonly<Record<Owner, readonly Owned[]>> = {
  version: [
    { table: 'file_chunk', key: 'ordinal', most: 4 },
    { table: 'file_record', key: 'local_id', most: 5_000 },
  ],
  run: [
    { table: 'result_block', key: 'part, block', most: 1_000 },
    { table: 'result_posting', key: 'field, value, block', most: 2_000 },
  ],
}

/** What belongs to a submission itself, and is deleted with it at once. */
const OF_SUBMISSION = [
  'submission_file',
  'submission_job',
  'submission_cause',
  'submission_explanation',
  'submission_receipt',
]

/** Versions of files and runs that were deleted, and the findings of these. */
export interface DeletedCounts {
  readonly files: number
  readonly findings: number
}

/**
 * Deletes versions of files of a submission. Nobody can read them any more; a job deletes their content.
 *
 * @param condition on `v`, with values from `$2` on; without it, all of them
 * @returns their number
 */
export async function deleteVersions(
  writer: SubmissionWriter,
  token: string,
  { condition = 'true', values = [] }: { condition?: string; values?: readonly (string | number)[] } = {},
): Promise<number> {
  const deleted = await writer.all<{ version: string }>(
    `delete from file_version as v where v.token = $1 and ${condition} returning version`,
    [token, ...values],
  )
  await leave(
    writer,
    'version',
    deleted.map(({ version }) => version),
  )
  return deleted.length
}

/**
 * Deletes runs of a submission, as `deleteVersions` does versions.
 *
 * @param runs without them, all of its runs
 * @returns the number of their findings
 */
export async function deleteRuns(
  writer: SubmissionWriter,
  token: string,
  runs?: readonly number[],
): Promise<number> {
  // No run has the number 0, and PostgreSQL refuses an empty list.
  const which = runs === undefined ? '' : `and run in (${['0', ...runs].join(', ')})`
  const deleted = await writer.all<{ run: number; findings: number }>(
    `delete from submission_run where token = $1 ${which}
     returning run, case when trimmed is null then total else 0 end as findings`,
    [token],
  )
  await leave(
    writer,
    'run',
    deleted.map(({ run }) => String(run)),
  )
  return deleted.reduce((sum, { findings }) => sum + findings, 0)
}

/** Deletes the findings of a run that stays. */
export async function deleteFindings(writer: SubmissionWriter, run: number): Promise<void> {
  await writer.run('update submission_run set trimmed = $2 where run = $1', [run, Date.now()])
  await leave(writer, 'run', [String(run)])
}

/** Deletes all data of a submission; only its row and its activity stay. */
export async function deleteData(writer: SubmissionWriter, token: string): Promise<DeletedCounts> {
  for (const table of OF_SUBMISSION) await writer.run(`delete from ${table} where token = $1`, [token])
  const files = await deleteVersions(writer, token)
  const findings = await deleteRuns(writer, token)
  await writer.run('update submission set run = 0, total = 0, published = 0 where token = $1', [token])
  await leave(writer, 'token', [token])
  return { files, findings }
}

/** Leaves what belongs to deleted owners to a job, because it can take long. */
async function leave(
  writer: SubmissionWriter,
  owner: Deletion['owner'],
  names: readonly string[],
): Promise<void> {
  if (names.length === 0) return
  await writer.run(
    `insert into deletion (owner, name) select $1, value from ${writer.dialect.texts('$2', 'names')}`,
    [owner, JSON.stringify(names)],
  )
  await enqueue(writer, { kind: 'purge', subject: 'deletions', eid: '' })
}

/** An owner that was deleted; of a submission, everything was deleted before. */
export interface Deletion {
  readonly id: number
  readonly owner: Owner | 'token'
  readonly name: string
}

/** The oldest deletions that are left. */
export async function listDeletions(database: Database): Promise<Deletion[]> {
  return await database.all<Deletion>('select id, owner, name from deletion order by id limit 100')
}

/** Deletes what belonged to an owner, in many short transactions, which also need little room on a full disk. */
export async function deleteOwned(
  database: Database,
  { owner, name }: Pick<Deletion, 'owner' | 'name'>,
): Promise<void> {
  if (owner === 'token') return
  for (const { table, key, most } of OWNED[owner]) {
    const some = `select ${key} from ${table} where ${owner} = $1 order by ${key} limit ${most}`
    const statement = `delete from ${table} where ${owner} = $1 and (${key}) in (${some})`
    const value = owner === 'run' ? Number(name) : name
    for (let deleted = 1; deleted > 0; )
      deleted = await database.write('job:deletion', (writer) => writer.run(statement, [value]))
  }
}
