import { actorOf } from '../../api/access/principal.ts'
import { type Operation, operation } from '../../api/contract/contract.ts'
import { describeStream } from '../../api/contract/describe.ts'
import { Problem } from '../../api/contract/problems.ts'
import { continueAfter, stream } from '../../api/contract/results.ts'
import { callerOf } from '../../api/request/caller.ts'
import { assertAccepts } from '../../api/serving/negotiate.ts'
import { recordDownload } from '../activity/activity.ts'
import { REFUSALS, refusing } from '../authorize.ts'
import { SUBMISSION_PROBLEMS, TAG } from '../contract.ts'
import type { SubmissionOptions } from '../options.ts'
import { Refusal } from '../refusal.ts'
import { cancelled, type FileState, listFiles } from '../submission.ts'
import { assertKnown, CSV, FILE_PATH, forFile, NDJSON } from './contract.ts'
import { csvToNdjson, ndjsonToCsv } from './convert.ts'
import { readCurrentFile, TooManyChanges } from './current-file.ts'
import { FileGone } from './file-store.ts'
import { fileEtag } from './upload.ts'

export function getFile(options: SubmissionOptions): Operation {
  const { database, sealer, definitions, changes } = options
  return operation({
    name: 'get-file',
    id: 'getSubmissionFile',
    summary: 'Get a file',
    description:
      'The current file of a submission: the uploaded file with all later batches applied. Send its ETag as If-Match with the next upload. An error during the download closes the connection.',
    tag: TAG,
    method: 'GET',
    path: '/submissions/{submissionToken}/files/{fileType}',
    access: forFile(database, 'validation-results:read'),
    limit: 'submissions',
    accepts: [CSV, NDJSON],
    request: { path: FILE_PATH },
    schemas: {},
    responses: {
      200: {
        ...describeStream(CSV, 'The file in its stored format.'),
        content: Object.fromEntries([CSV, NDJSON].map((type) => [type, { schema: { type: 'string' } }])),
      },
    },
    problems: {
      ...SUBMISSION_PROBLEMS,
      'not-found': 'The submission has no such file.',
      gone: REFUSALS.gone,
      conflict:
        'The file has too many fields for CSV or a record that cannot be converted, or batches have changed too many of its records.',
    },
  }).handle(async ({ authorized, request, principal }) => {
    const { submission, resource } = authorized
    if (submission.ended === 'Cancelled') await refusing(Promise.reject(cancelled()))
    assertKnown(definitions, authorized)
    const answer = async (file: FileState) => {
      const form = definitions.formOf(submission.definition ?? '', resource)
      const stored = file.format === 'csv' ? CSV : NDJSON
      const type = assertAccepts(request, stored === CSV ? [CSV, NDJSON] : [NDJSON, CSV])
      const takeMemory = () => changes.take(callerOf(request), 0)
      const open = () => readCurrentFile(database, sealer, file, form, takeMemory)
      const body = type === stored ? open() : type === CSV ? ndjsonToCsv(open, form) : csvToNdjson(open, form)
      const first = await refusing(body.next().catch(explainChanges))
      await recordDownload(database, { token: submission.token, actor: actorOf(principal), file: resource })
      return stream(`${type}; charset=utf-8`, continueAfter(first, body), {
        etag: fileEtag(file),
        // The name comes from the definition.
        'content-disposition': `attachment; filename="${file.resource}.${type === CSV ? 'csv' : 'ndjson'}"`,
      })
    }
    for (let last: FileState | undefined; ; ) {
      const files = await listFiles(database, submission.token)
      const file = files.find((each) => each.resource === resource)
      if (file === undefined) throw new Problem('not-found', 'The submission has no such file yet.')
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

function explainChanges(error: unknown): never {
  if (error instanceof TooManyChanges) throw new Refusal('conflict', error.message)
  throw error
}
