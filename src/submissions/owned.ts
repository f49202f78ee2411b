import type { Database, Reader } from '../foundation/database/database.ts'
import { enqueue } from '../foundation/jobs/queue.ts'
import { changeSubmission, type SubmissionName, type SubmissionWriter } from './lock.ts'

/** A version of a file, a run, and a submission: the column that names it in what it owns. */
export type Owner = 'version' | 'run' | 'token'

/** Rows that belong to an owner, and are deleted with it. */
export interface Owned {
  readonly table: string
  /** The rest of its key, by which a few of many rows are deleted, and how many of them in a transaction. */
  readonly key?: string
  readonly most?: number
}

/** What belongs to each owner. The numbers are small enough not to block others for long. */
export const OWNED: Readonly<Record<Owner, readonly Owned[]>> = {
  version: [
    { table: 'file_chunk', key: 'ordinal', most: 4 },
    { table: 'file_record', key: 'local_id', most: 5_000 },
  ],
  run: [
    { table: 'result_block', key: 'part, block', most: 1_000 },
    { table: 'result_posting', key: 'field, value, block', most: 2_000 },
  ],
  token: [
    { table: 'submission_file' },
    { table: 'submission_job' },
    { table: 'submission_cause' },
    { table: 'submission_explanation' },
    { table: 'submission_receipt' },
  ],
}

/** The owners that belong to a submission, and their tables. */
export const OWNERS = { version: 'file_version', run: 'submission_run' } as const

/** Deletes all that belongs to an owner, at once; returns the number of rows. */
export async function deleteOwned(
  writer: SubmissionWriter,
  owner: Owner,
  name: string | number,
): Promise<number> {
  let rows = 0
  for (const { table } of OWNED[owner])
    rows += await writer.run(`delete from ${table} where ${owner} = $1`, [name])
  return rows
}

/** Deletes a version or a run with all that belongs to it, at once. */
export async function deleteOwner(
  writer: SubmissionWriter,
  owner: keyof typeof OWNERS,
  name: string | number,
): Promise<void> {
  await deleteOwned(writer, owner, name)
  await writer.run(`delete from ${OWNERS[owner]} where ${owner} = $1`, [name])
}

/**
 * Deletes the rows of a table that belong to an owner, in many short transactions, which also need little room on a full
 * disk; returns their number.
 *
 * @param token whose lock is held
 * @param condition a further one of each statement
 */
export async function deleteInParts(
  database: Database,
  token: string,
  { table, key, most }: Owned,
  [owner, name]: readonly [Owner, string | number],
  condition = '',
): Promise<number> {
  const some =
    key === undefined
      ? ''
      : `and (${key}) in (select ${key} from ${table} where ${owner} = $1 order by ${key} limit ${most})`
  const statement = `delete from ${table} where ${owner} = $1 ${condition} ${some}`
  let total = 0
  for (let deleted = 1; deleted > 0; total += deleted)
    deleted = await changeSubmission(database, token, (writer) => writer.run(statement, [name]))
  return total
}

/** Versions of files and runs of a submission. */
export interface Owners {
  readonly versions: readonly string[]
  readonly runs: readonly number[]
}

/** All of a submission. */
export async function findOwners(reader: Reader, token: string): Promise<Owners> {
  const versions = await reader.all<{ version: string }>(
    'select version from file_version where token = $1',
    [token],
  )
  const runs = await reader.all<{ run: number }>('select run from submission_run where token = $1', [token])
  return { versions: versions.map(({ version }) => version), runs: runs.map(({ run }) => run) }
}

/** Deletes versions and runs of a submission with all that belongs to them, and counts them, in many short transactions. */
export async function deleteOwners(
  database: Database,
  token: string,
  { versions, runs }: Owners,
): Promise<{ files: number; findings: number }> {
  const remove = async (owner: keyof typeof OWNERS, name: string | number) => {
    for (const owned of OWNED[owner]) await deleteInParts(database, token, owned, [owner, name])
    await changeSubmission(database, token, (writer) => deleteOwner(writer, owner, name))
  }
  for (const version of versions) await remove('version', version)
  let findings = 0
  for (const run of runs) {
    const counted = await database.get<{ total: number }>(
      'select total from submission_run where run = $1 and trimmed is null',
      [run],
    )
    findings += counted?.total ?? 0
    await remove('run', run)
  }
  return { files: versions.length, findings }
}

/**
 * Schedules the deletion of what a submission no longer needs: all of a cancelled one, and the versions of files that
 * nothing uses. A job does this, because a large version takes long.
 */
export async function requestPurge(writer: SubmissionWriter, { token, eid }: SubmissionName): Promise<void> {
  await enqueue(writer, { kind: 'purge', subject: token, eid })
}
