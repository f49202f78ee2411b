import type { FastifyRequest } from 'fastify'
import type { Operation } from '../../api/contract/contract.ts'
import { describeDocument, describeStream } from '../../api/contract/describe.ts'
import { oneOf, text } from '../../api/contract/fields.ts'
import { document, stream } from '../../api/contract/results.ts'
import { unsupportedEncoding } from '../../api/request/body.ts'
import { Problem } from '../../api/request/problems.ts'
import { assertAccepts } from '../../api/serving/negotiate.ts'
import type { ReturnedForm } from '../../engines/checking/index.ts'
import { Type } from '../../foundation/schema/type.ts'
import { recordDownload } from '../submission/activity.ts'
import { ofSubmission, REFUSALS, TOKEN_PATH } from '../submission/contract.ts'
import { EXAMPLE_FILE } from '../submission/example.ts'
import type { SubmissionOptions } from '../submission/options.ts'
import { renderFile } from '../submission/render.ts'
import { SubmissionFile, SubmissionFiles } from '../submission/schema.ts'
import {
  assertKept,
  type FileState,
  listFiles,
  readState,
  type SubmissionRow,
} from '../submission/submission.ts'
import {
  assertKnown,
  CONTAINERS,
  CSV,
  FILE_PATH,
  isContainerType,
  NDJSON,
  ofFile,
  XLSX,
  ZIP,
} from './contract.ts'
import { findCopy } from './copies.ts'
import { isBuilt } from './current-file.ts'
import { readDigest, readEtags } from './file-headers.ts'
import { findFileJob } from './file-job.ts'
import { FileGone, openContent } from './file-store.ts'
import { ACCEPTED, FileWork, JOBS, renderFileWork } from './file-work.ts'
import { receive, TOO_MANY_UPLOADS } from './receive.ts'
import { recordOperations } from './record-operations.ts'
import { repairOperations } from './repairs.ts'
import { fileEtag } from './upload.ts'
import {
  type Caller,
  MAX_WAIT,
  PREFERENCE_APPLIED,
  preferHeader,
  readWait,
  stateWait,
  waitFor,
} from './wait.ts'

/** What both kinds of uploads read from their headers. */
const UPLOAD_HEADER = {
  ...preferHeader(MAX_WAIT).properties,
  'Content-Digest': text('SHA-256 of the content as it is sent (RFC 9530), such as `sha-256=:...:`.', {
    maxLength: 1000,
  }),
}

const COPY_PROBLEMS = {
  'no-such-file': 'The submission has no files.',
  gone: REFUSALS.gone,
  conflict:
    'The files exceed a limit of a check, a sheet has no room for their records, or one was replaced while it was read (errorCode `DS1`).',
  unavailable: 'Too many jobs are queued.',
} as const

export function fileOperations(options: SubmissionOptions): readonly Operation[] {
  const { database, sealer, definitions, maxUploadBytes } = options
  const { reading, writing, following } = ofSubmission(database)
  const { reading: readingOne, writing: writingOne } = ofFile(database)
  return [
    writing({
      name: 'put-files',
      id: 'putSubmissionFiles',
      summary: 'Upload an archive or a workbook',
      description:
        'Replaces files of a submission by those in a ZIP archive, or by the sheets of a workbook (XLSX). Each is recognised by its name, as `mahi check` does; files of the submission that are not in it stay. `notes` say what was guessed, and those of the first file also what was not read. All files are replaced at once: if one is refused, none is. A worker reads them: the response is 202 if that takes longer than the caller waits.',
      method: 'PUT',
      path: '/submissions/{submissionToken}/files',
      request: {
        path: TOKEN_PATH,
        header: Type.Object(UPLOAD_HEADER),
        body: { stream: CONTAINERS, maxBytes: maxUploadBytes },
      },
      responses: {
        202: ACCEPTED,
        200: describeDocument(SubmissionFiles, 'The stored files.', { files: [EXAMPLE_FILE] }),
      },
      problems: {
        unavailable: TOO_MANY_UPLOADS,
        'invalid-body':
          'The archive or workbook is damaged, encrypted or too large, has no file of the definition, two of one kind, or one that is empty. The detail names the file in it.',
        'malformed-body': 'The chunks of the body are malformed.',
        'content-too-large': 'The content, or a file in it, is too large.',
        'no-such-file': 'The data of the submission was deleted while this was in progress.',
        'unsupported-media-type': 'The content is neither a ZIP archive nor a workbook (XLSX).',
        ...REFUSALS,
      },
    }).handle(async ({ authorized, body, ...caller }) => {
      const { encoding, bytes: content } = body
      assertWhole(caller.request)
      if (encoding !== 'identity') throw unsupportedEncoding(encoding, ['identity'])
      const digest = readDigest(caller.header['Content-Digest'])
      const sent = { format: 'csv', gzip: false, isContainer: true, content, digest } as const
      const { pending, job } = await receive(options, caller, authorized, sent)
      if (job === undefined) return pending
      const { definition } = authorized
      return document({ files: (job.files ?? []).map((file) => renderFile(options, definition, file)) })
    }),
    writingOne({
      name: 'put-file',
      id: 'putSubmissionFile',
      summary: 'Upload a file',
      description:
        'Replaces a whole file of a submission. Whatever `mahi check` reads is accepted: any separator, UTF-8, UTF-16, Windows-1252 and the encoding that the definition states, gzip, columns in another spelling, a ZIP archive with only this file, and a workbook (XLSX) with only this sheet. It is stored as UTF-8; `notes` say what was guessed, whether the first line is not the header of this file, and whether it has no records. Faulty records become findings of the next validation run. The previous file stays until the upload has been read, which a worker does: the response is 202 if that takes longer than the caller waits.',
      method: 'PUT',
      path: '/submissions/{submissionToken}/files/{fileType}',
      request: {
        path: FILE_PATH,
        header: Type.Object({
          ...UPLOAD_HEADER,
          'If-Match': text('The ETag of the file to replace.', { maxLength: 4000 }),
          'If-None-Match': text('`*`: store the file only if there is none yet.', { maxLength: 4000 }),
        }),
        body: { stream: [CSV, NDJSON, ...CONTAINERS], maxBytes: maxUploadBytes },
      },
      responses: {
        202: ACCEPTED,
        200: describeDocument(SubmissionFile, 'The stored file.', EXAMPLE_FILE, {
          etag: { description: 'Identifies this state of the file. Send it as If-Match.', type: 'string' },
        }),
      },
      problems: {
        unavailable: TOO_MANY_UPLOADS,
        'invalid-body':
          'The content is empty, damaged or not what its digest says. The detail names the file. The errorCode `GM1` means a damaged gzip file.',
        'malformed-body': 'The chunks of the body are malformed.',
        'no-such-file': 'The definition has no such file.',
        'content-too-large': 'The content is too large, as sent or uncompressed.',
        'unsupported-media-type':
          'The content is not CSV or NDJSON, uncompressed or gzip, nor a ZIP archive or a workbook (XLSX); or it has NUL characters, which no text file has.',
        'precondition-failed': 'The file does not have the ETag in If-Match, or has one in If-None-Match.',
        ...REFUSALS,
      },
    }).handle(async ({ authorized, body, ...caller }) => {
      const { header } = caller
      assertWhole(caller.request)
      assertKnown(definitions, authorized)
      const { type, encoding, bytes: content } = body
      if (encoding !== 'identity' && encoding !== 'gzip') throw unsupportedEncoding(encoding, ['gzip'])
      const { submission, resource } = authorized
      const { pending, job } = await receive(options, caller, submission, {
        resource,
        format: type === NDJSON ? 'ndjson' : 'csv',
        gzip: encoding === 'gzip',
        isContainer: isContainerType(type),
        content,
        digest: readDigest(header['Content-Digest']),
        ifMatch: readEtags(header['If-Match']),
        ifNoneMatch: readEtags(header['If-None-Match']),
      })
      if (job === undefined) return pending
      const [file] = job.files ?? []
      if (file === undefined) throw new Error('the file that was just stored is missing')
      return document(renderFile(options, submission.definition, file), { etag: fileEtag(file) })
    }),
    readingOne({
      name: 'get-file',
      id: 'getSubmissionFile',
      summary: 'Get a file',
      description:
        'The current file of a submission: the uploaded one, or the records of all batches. A worker renders it in the other format: the response is 202 if that takes longer than the caller waits. Send its ETag as If-Match with the next upload. An error during the download closes the connection.',
      method: 'GET',
      path: '/submissions/{submissionToken}/files/{fileType}',
      accepts: [CSV, NDJSON],
      request: { path: FILE_PATH, header: preferHeader(MAX_WAIT) },
      responses: {
        202: ACCEPTED,
        200: {
          ...describeStream(CSV, 'The file.', {
            etag: {
              description: 'Identifies this state of the file in this format. Send it as If-Match.',
              type: 'string',
            },
          }),
          content: Object.fromEntries([CSV, NDJSON].map((type) => [type, { schema: { type: 'string' } }])),
        },
      },
      problems: {
        'no-such-file': 'The submission has no such file.',
        gone: REFUSALS.gone,
        conflict:
          'The file has too many fields for CSV or a record that cannot be converted, or batches have added too many records.',
        unavailable: COPY_PROBLEMS.unavailable,
      },
    }).handle(async ({ authorized, ...caller }) => {
      const { submission, resource } = authorized
      assertKept(submission)
      assertKnown(definitions, authorized)
      for (let last: FileState | undefined; ; ) {
        const files = await listFiles(database, submission.token)
        const file = files.find((each) => each.resource === resource)
        if (file === undefined) throw new Problem('no-such-file', 'The submission has no such file yet.')
        try {
          return await sendFile(options, caller, submission, file)
        } catch (error) {
          // It was replaced or deleted since it was found.
          if (!(error instanceof FileGone) || file.version === last?.version) throw error
          last = file
        }
      }
    }),
    reading({
      name: 'get-marked-files',
      id: 'getMarkedFiles',
      summary: 'Get the files with their findings marked',
      description:
        'Copies of the current files of a submission with the findings beside each row: one workbook with coloured cells, or CSV files in a ZIP archive. A worker checks the files for it: the response is 202 if that takes longer than the caller waits. Ask again when the work has ended; what was made is kept for an hour, unless the files change.',
      method: 'GET',
      path: '/submissions/{submissionToken}/marked-files',
      accepts: [XLSX, ZIP],
      request: {
        path: TOKEN_PATH,
        header: preferHeader(MAX_WAIT),
        query: Type.Object({
          format: oneOf(
            ['xlsx', 'csv'],
            'A workbook, or CSV files; by default what is accepted, a workbook first.',
          ),
        }),
      },
      responses: {
        202: ACCEPTED,
        200: {
          ...describeStream(XLSX, 'The workbook, or the archive of the CSV files.'),
          content: Object.fromEntries(
            [XLSX, ZIP].map((type) => [type, { schema: { type: 'string', format: 'binary' } }]),
          ),
        },
      },
      problems: COPY_PROBLEMS,
    }).handle(({ authorized, query: { format }, ...caller }) => {
      const types = format === undefined ? [XLSX, ZIP] : [format === 'csv' ? ZIP : XLSX]
      const copy = assertAccepts(caller.request, types) === ZIP ? MARKED : WORKBOOK
      return sendCopy(options, caller, authorized, copy)
    }),
    reading({
      name: 'get-corrected-files',
      id: 'getCorrectedFiles',
      summary: 'Get corrected copies of the files',
      description:
        'Copies of the current files of a submission, in a ZIP archive, in which every fault with only one possible repair is corrected, and `mahi-changes.csv`, which lists each change. The submission does not change: upload the copies to use them. The response is 202 if a worker needs longer than the caller waits.',
      method: 'GET',
      path: '/submissions/{submissionToken}/corrected-files',
      accepts: [ZIP],
      request: { path: TOKEN_PATH, header: preferHeader(MAX_WAIT) },
      responses: { 200: describeStream(ZIP, 'The archive.'), 202: ACCEPTED },
      problems: COPY_PROBLEMS,
    }).handle(({ authorized, ...caller }) => sendCopy(options, caller, authorized, CORRECTED)),
    ...repairOperations(options),
    following({
      name: 'get-job',
      id: 'getFileWork',
      summary: 'Get the state of work with files',
      description:
        'The state of an upload that is read, or of copies that are made. `Prefer: wait=30` delays the response until the work has ended, for at most that many seconds. An hour after it was last used, the work is forgotten. The scope `submissions:write` is enough, too.',
      method: 'GET',
      path: `${JOBS}/{jobId}`,
      request: {
        path: Type.Object({
          ...TOKEN_PATH.properties,
          jobId: Type.String({ description: 'The work, as in `Location`.', maxLength: 64 }),
        }),
        header: preferHeader(0),
      },
      responses: {
        200: describeDocument(
          FileWork,
          'The work.',
          {
            jobId: '9f86d081884c7d659a2feaa0c55ad015',
            submissionToken: 'Jb7cJb0i1s8YJw2Vq2cJcJZ1m6v0gQpA',
            work: 'upload',
            status: 'Processed',
            dateReceived: '2026-01-15T22:09:58.000Z',
            dateCompleted: '2026-01-15T22:09:59.000Z',
            files: [EXAMPLE_FILE],
          },
          PREFERENCE_APPLIED,
        ),
      },
      problems: {
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
      if (job === undefined) {
        assertKept(await readState(database, authorized))
        return refuse('no-such-work', 'The submission has no work with this ID.')
      }
      return document(renderFileWork(options, definition, job), stateWait(wait))
    }),
    ...recordOperations(options),
  ]
}

/**
 * RFC 9110, section 14.5: a part must not replace the whole.
 *
 * @throws {Problem}
 */
function assertWhole({ headers }: FastifyRequest): void {
  if (headers['content-range'] !== undefined)
    throw new Problem('invalid-parameters', 'Content-Range is not supported. Send the whole content.')
}

/** Sends a file as it is stored, or a copy of it in the other format. */
async function sendFile(
  options: SubmissionOptions,
  caller: Caller,
  submission: SubmissionRow,
  file: FileState,
) {
  const { database, sealer } = options
  const { resource } = file
  const stored = file.format === 'csv' ? CSV : NDJSON
  const type = assertAccepts(caller.request, stored === CSV ? [CSV, NDJSON] : [NDJSON, CSV])
  const work = type === CSV ? 'csv' : 'ndjson'
  const { pending, content } =
    type === stored && !isBuilt(file)
      ? { content: await openContent(database, sealer, file) }
      : await findCopy(options, caller, submission, { work, resource })
  if (content === undefined) return pending
  await recordDownload(database, caller.request, { token: submission.token, file: resource })
  return stream(`${type}; charset=utf-8`, content, {
    etag: fileEtag(file, work),
    // The name comes from the definition.
    'content-disposition': `attachment; filename="${resource}.${work}"`,
  })
}

/** A copy of all files, and its name in the activities and for who downloads it. */
interface CopyOfAll {
  readonly work: ReturnedForm
  readonly type: string
  readonly file: string
  readonly name: string
}
const MARKED: CopyOfAll = { work: 'marked', type: ZIP, file: 'marked-files', name: 'marked-files.zip' }
const WORKBOOK: CopyOfAll = { work: 'workbook', type: XLSX, file: 'marked-files', name: 'marked.xlsx' }
const CORRECTED: CopyOfAll = {
  work: 'corrected',
  type: ZIP,
  file: 'corrected-files',
  name: 'corrected-files.zip',
}

async function sendCopy(
  options: SubmissionOptions,
  caller: Caller,
  submission: SubmissionRow,
  { work, type, file, name }: CopyOfAll,
) {
  const copy = { work, resource: null }
  const { pending, content, etag } = await findCopy(options, caller, submission, copy)
  if (content === undefined) return pending
  await recordDownload(options.database, caller.request, { token: submission.token, file })
  return stream(type, content, { etag, 'content-disposition': `attachment; filename="${name}"` })
}
