import type { Database } from '../../foundation/database/database.ts'
import { enqueue } from '../../foundation/jobs/queue.ts'
import { deleteCauses } from './cause-counts.ts'
import type { SubmissionWriter } from './lock.ts'

/** What owns more rows than one transaction should delete: versions of files and runs. */
type Owner = 'version' | 'run'

interface Owned {
  readonly table: string
  /** The rest of its key, by which it is deleted, and how many rows at once: few enough not to block others for long. */
  readonly key: string
  readonly most: number
}

interface Owning {
  readonly table: string
  /** How many stored findings a row has, in SQL. */
  readonly findings: string
  readonly owned: readonly Owned[]
}

const OWNERS: Readonly<Record<Owner, Owning>> = {
  version: {
    table: 'file_version',
    findings: '0',
    owned: [
      { table: 'file_chunk', key: 'ordinal', most: 4 },
      { table: 'file_record', key: 'local_id', most: 5_000 },
    ],
  },
  run: {
    table: 'submission_run',
    findings: 'case when trimmed is null then total else 0 end',
    owned: [
      { table: 'result_block', key: 'part, block', most: 1_000 },
      { table: 'result_posting', key: 'field, bucket, block', most: 500 },
    ],
  },
}

/** What belongs to a submission itself besides its files and results, and is deleted with it at once. */
const OF_SUBMISSION = ['submission_job', 'submission_explanation', 'submission_receipt']

/** The files and the findings that were deleted. */
export interface DeletedCounts {
  readonly files: number
  readonly findings: number
}

/**
 * Deletes versions of files of a submission, or runs. Nobody can read them any more; a job deletes their content.
 *
 * @param condition on `o`, with values from `$2` on; without it, all of them
 * @returns the number of their findings
 */
export async function deleteOwners(
  writer: SubmissionWriter,
  owner: Owner,
  token: string,
  { condition = 'true', values = [] }: { condition?: string; values?: readonly (string | number)[] } = {},
): Promise<number> {
  const { table, findings } = OWNERS[owner]
  const deleted = await writer.all<{ name: string; findings: number }>(
    `delete from ${table} as o where o.token = $1 and ${condition}
     returning cast(${owner} as text) as name, ${findings} as findings`,
    [token, ...values],
  )
  await leave(
    writer,
    owner,
    deleted.map(({ name }) => name),
  )
  return deleted.reduce((sum, each) => sum + each.findings, 0)
}

/** Deletes the findings of a run that stays. */
export async function deleteFindings(writer: SubmissionWriter, run: number): Promise<void> {
  await writer.run('update submission_run set trimmed = $2 where run = $1', [run, Date.now()])
  await leave(writer, 'run', [String(run)])
}

/** Deletes the files of a submission, and returns their number; their versions are then of no use. */
export async function deleteFiles(writer: SubmissionWriter, token: string): Promise<number> {
  return await writer.run('delete from submission_file where token = $1', [token])
}

/** Deletes the runs of a submission, which then has no current one, and returns the number of their findings. */
export async function deleteResults(writer: SubmissionWriter, token: string): Promise<number> {
  await deleteCauses(writer, token)
  await writer.run('update submission set run = 0, total = 0, published = 0 where token = $1', [token])
  return await deleteOwners(writer, 'run', token)
}

/** Deletes all data of a submission; only its row and its activity stay. */
export async function deleteData(writer: SubmissionWriter, token: string): Promise<DeletedCounts> {
  const files = await deleteFiles(writer, token)
  for (const table of OF_SUBMISSION) await writer.run(`delete from ${table} where token = $1`, [token])
  await deleteOwners(writer, 'version', token)
  const findings = await deleteResults(writer, token)
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
  for (const { table, key, most } of OWNERS[owner].owned) {
    const some = `select ${key} from ${table} where ${owner} = $1 order by ${key} limit ${most}`
    const statement = `delete from ${table} where ${owner} = $1 and (${key}) in (${some})`
    const value = owner === 'run' ? Number(name) : name
    for (let deleted = 1; deleted > 0; )
      deleted = await database.write('job:deletion', (writer) => writer.run(statement, [value]))
  }
}
