import { type Operation, operation } from '../../api/contract/contract.ts'
import { describeDocument } from '../../api/contract/describe.ts'
import { text } from '../../api/contract/fields.ts'
import { Problem } from '../../api/contract/problems.ts'
import { document } from '../../api/contract/results.ts'
import { unsupportedEncoding } from '../../api/request/body.ts'
import { Type } from '../../foundation/schema/type.ts'
import { REFUSALS } from '../authorize.ts'
import { SUBMISSION_PROBLEMS, TAG } from '../contract.ts'
import { EXAMPLE_FILE } from '../example.ts'
import type { SubmissionOptions } from '../options.ts'
import { renderFile } from '../render.ts'
import { SubmissionFile } from '../schema.ts'
import { assertKnown, CONTAINERS, CSV, FILE_PATH, forFile, isContainerType, NDJSON } from './contract.ts'
import { readDigest, readEtags } from './file-headers.ts'
import { ACCEPTED, awaitWork, FileWork } from './file-work.ts'
import { receive, TOO_MANY_UPLOADS } from './receive.ts'
import { fileEtag } from './upload.ts'
import { MAX_WAIT, preferHeader } from './wait.ts'

export function putFile(options: SubmissionOptions): Operation {
  const { database, definitions, maxUploadBytes } = options
  return operation({
    name: 'put-file',
    id: 'putSubmissionFile',
    summary: 'Upload a file',
    description:
      'Replaces a whole file of a submission. Whatever `mahi check` reads is accepted: any separator, UTF-8, UTF-16, Windows-1252 and the encoding that the definition states, gzip, columns in another spelling, a ZIP archive with only this file, and a workbook (XLSX) with only this sheet. It is stored as UTF-8; `notes` say what was guessed, whether the first line is not the header of this file, and whether it has no records. Faulty records become findings of the next validation run. The previous file stays until the upload has been read, which a worker does: the response is 202 if that takes longer than the caller waits.',
    tag: TAG,
    method: 'PUT',
    path: '/submissions/{submissionToken}/files/{fileType}',
    access: forFile(database, 'submissions:write'),
    limit: 'submissions',
    request: {
      path: FILE_PATH,
      header: Type.Object({
        ...preferHeader(MAX_WAIT).properties,
        'Content-Digest': text('SHA-256 of the content as it is sent (RFC 9530), such as `sha-256=:...:`.', {
          maxLength: 1000,
        }),
        'If-Match': text('The ETag of the file to replace.', { maxLength: 4000 }),
        'If-None-Match': text('`*`: store the file only if there is none yet.', { maxLength: 4000 }),
      }),
      body: { stream: [CSV, NDJSON, ...CONTAINERS], maxBytes: maxUploadBytes },
    },
    schemas: { SubmissionFile, FileWork },
    responses: {
      202: ACCEPTED,
      200: describeDocument(SubmissionFile, 'The stored file.', EXAMPLE_FILE, {
        etag: { description: 'Identifies this state of the file. Send it as If-Match.', type: 'string' },
      }),
    },
    problems: {
      ...SUBMISSION_PROBLEMS,
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
  }).handle(async ({ authorized, header, body, request }) => {
    // RFC 9110, section 14.5: a part must not replace the whole file.
    if (request.headers['content-range'] !== undefined)
      throw new Problem('invalid-parameters', 'Content-Range is not supported. Send the whole file.')
    assertKnown(definitions, authorized)
    const { type, encoding, bytes } = body
    if (encoding !== 'identity' && encoding !== 'gzip') throw unsupportedEncoding(encoding, ['gzip'])
    const { submission, resource } = authorized
    const { token, eid, definition } = submission
    const digest = readDigest(header['Content-Digest'])
    const ifMatch = readEtags(header['If-Match'])
    const ifNoneMatch = readEtags(header['If-None-Match'])
    const id = await receive(options, request, {
      token,
      eid,
      resource,
      format: type === NDJSON ? 'ndjson' : 'csv',
      gzip: encoding === 'gzip',
      isContainer: isContainerType(type),
      content: bytes,
      ...(digest !== undefined && { digest }),
      ...(ifMatch !== undefined && { ifMatch }),
      ...(ifNoneMatch !== undefined && { ifNoneMatch }),
    })
    const { pending, job } = await awaitWork(options, request, {
      id,
      prefer: header.Prefer,
      owner: submission,
    })
    if (job === undefined) return pending
    const [file] = job.files ?? []
    if (file === undefined) throw new Error('the file that was just stored is missing')
    return document(renderFile(options, definition, file), { etag: fileEtag(file) })
  })
}
