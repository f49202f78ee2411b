import { type Operation, operation } from '../../api/contract/contract.ts'
import { describeDocument } from '../../api/contract/describe.ts'
import { text } from '../../api/contract/fields.ts'
import { Problem } from '../../api/contract/problems.ts'
import { document } from '../../api/contract/results.ts'
import { unsupportedEncoding } from '../../api/request/body.ts'
import { Type } from '../../foundation/schema/type.ts'
import { forSubmission, REFUSALS } from '../authorize.ts'
import { SUBMISSION_PROBLEMS, TAG, TOKEN_PATH } from '../contract.ts'
import { EXAMPLE_FILE } from '../example.ts'
import type { SubmissionOptions } from '../options.ts'
import { renderFile } from '../render.ts'
import { SubmissionFile, SubmissionFiles } from '../schema.ts'
import { CONTAINERS } from './contract.ts'
import { readDigest } from './file-headers.ts'
import { ACCEPTED, awaitWork, FileWork } from './file-work.ts'
import { receive, TOO_MANY_UPLOADS } from './receive.ts'
import { MAX_WAIT, preferHeader } from './wait.ts'

/** The files of a submission at once, as people have them. */
export function putFiles(options: SubmissionOptions): Operation {
  const { database, maxUploadBytes } = options
  return operation({
    name: 'put-files',
    id: 'putSubmissionFiles',
    summary: 'Upload an archive or a workbook',
    description:
      'Replaces files of a submission by those in a ZIP archive, or by the sheets of a workbook (XLSX). Each is recognised by its name, as `mahi check` does; files of the submission that are not in it stay. `notes` say what was guessed, and those of the first file also what was not read. All files are replaced at once: if one is refused, none is. A worker reads them: the response is 202 if that takes longer than the caller waits.',
    tag: TAG,
    method: 'PUT',
    path: '/submissions/{submissionToken}/files',
    access: forSubmission(database, 'submissions:write'),
    limit: 'submissions',
    request: {
      path: TOKEN_PATH,
      header: Type.Object({
        ...preferHeader(MAX_WAIT).properties,
        'Content-Digest': text('SHA-256 of the content as it is sent (RFC 9530), such as `sha-256=:...:`.', {
          maxLength: 1000,
        }),
      }),
      body: { stream: CONTAINERS, maxBytes: maxUploadBytes },
    },
    schemas: { SubmissionFile, SubmissionFiles, FileWork },
    responses: {
      202: ACCEPTED,
      200: describeDocument(SubmissionFiles, 'The stored files.', { files: [EXAMPLE_FILE] }),
    },
    problems: {
      ...SUBMISSION_PROBLEMS,
      unavailable: TOO_MANY_UPLOADS,
      'invalid-body':
        'The archive or workbook is damaged, encrypted or too large, has no file of the definition, two of one kind, or one that is empty. The detail names the file in it.',
      'malformed-body': 'The chunks of the body are malformed.',
      'content-too-large': 'The content, or a file in it, is too large.',
      'no-such-file': 'The data of the submission was deleted while this was in progress.',
      'unsupported-media-type': 'The content is neither a ZIP archive nor a workbook (XLSX).',
      ...REFUSALS,
    },
  }).handle(async ({ authorized, header, body, request }) => {
    // RFC 9110, section 14.5: a part must not replace the whole.
    if (request.headers['content-range'] !== undefined)
      throw new Problem(
        'invalid-parameters',
        'Content-Range is not supported. Send the whole archive or workbook.',
      )
    const { encoding, bytes } = body
    if (encoding !== 'identity') throw unsupportedEncoding(encoding, ['identity'])
    const digest = readDigest(header['Content-Digest'])
    const { token, eid, definition } = authorized
    const id = await receive(options, request, {
      token,
      eid,
      format: 'csv',
      gzip: false,
      isContainer: true,
      content: bytes,
      ...(digest !== undefined && { digest }),
    })
    const { pending, job } = await awaitWork(options, request, {
      id,
      prefer: header.Prefer,
      owner: authorized,
    })
    if (job === undefined) return pending
    return document({ files: (job.files ?? []).map((file) => renderFile(options, definition, file)) })
  })
}
