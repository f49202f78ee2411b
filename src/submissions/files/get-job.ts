import { type Operation, operation } from '../../api/contract/contract.ts'
import { describeDocument } from '../../api/contract/describe.ts'
import { document } from '../../api/contract/results.ts'
import { Type } from '../../foundation/schema/type.ts'
import { forSubmission, REFUSALS } from '../authorize.ts'
import { SUBMISSION_PROBLEMS, TAG, TOKEN_PATH } from '../contract.ts'
import { EXAMPLE_FILE } from '../example.ts'
import type { SubmissionOptions } from '../options.ts'
import { SubmissionFile } from '../schema.ts'
import { findFileJob } from './file-job.ts'
import { FileWork, JOBS, renderFileWork } from './file-work.ts'
import { preferHeader, readWait, waitFor } from './wait.ts'

export function getFileJob(options: SubmissionOptions): Operation {
  const { database, sealer } = options
  return operation({
    name: 'get-job',
    id: 'getFileWork',
    summary: 'Get the state of work with files',
    description:
      'The state of an upload that is read, or of copies that are made. `Prefer: wait=30` delays the response until the work has ended, for at most that many seconds. An hour after it was last used, the work is forgotten.',
    tag: TAG,
    method: 'GET',
    path: `${JOBS}/{jobId}`,
    access: forSubmission(database, 'validation-results:read'),
    limit: 'submissions',
    request: {
      path: Type.Object({
        ...TOKEN_PATH.properties,
        jobId: Type.String({ description: 'The work, as in `Location`.', maxLength: 64 }),
      }),
      header: preferHeader(0),
    },
    schemas: { FileWork, SubmissionFile },
    responses: {
      200: describeDocument(FileWork, 'The work.', {
        jobId: '9f86d081884c7d659a2feaa0c55ad015',
        submissionToken: 'Jb7cJb0i1s8YJw2Vq2cJcJZ1m6v0gQpA',
        work: 'upload',
        status: 'Processed',
        dateReceived: '2026-01-15T22:09:58.000Z',
        dateCompleted: '2026-01-15T22:09:59.000Z',
        files: [EXAMPLE_FILE],
      }),
    },
    problems: {
      ...SUBMISSION_PROBLEMS,
      'no-such-work': 'The submission has no such work, or it is no longer known.',
      gone: REFUSALS.gone,
    },
  }).handle(async ({ authorized, path, header, request, refuse }) => {
    const { token, definition } = authorized
    const wait = readWait(header.Prefer)
    const job = await waitFor(options, request, wait, async () => {
      const found = await findFileJob(database, sealer, path.jobId)
      return found?.token === token ? found : undefined
    })
    if (job === undefined) return refuse('no-such-work', 'The submission has no work with this ID.')
    return document(
      renderFileWork(options, definition, job),
      wait === 0 ? {} : { 'preference-applied': `wait=${wait}` },
    )
  })
}
