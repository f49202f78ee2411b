import { actorOf } from '../../api/access/principal.ts'
import { type Operation, operation } from '../../api/contract/contract.ts'
import { describeStream } from '../../api/contract/describe.ts'
import { Problem } from '../../api/contract/problems.ts'
import { continueAfter, stream } from '../../api/contract/results.ts'
import { assertAccepts } from '../../api/serving/negotiate.ts'
import { recordDownload } from '../activity/activity.ts'
import { REFUSALS } from '../authorize.ts'
import { SUBMISSION_PROBLEMS, TAG } from '../contract.ts'
import type { SubmissionOptions } from '../options.ts'
import { SubmissionFile } from '../schema.ts'
import { cancelled, type FileState, listFiles } from '../submission.ts'
import { assertKnown, CSV, FILE_PATH, forFile, NDJSON } from './contract.ts'
import { findCopy } from './copies.ts'
import { isBuilt } from './current-file.ts'
import { FileGone, readChunks } from './file-store.ts'
import { ACCEPTED, FileWork } from './file-work.ts'
import { fileEtag } from './upload.ts'
import { MAX_WAIT, preferHeader } from './wait.ts'

export function getFile(options: SubmissionOptions): Operation {
  const { database, sealer, definitions } = options
  return operation({
    name: 'get-file',
    id: 'getSubmissionFile',
    summary: 'Get a file',
    description:
      'The current file of a submission: the uploaded one, or the records of all batches. A worker renders it in the other format: the response is 202 if that takes longer than the caller waits. Send its ETag as If-Match with the next upload. An error during the download closes the connection.',
    tag: TAG,
    method: 'GET',
    path: '/submissions/{submissionToken}/files/{fileType}',
    access: forFile(database, 'validation-results:read'),
    limit: 'submissions',
    accepts: [CSV, NDJSON],
    request: { path: FILE_PATH, header: preferHeader(MAX_WAIT) },
    schemas: { FileWork, SubmissionFile },
    responses: {
      202: ACCEPTED,
      200: {
        ...describeStream(CSV, 'The file in its stored format.'),
        content: Object.fromEntries([CSV, NDJSON].map((type) => [type, { schema: { type: 'string' } }])),
      },
    },
    problems: {
      ...SUBMISSION_PROBLEMS,
      'no-such-file': 'The submission has no such file.',
      gone: REFUSALS.gone,
      conflict:
        'The file has too many fields for CSV or a record that cannot be converted, or batches have added too many records.',
    },
  }).handle(async ({ authorized, request, principal, header }) => {
    const { submission, resource } = authorized
    if (submission.ended === 'Cancelled') throw cancelled()
    assertKnown(definitions, authorized)
    const answer = async (file: FileState) => {
      const stored = file.format === 'csv' ? CSV : NDJSON
      const type = assertAccepts(request, stored === CSV ? [CSV, NDJSON] : [NDJSON, CSV])
      const work = type === CSV ? 'csv' : 'ndjson'
      const { pending, content } =
        type === stored && !isBuilt(file)
          ? { content: await open(file) }
          : await findCopy(options, request, submission, { work, resource }, header.Prefer)
      if (content === undefined) return pending
      await recordDownload(database, { token: submission.token, actor: actorOf(principal), file: resource })
      return stream(`${type}; charset=utf-8`, content, {
        etag: fileEtag(file),
        // The name comes from the definition.
        'content-disposition': `attachment; filename="${file.resource}.${work}"`,
      })
    }
    const open = async (file: FileState) => {
      const chunks = readChunks(database, sealer, file)
      return continueAfter(await chunks.next(), chunks)
    }
    for (let last: FileState | undefined; ; ) {
      const files = await listFiles(database, submission.token)
      const file = files.find((each) => each.resource === resource)
      if (file === undefined) throw new Problem('no-such-file', 'The submission has no such file yet.')
      try {
        return await answer(file)
      } catch (error) {
        // It was replaced or deleted since it was found.
        if (!(error instanceof FileGone) || file.version === last?.version) throw error
        last = file
      }
    }
  })
}
