import Type from 'typebox'
import type { Access } from '../access/admit.ts'
import type { Database } from '../database/database.ts'
import { unsupportedEncoding } from '../http/body.ts'
import { describeDocument, describeStream } from '../http/describe.ts'
import { Problem } from '../http/problems.ts'
import {
  type Authorizing,
  declare,
  document,
  type IncomingBody,
  type Operation,
  stream,
} from '../operation.ts'
import { whenKnown } from '../pages/maybe-promise.ts'
import { authorizeSubmission, EID_HEADER, REFUSALS, refusing } from './authorize.ts'
import { applyBatch } from './batch.ts'
import { csvToNdjson, ndjsonToCsv } from './convert.ts'
import { type Operation as RecordOperation, readCurrentFile, TooManyChanges } from './current-file.ts'
import type { Definitions } from './definitions.ts'
import { EXAMPLE_FILE } from './example.ts'
import { preferType, readDigest, readEtags } from './file-headers.ts'
import { COMMON_PROBLEMS, TAG } from './operations.ts'
import { MAX_BATCH_BYTES, type SubmissionOptions } from './options.ts'
import { Refusal } from './refusal.ts'
import { renderFile } from './render.ts'
import { BatchResult, RecordBatch, RecordDeletion, SubmissionFile } from './schema.ts'
import { cancelled, listFiles, type SubmissionRow } from './submission.ts'
import { fileEtag, storeFile } from './upload.ts'

const CSV = 'text/csv'
const NDJSON = 'application/x-ndjson'

interface FilePath {
  readonly submissionToken: string
  readonly fileType: string
}

const FILE_PATH = Type.Object({
  submissionToken: Type.String({ description: 'The token of the submission.' }),
  fileType: Type.String({
    description:
      'The file, such as `learners` or `course-completions`; the extension `.csv` or `.ndjson` is optional.',
  }),
})

export function fileOperations(options: SubmissionOptions): readonly Operation[] {
  return [putFile(options), getFile(options), addRecords(options), deleteRecords(options)]
}

/** A submission that the caller may see, and the name of a file. */
interface OwnFile {
  readonly submission: SubmissionRow
  readonly resource: string
}

function authorizeFile(
  { access, database }: { access: Access; database: Database },
  operation: string,
  scope: 'submissions:write' | 'validation-results:read',
) {
  return ({ request, path }: Authorizing<FilePath>) =>
    whenKnown(
      authorizeSubmission(access, database, request, { operation, scope, token: path.submissionToken }),
      // The extension allows `curl -T learners.csv`.
      (submission): OwnFile => ({ submission, resource: path.fileType.replace(/\.(?:csv|ndjson)$/, '') }),
    )
}

/** @throws {Problem} `not-found` if the definition of the submission has no such file */
function assertKnown(definitions: Definitions, { submission, resource }: OwnFile): void {
  if (submission.created === null) return
  const definition = definitions.find(submission.definition ?? '')
  if (definition?.resources.some(({ name }) => name === resource)) return
  const known = definition?.resources.map(({ name }) => name).join(', ')
  throw new Problem('not-found', `The definition has no such file. Its files are ${known}.`)
}

function putFile(options: SubmissionOptions): Operation {
  const { database, sealer, definitions, maxUploadBytes } = options
  return declare<
    FilePath,
    unknown,
    { 'Content-Digest'?: string; 'If-Match'?: string; 'If-None-Match'?: string },
    IncomingBody,
    OwnFile
  >({
    name: 'put-file',
    id: 'putSubmissionFile',
    summary: 'Upload a file',
    description:
      'Replaces a whole file of a submission. The content is checked while it arrives: its encoding and, for NDJSON, each line. Faulty records become findings of the next validation run. The previous file stays until the upload is complete.',
    tag: TAG,
    method: 'PUT',
    path: '/submissions/{submissionToken}/files/{fileType}',
    limit: 'submissions',
    authorizingHeaders: EID_HEADER,
    parameters: {
      path: FILE_PATH,
      header: Type.Object({
        'Content-Digest': Type.Optional(
          Type.String({
            description: 'SHA-256 of the content as it is sent (RFC 9530), such as `sha-256=:...:`.',
            maxLength: 1000,
          }),
        ),
        'If-Match': Type.Optional(
          Type.String({ description: 'The ETag of the file to replace.', maxLength: 4000 }),
        ),
        'If-None-Match': Type.Optional(
          Type.String({ description: '`*`: store the file only if there is none yet.', maxLength: 4000 }),
        ),
      }),
      body: { stream: [CSV, NDJSON], maxBytes: maxUploadBytes },
    },
    schemas: { SubmissionFile },
    responses: {
      200: describeDocument('SubmissionFile', 'The stored file.', EXAMPLE_FILE, {
        etag: { description: 'Identifies this state of the file. Send it as If-Match.', type: 'string' },
      }),
    },
    problems: {
      ...COMMON_PROBLEMS,
      'invalid-body':
        'The content is invalid. The detail names the line. The errorCode `GM1` means a damaged gzip file.',
      'not-found': 'The definition has no such file.',
      'content-too-large': 'The content is too large, as sent or uncompressed.',
      'unsupported-media-type': 'The content is not CSV or NDJSON in UTF-8, uncompressed or gzip.',
      'precondition-failed': 'The file does not have the ETag in If-Match, or has one in If-None-Match.',
      ...REFUSALS,
    },
    authorize: authorizeFile(options, 'put-file', 'submissions:write'),
    async handle({ authorized, header, body, request }) {
      // RFC 9110, section 14.5: a part must not replace the whole file.
      if (request.headers['content-range'] !== undefined)
        throw new Problem('invalid-parameters', 'Content-Range is not supported. Send the whole file.')
      assertKnown(definitions, authorized)
      const { type, encoding, bytes } = body
      if (encoding !== 'identity' && encoding !== 'gzip') throw unsupportedEncoding(encoding, ['gzip'])
      const { submission, resource } = authorized
      const digest = readDigest(header['Content-Digest'])
      const ifMatch = readEtags(header['If-Match'])
      const ifNoneMatch = readEtags(header['If-None-Match'])
      const file = await refusing(
        storeFile(database, sealer, {
          token: submission.token,
          eid: submission.eid,
          resource,
          format: type === CSV ? 'csv' : 'ndjson',
          gzip: encoding === 'gzip',
          content: bytes,
          maxBytes: maxUploadBytes,
          ...(digest !== undefined && { digest }),
          ...(ifMatch !== undefined && { ifMatch }),
          ...(ifNoneMatch !== undefined && { ifNoneMatch }),
        }),
      )
      return document(renderFile(definitions, submission.definition, file), { etag: fileEtag(file) })
    },
  })
}

function getFile(options: SubmissionOptions): Operation {
  const { database, sealer, definitions } = options
  return declare<FilePath, unknown, unknown, unknown, OwnFile>({
    name: 'get-file',
    id: 'getSubmissionFile',
    summary: 'Get a file',
    description:
      'The current file of a submission: the uploaded file with all later batches applied. Send its ETag as If-Match with the next upload. An error during the download closes the connection.',
    tag: TAG,
    method: 'GET',
    path: '/submissions/{submissionToken}/files/{fileType}',
    limit: 'submissions',
    accepts: [CSV, NDJSON],
    authorizingHeaders: EID_HEADER,
    parameters: { path: FILE_PATH },
    responses: {
      200: {
        ...describeStream(CSV, 'The file in its stored format.'),
        content: Object.fromEntries([CSV, NDJSON].map((type) => [type, { schema: { type: 'string' } }])),
      },
    },
    problems: {
      ...COMMON_PROBLEMS,
      'not-found': 'The submission has no such file.',
      gone: REFUSALS.gone,
      conflict: 'The file has too many fields for CSV, or batches have changed too many of its records.',
    },
    authorize: authorizeFile(options, 'get-file', 'validation-results:read'),
    async handle({ authorized, request }) {
      const { submission, resource } = authorized
      if (submission.ended === 'Cancelled') await refusing(Promise.reject(cancelled()))
      assertKnown(definitions, authorized)
      const file = (await listFiles(database, submission.token)).find((each) => each.resource === resource)
      if (file === undefined) throw new Problem('not-found', 'The submission has no such file yet.')
      const form = definitions.formOf(submission.definition ?? '', resource)
      const stored = file.format === 'csv' ? CSV : NDJSON
      const type = preferType(request.headers.accept, stored === CSV ? [CSV, NDJSON] : [NDJSON, CSV])
      const open = () => readCurrentFile(database, sealer, file, form)
      const body = type === stored ? open() : type === CSV ? ndjsonToCsv(open, form) : csvToNdjson(open())
      // What cannot be sent is refused before the response begins.
      const first = await refusing(body.next().catch(explainChanges))
      return stream(`${type}; charset=utf-8`, continueAfter(first, body), {
        etag: fileEtag(file),
        // The name comes from the definition.
        'content-disposition': `attachment; filename="${file.resource}.${type === CSV ? 'csv' : 'ndjson'}"`,
      })
    },
  })
}

function explainChanges(error: unknown): never {
  if (error instanceof TooManyChanges) throw new Refusal('conflict', error.message)
  throw error
}

/** The rest of a generator whose first value has been taken. It ends even if nobody reads it. */
function continueAfter(
  first: IteratorResult<Buffer, void>,
  rest: AsyncGenerator<Buffer, void>,
): AsyncIterable<Buffer> {
  let taken: IteratorResult<Buffer, void> | undefined = first
  return {
    [Symbol.asyncIterator]: () => ({
      next: async () => {
        const next = taken ?? (await rest.next())
        taken = undefined
        return next
      },
      return: () => rest.return(),
    }),
  }
}

interface BatchBody {
  readonly content?: readonly ({ readonly localId?: string } & Readonly<Record<string, unknown>>)[]
}

function addRecords(options: SubmissionOptions): Operation {
  return batchOperation(options, {
    name: 'add-records',
    id: 'addSubmissionRecords',
    summary: 'Add or replace records',
    description:
      'Adds a batch of records to a file. A record replaces the earlier one with the same `localId`; within a batch, the last one applies.',
    method: 'POST',
    schema: RecordBatch,
    toOperation: ({ localId = '', ...record }, keep): RecordOperation => ({
      localId,
      record: keep ? { localId, ...record } : record,
    }),
  })
}

function deleteRecords(options: SubmissionOptions): Operation {
  return batchOperation(options, {
    name: 'delete-records',
    id: 'deleteSubmissionRecords',
    summary: 'Delete records',
    description: 'Deletes the records of a file that have the given `localId`s.',
    method: 'DELETE',
    schema: RecordDeletion,
    toOperation: ({ localId = '' }): RecordOperation => ({ localId }),
  })
}

interface BatchDeclaration extends Pick<Operation, 'name' | 'id' | 'summary' | 'description'> {
  readonly method: 'POST' | 'DELETE'
  readonly schema: typeof RecordBatch | typeof RecordDeletion
  /** @param keep whether the records of the file have a field `localId` */
  toOperation(given: { localId?: string } & Record<string, unknown>, keep: boolean): RecordOperation
}

function batchOperation(
  options: SubmissionOptions,
  { schema, toOperation, ...declaration }: BatchDeclaration,
): Operation {
  const { database, sealer, definitions, maxBatchRecords } = options
  return declare<FilePath, unknown, unknown, BatchBody, OwnFile>({
    ...declaration,
    tag: TAG,
    path: '/submissions/{submissionToken}/records/{fileType}',
    limit: 'submissions',
    authorizingHeaders: EID_HEADER,
    parameters: { path: FILE_PATH, body: { json: schema, maxBytes: MAX_BATCH_BYTES, personal: true } },
    schemas: { BatchResult },
    responses: {
      200: describeDocument('BatchResult', 'The result for each record.', {
        submissionToken: 'Jb7cJb0i1s8YJw2Vq2cJcJZ1m6v0gQpA',
        content: [{ localId: 'L0000001', errors: [] }],
      }),
    },
    problems: {
      ...COMMON_PROBLEMS,
      'invalid-body':
        'The batch has too many records (errorCode `MP1`), a record lacks its `localId`, or the body has another form (`CV1`).',
      'malformed-body': 'The body is not one JSON object.',
      'not-found': 'The definition has no such file.',
      'content-too-large': 'The body is too large.',
      'unsupported-media-type': 'The body is not JSON.',
      ...REFUSALS,
    },
    describeBodyFaults: () => ({ members: { errorCode: 'CV1' } }),
    authorize: authorizeFile(options, declaration.name, 'submissions:write'),
    async handle({ authorized, body: { content = [] } }) {
      assertKnown(definitions, authorized)
      const { submission, resource } = authorized
      const missing = content.findIndex(({ localId }) => localId === undefined || localId === '')
      if (missing >= 0 || content.length === 0) {
        const detail = missing >= 0 ? `content[${missing}].localId is missing.` : 'content has no records.'
        throw new Problem('invalid-body', detail, { members: { errorCode: 'CV1' } })
      }
      const known = definitions.findResource(submission.definition ?? '', resource)
      const keep = known?.fields.some(({ name }) => name === 'localId') ?? true
      const acknowledged = await refusing(
        applyBatch(database, sealer, {
          token: submission.token,
          eid: submission.eid,
          resource,
          operations: content.map((each) => toOperation({ ...each }, keep)),
          maxRecords: maxBatchRecords,
          form: definitions.formOf(submission.definition ?? '', resource),
        }),
      )
      return document({ submissionToken: submission.token, content: acknowledged })
    },
  })
}
