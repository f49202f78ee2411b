import { describeDocument, RETRY } from '../../api/contract/describe.ts'
import { count, listOf, oneOf, text, time } from '../../api/contract/fields.ts'
import { accepted } from '../../api/contract/results.ts'
import { Problem } from '../../api/request/problems.ts'
import type { Database } from '../../foundation/database/database.ts'
import { type Rendered, Type } from '../../foundation/schema/type.ts'
import { formatKnown, formatTimestamp } from '../../foundation/text/timestamp.ts'
import type { SubmissionOptions } from '../submission/options.ts'
import { toProblem } from '../submission/refusal.ts'
import { renderFile } from '../submission/render.ts'
import { RUN_STATUSES } from '../submission/runs.ts'
import { SubmissionFile } from '../submission/schema.ts'
import { cancelled, findState, type SubmissionRow } from '../submission/submission.ts'
import { FILE_WORK, type FileJob, findFileJob } from './file-job.ts'
import { type Caller, MAX_WAIT, readWait, waitFor } from './wait.ts'

export const FileWork = Type.Object(
  {
    jobId: text('Identifies the work within its submission.'),
    submissionToken: text('The token of the submission.'),
    work: oneOf(
      FILE_WORK,
      'upload: what arrived is read. repair: the files are repaired. preview: what a repair would change is found out. workbook, marked, corrected: copies of the files are made. csv, ndjson: a file is rendered in this format.',
    ),
    file: text('The only file that it is about.'),
    status: oneOf(
      RUN_STATUSES,
      'Queued, InProgress: the work has not ended. Processed: it has. Halted, Cancelled, UnknownError: it has no result, for `reason`.',
    ),
    dateReceived: time('When it was requested.'),
    dateCompleted: time('When it ended, or its result was last used.'),
    reason: text('Why it has no result.'),
    changes: count('Changes that a repair has made.'),
    files: listOf(SubmissionFile, 'The files that an upload or a repair has replaced.'),
  },
  { title: 'FileWork', description: 'Work with the files of a submission.' },
)

export const JOBS = '/submissions/{submissionToken}/jobs'

/** The response while the work has not ended. */
export const ACCEPTED = describeDocument(
  FileWork,
  'The work has not ended yet.',
  {
    jobId: '9f86d081884c7d659a2feaa0c55ad015',
    submissionToken: 'Jb7cJb0i1s8YJw2Vq2cJcJZ1m6v0gQpA',
    work: 'upload',
    status: 'InProgress',
    dateReceived: '2026-01-15T22:09:58.000Z',
  },
  {
    location: { description: 'The URL of the work.', type: 'string' },
    ...RETRY,
  },
)

export function renderFileWork(
  options: Pick<SubmissionOptions, 'definitions' | 'sealer'>,
  definition: string | null,
  { id, token, work, resource, status, received, completed, refused, files, changes }: FileJob,
): Rendered<typeof FileWork> {
  return {
    jobId: id,
    submissionToken: token,
    work,
    file: resource ?? undefined,
    status,
    dateReceived: formatTimestamp(received),
    dateCompleted: formatKnown(completed),
    reason: refused?.detail,
    changes,
    files: files?.map((file) => renderFile(options, definition, file)),
  }
}

/**
 * Waits for work as long as the caller wants.
 *
 * @returns the work with its result, or the response that says where it will be
 * @throws {Problem} if it has no result
 */
export async function awaitWork(
  options: SubmissionOptions,
  { request, header }: Caller,
  { id, owner }: { id: string; owner: SubmissionRow },
) {
  const { database, sealer } = options
  const wait = readWait(header.Prefer, MAX_WAIT)
  const job = await waitFor(options, request, wait, () => findFileJob(database, sealer, id))
  if (job === undefined) throw await explainGone(database, owner)
  if (job.completed === null) {
    const location = `/v1/submissions/${job.token}/jobs/${id}`
    return { pending: accepted(location, 1, renderFileWork(options, owner.definition, job)) }
  }
  if (job.refused === undefined) return { job }
  throw toProblem(job.refused)
}

/** Work is deleted with the files that it is about. */
async function explainGone(database: Database, owner: SubmissionRow): Promise<Problem> {
  const submission = await findState(database, owner)
  return submission === undefined || submission.ended === 'Cancelled'
    ? cancelled()
    : new Problem('no-such-file', 'The files of the submission were deleted while this was in progress.')
}
