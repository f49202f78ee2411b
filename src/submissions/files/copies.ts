import { type Actor, actorOf } from '../../api/access/principal.ts'
import { Problem } from '../../api/request/problems.ts'
import { changeSubmission, type SubmissionName } from '../submission/lock.ts'
import type { SubmissionOptions } from '../submission/options.ts'
import {
  cancelled,
  type SubmissionRow,
  type SubmissionState,
  withSubmission,
} from '../submission/submission.ts'
import {
  assertAllRead,
  assertRoom,
  type FileWork,
  findSameJob,
  insertFileJob,
  queueOf,
  retryFileJob,
  useFileJob,
} from './file-job.ts'
import { openContent } from './file-store.ts'
import { awaitWork } from './file-work.ts'
import type { Caller } from './wait.ts'

/** Work with the files of a submission, or with one. */
export interface Copy {
  readonly work: Exclude<FileWork, 'upload'>
  readonly resource: string | null
  /** Refuses it by the state of the submission, under its lock. */
  readonly admit?: (submission: SubmissionState) => void
}

/**
 * A copy of the current files: what was made before, or is made now, as far as the caller waits for it.
 *
 * @throws {Problem}
 */
export async function findCopy(options: SubmissionOptions, caller: Caller, owner: SubmissionRow, copy: Copy) {
  const { database, sealer } = options
  const { token, eid } = owner
  const id = await requestCopy(options, actorOf(caller.request.principal), { token, eid }, copy)
  const { pending, job } = await awaitWork(options, caller, { id, owner }).catch(async (error: unknown) => {
    await changeSubmission(database, token, (writer) => retryFileJob(writer, id)).catch(() => undefined)
    throw error
  })
  if (job === undefined) return { pending }
  if (job.content === undefined) throw cancelled()
  const content = await openContent(database, sealer, job.content)
  return { job, content, etag: `"${job.content.sha256}"` }
}

/** Returns the id of the work. */
async function requestCopy(
  { database, sealer }: SubmissionOptions,
  actor: Actor,
  owner: SubmissionName,
  { work, resource, admit }: Copy,
): Promise<string> {
  return await withSubmission(database, owner, async (writer, submission) => {
    if (submission.ended === 'Cancelled') throw cancelled()
    admit?.(submission)
    const { files, revision } = submission
    if (!files.some((file) => resource === null || file.resource === resource))
      throw new Problem('no-such-file', 'The submission has no files yet. Upload them first.')
    const known = await findSameJob(writer, sealer, { ...owner, work, resource, revision })
    if (known !== undefined) {
      if (known.completed !== null) await useFileJob(writer, known)
      return known.id
    }
    if (work === 'repair') await assertAllRead(writer, owner.token)
    await assertRoom(writer, queueOf(work), owner.eid)
    return await insertFileJob(writer, sealer, { ...owner, work, resource, revision, actor, sent: undefined })
  })
}
