import type { FastifyRequest } from 'fastify'
import { actorOf } from '../../api/access/principal.ts'
import { type Operation, operation } from '../../api/contract/contract.ts'
import { describeStream } from '../../api/contract/describe.ts'
import { oneOf } from '../../api/contract/fields.ts'
import { stream } from '../../api/contract/results.ts'
import { callerOf } from '../../api/request/caller.ts'
import { whileConnected } from '../../api/request/while-connected.ts'
import type { ReturnedForm } from '../../engines/checking/index.ts'
import { Type } from '../../foundation/schema/type.ts'
import { recordDownload } from '../activity/activity.ts'
import { forSubmission, REFUSALS, refusing } from '../authorize.ts'
import { SUBMISSION_PROBLEMS, TAG, TOKEN_PATH } from '../contract.ts'
import type { SubmissionOptions } from '../options.ts'
import { cancelled, type SubmissionRow } from '../submission.ts'
import { XLSX, ZIP } from './contract.ts'

const PROBLEMS = {
  ...SUBMISSION_PROBLEMS,
  'not-found': 'The submission has no files.',
  gone: REFUSALS.gone,
  conflict:
    'The files exceed a limit of a check, a sheet has no room for their records, or one was replaced while it was read (errorCode `DS1`).',
  unavailable: 'Other marked or corrected files are being made.',
} as const

export function getMarkedFiles(options: SubmissionOptions): Operation {
  return operation({
    name: 'get-marked-files',
    id: 'getMarkedFiles',
    summary: 'Get the files with their findings marked',
    description:
      'Copies of the current files of a submission with the findings beside each row: one workbook with coloured cells, or CSV files in a ZIP archive. The files are checked for it, so the response begins after the time of a check.',
    tag: TAG,
    method: 'GET',
    path: '/submissions/{submissionToken}/marked-files',
    access: forSubmission(options.database, 'validation-results:read'),
    limit: 'submissions',
    accepts: [XLSX, ZIP],
    request: {
      path: TOKEN_PATH,
      query: Type.Object({ format: oneOf(['xlsx', 'csv'], 'A workbook, the default, or CSV files.') }),
    },
    schemas: {},
    responses: {
      200: {
        ...describeStream(XLSX, 'The workbook, or the archive of the CSV files.'),
        content: Object.fromEntries(
          [XLSX, ZIP].map((type) => [type, { schema: { type: 'string', format: 'binary' } }]),
        ),
      },
    },
    problems: PROBLEMS,
  }).handle(async ({ authorized, request, query }) =>
    query.format === 'csv'
      ? await send(options, request, authorized, 'marked', ZIP, 'marked-files.zip')
      : await send(options, request, authorized, 'workbook', XLSX, 'marked.xlsx'),
  )
}

export function getCorrectedFiles(options: SubmissionOptions): Operation {
  return operation({
    name: 'get-corrected-files',
    id: 'getCorrectedFiles',
    summary: 'Get corrected copies of the files',
    description:
      'Copies of the current files of a submission, in a ZIP archive, in which every fault with only one possible repair is corrected, and `mahi-changes.csv`, which lists each change. The submission does not change: upload the copies to use them.',
    tag: TAG,
    method: 'GET',
    path: '/submissions/{submissionToken}/corrected-files',
    access: forSubmission(options.database, 'validation-results:read'),
    limit: 'submissions',
    accepts: [ZIP],
    request: { path: TOKEN_PATH },
    schemas: {},
    responses: { 200: describeStream(ZIP, 'The archive.') },
    problems: PROBLEMS,
  }).handle(({ authorized, request }) =>
    send(options, request, authorized, 'corrected', ZIP, 'corrected-files.zip'),
  )
}

async function send(
  { database, returned, changes }: SubmissionOptions,
  request: FastifyRequest,
  submission: SubmissionRow,
  form: ReturnedForm,
  type: string,
  name: string,
) {
  if (submission.ended === 'Cancelled') await refusing(Promise.reject(cancelled()))
  const owner = callerOf(request)
  const content = await whileConnected(request, (signal) =>
    refusing(
      returned.create({
        submission,
        form,
        slots: request.server.slots.returnedFiles,
        owner,
        takeMemory: () => changes.take(owner, 0),
        signal,
      }),
    ),
  )
  const file = form === 'corrected' ? 'corrected-files' : 'marked-files'
  await recordDownload(database, { token: submission.token, actor: actorOf(request.principal), file })
  return stream(type, content, { 'content-disposition': `attachment; filename="${name}"` })
}
