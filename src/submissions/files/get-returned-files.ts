import type { FastifyRequest } from 'fastify'
import { actorOf } from '../../api/access/principal.ts'
import { type Operation, operation } from '../../api/contract/contract.ts'
import { describeStream } from '../../api/contract/describe.ts'
import { oneOf } from '../../api/contract/fields.ts'
import { stream } from '../../api/contract/results.ts'
import type { ReturnedForm } from '../../engines/checking/index.ts'
import { Type } from '../../foundation/schema/type.ts'
import { recordDownload } from '../activity/activity.ts'
import { forSubmission, REFUSALS } from '../authorize.ts'
import { SUBMISSION_PROBLEMS, TAG, TOKEN_PATH } from '../contract.ts'
import type { SubmissionOptions } from '../options.ts'
import { SubmissionFile } from '../schema.ts'
import type { SubmissionRow } from '../submission.ts'
import { XLSX, ZIP } from './contract.ts'
import { findCopy } from './copies.ts'
import { ACCEPTED, FileWork } from './file-work.ts'
import { MAX_WAIT, preferHeader } from './wait.ts'

const PROBLEMS = {
  ...SUBMISSION_PROBLEMS,
  'no-such-file': 'The submission has no files.',
  gone: REFUSALS.gone,
  conflict:
    'The files exceed a limit of a check, a sheet has no room for their records, or one was replaced while it was read (errorCode `DS1`).',
  unavailable: 'Too many jobs are queued.',
} as const

export function getMarkedFiles(options: SubmissionOptions): Operation {
  return operation({
    name: 'get-marked-files',
    id: 'getMarkedFiles',
    summary: 'Get the files with their findings marked',
    description:
      'Copies of the current files of a submission with the findings beside each row: one workbook with coloured cells, or CSV files in a ZIP archive. A worker checks the files for it: the response is 202 if that takes longer than the caller waits. Ask again when the work has ended; what was made is kept for an hour, unless the files change.',
    tag: TAG,
    method: 'GET',
    path: '/submissions/{submissionToken}/marked-files',
    access: forSubmission(options.database, 'validation-results:read'),
    limit: 'submissions',
    accepts: [XLSX, ZIP],
    request: {
      path: TOKEN_PATH,
      header: preferHeader(MAX_WAIT),
      query: Type.Object({ format: oneOf(['xlsx', 'csv'], 'A workbook, the default, or CSV files.') }),
    },
    schemas: { FileWork, SubmissionFile },
    responses: {
      202: ACCEPTED,
      200: {
        ...describeStream(XLSX, 'The workbook, or the archive of the CSV files.'),
        content: Object.fromEntries(
          [XLSX, ZIP].map((type) => [type, { schema: { type: 'string', format: 'binary' } }]),
        ),
      },
    },
    problems: PROBLEMS,
  }).handle(async ({ authorized, request, query, header }) =>
    query.format === 'csv'
      ? await send(options, request, authorized, {
          form: 'marked',
          type: ZIP,
          name: 'marked-files.zip',
          prefer: header.Prefer,
        })
      : await send(options, request, authorized, {
          form: 'workbook',
          type: XLSX,
          name: 'marked.xlsx',
          prefer: header.Prefer,
        }),
  )
}

export function getCorrectedFiles(options: SubmissionOptions): Operation {
  return operation({
    name: 'get-corrected-files',
    id: 'getCorrectedFiles',
    summary: 'Get corrected copies of the files',
    description:
      'Copies of the current files of a submission, in a ZIP archive, in which every fault with only one possible repair is corrected, and `mahi-changes.csv`, which lists each change. The submission does not change: upload the copies to use them. The response is 202 if a worker needs longer than the caller waits.',
    tag: TAG,
    method: 'GET',
    path: '/submissions/{submissionToken}/corrected-files',
    access: forSubmission(options.database, 'validation-results:read'),
    limit: 'submissions',
    accepts: [ZIP],
    request: { path: TOKEN_PATH, header: preferHeader(MAX_WAIT) },
    schemas: { FileWork, SubmissionFile },
    responses: { 200: describeStream(ZIP, 'The archive.'), 202: ACCEPTED },
    problems: PROBLEMS,
  }).handle(({ authorized, request, header }) =>
    send(options, request, authorized, {
      form: 'corrected',
      type: ZIP,
      name: 'corrected-files.zip',
      prefer: header.Prefer,
    }),
  )
}

async function send(
  options: SubmissionOptions,
  request: FastifyRequest,
  submission: SubmissionRow,
  {
    form,
    type,
    name,
    prefer,
  }: { form: ReturnedForm; type: string; name: string; prefer: string | undefined },
) {
  const { database } = options
  const { pending, content, etag } = await findCopy(
    options,
    request,
    submission,
    { work: form, resource: null },
    prefer,
  )
  if (content === undefined) return pending
  const file = form === 'corrected' ? 'corrected-files' : 'marked-files'
  await recordDownload(database, { token: submission.token, actor: actorOf(request.principal), file })
  return stream(type, content, { etag, 'content-disposition': `attachment; filename="${name}"` })
}
