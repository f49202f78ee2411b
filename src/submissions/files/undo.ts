import type { Actor } from '../../api/access/principal.ts'
import { Problem } from '../../api/request/problems.ts'
import type { Database } from '../../foundation/database/database.ts'
import { recordActivity } from '../submission/activity.ts'
import type { SubmissionName, SubmissionWriter } from '../submission/lock.ts'
import { assertOpen, type FileState, findState, withSubmission } from '../submission/submission.ts'
import { assertAllRead } from './file-job.ts'

/** Notes that the files of a submission have changed. An earlier repair can then no longer be undone. */
export async function noteChange(writer: SubmissionWriter, token: string): Promise<void> {
  await writer.run('update submission set revision = revision + 1 where token = $1', [token])
  await forgetPrevious(writer, token)
}

/** Gives up the files as they were before the last repair: the sweep deletes them. */
export async function forgetPrevious(writer: SubmissionWriter, token: string): Promise<void> {
  await writer.run('update submission_file set previous = null where token = $1 and previous is not null', [
    token,
  ])
}

export async function listPrevious(
  reader: Pick<Database, 'all'>,
  token: string,
): Promise<{ resource: string; previous: string }[]> {
  return await reader.all(
    'select resource, previous from submission_file where token = $1 and previous is not null order by resource',
    [token],
  )
}

/**
 * Restores the files as they were before the last repair, unless the files have changed since. Returns them.
 *
 * @throws {Problem}
 */
export async function undoRepair(
  database: Database,
  { token, eid, actor }: SubmissionName & { readonly actor: Actor },
): Promise<FileState[]> {
  return await withSubmission(database, { token, eid }, async (writer, submission) => {
    assertOpen(submission)
    await assertAllRead(writer, token)
    const repaired = await listPrevious(writer, token)
    if (repaired.length === 0)
      throw new Problem(
        'conflict',
        'There is no repair to undo: the files were not repaired, or they have changed or were submitted since.',
      )
    await writer.run(
      'update submission_file set version = previous, previous = null where token = $1 and previous is not null',
      [token],
    )
    // They are kept as long as any file that has just changed.
    for (const { previous } of repaired)
      await writer.run('update file_version set received = $2 where version = $1', [previous, Date.now()])
    await noteChange(writer, token)
    const { files } = (await findState(writer, { token, eid })) ?? submission
    const restored: FileState[] = []
    for (const before of submission.files) {
      const after = files.find(({ resource }) => resource === before.resource)
      if (after === undefined || after.version === before.version) continue
      restored.push(after)
      await recordActivity(writer, {
        token,
        event: 'RepairUndone',
        actor,
        file: after.resource,
        detail: { records: after.records, digestBefore: before.sha256, digestAfter: after.sha256 },
      })
    }
    return restored
  })
}
