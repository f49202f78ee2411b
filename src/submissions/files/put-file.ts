import { actorOf } from '../../api/access/principal.ts'
import { type Operation, operation } from '../../api/contract/contract.ts'
import { describeDocument } from '../../api/contract/describe.ts'
import { text } from '../../api/contract/fields.ts'
import { Problem } from '../../api/contract/problems.ts'
import { document } from '../../api/contract/results.ts'
import { unsupportedEncoding } from '../../api/request/body.ts'
import { Type } from '../../foundation/schema/type.ts'
import { REFUSALS, refusing } from '../authorize.ts'
import { SUBMISSION_PROBLEMS, TAG } from '../contract.ts'
import { EXAMPLE_FILE } from '../example.ts'
import type { SubmissionOptions } from '../options.ts'
import { Refusal } from '../refusal.ts'
import { renderFile } from '../render.ts'
import { SubmissionFile } from '../schema.ts'
import { assertKnown, CONTAINERS, CSV, FILE_PATH, forFile, NDJSON } from './contract.ts'
import { readDigest, readEtags } from './file-headers.ts'
import { isContainerType, lookInto, NO_CONTAINER, storeContainer } from './store-container.ts'
import { fileEtag, storeFile } from './upload.ts'
import { TOO_MANY_UPLOADS, takeSlot } from './upload-slot.ts'

export function putFile(options: SubmissionOptions): Operation {
  const { database, sealer, definitions, maxUploadBytes, minUploadRate } = options
  return operation({
    name: 'put-file',
    id: 'putSubmissionFile',
    summary: 'Upload a file',
    description:
      'Replaces a whole file of a submission. Whatever `mahi check` reads is accepted: any separator, UTF-8, UTF-16, Windows-1252 and the encoding that the definition states, gzip, columns in another spelling, a ZIP archive with only this file, and a workbook (XLSX) with only this sheet. It is stored as UTF-8; `notes` say what was guessed, whether the first line is not the header of this file, and whether it has no records. Faulty records become findings of the next validation run. The previous file stays until the upload is complete.',
    tag: TAG,
    method: 'PUT',
    path: '/submissions/{submissionToken}/files/{fileType}',
    access: forFile(database, 'submissions:write'),
    limit: 'submissions',
    request: {
      path: FILE_PATH,
      header: Type.Object({
        'Content-Digest': text('SHA-256 of the content as it is sent (RFC 9530), such as `sha-256=:...:`.', {
          maxLength: 1000,
        }),
        'If-Match': text('The ETag of the file to replace.', { maxLength: 4000 }),
        'If-None-Match': text('`*`: store the file only if there is none yet.', { maxLength: 4000 }),
      }),
      body: { stream: [CSV, NDJSON, ...CONTAINERS], maxBytes: maxUploadBytes, minRate: minUploadRate },
    },
    schemas: { SubmissionFile },
    responses: {
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
      'not-found': 'The definition has no such file.',
      'content-too-large': 'The content is too large, as sent or uncompressed.',
      'unsupported-media-type':
        'The content is not CSV or NDJSON, uncompressed or gzip, nor a ZIP archive or a workbook (XLSX); or it has NUL characters, which no text file has.',
      'precondition-failed': 'The file does not have the ETag in If-Match, or has one in If-None-Match.',
      ...REFUSALS,
    },
  }).handle(async ({ authorized, header, body, request, principal }) => {
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
    const conditions = {
      ...(digest !== undefined && { digest }),
      ...(ifMatch !== undefined && { ifMatch }),
      ...(ifNoneMatch !== undefined && { ifNoneMatch }),
    }
    const definition = submission.definition ?? ''
    const slot = takeSlot(request)
    const stored = lookInto(bytes, async (content, isContainer) => {
      if (isContainer && encoding === 'identity')
        return await storeContainer(options, request, { submission, only: resource, content, ...conditions })
      if (isContainerType(type)) throw new Refusal('unsupported', NO_CONTAINER)
      const file = await storeFile(database, sealer, {
        token: submission.token,
        eid: submission.eid,
        resource,
        format: type === NDJSON ? 'ndjson' : 'csv',
        form: definitions.formOf(definition, resource),
        gzip: encoding === 'gzip',
        content,
        judgeStart: (start) => definitions.judgeStart(definition, resource, start),
        maxBytes: maxUploadBytes,
        actor: actorOf(principal),
        ...conditions,
      })
      return [file]
    })
    const [file] = await refusing(stored).finally(() => slot.release())
    if (file === undefined) throw new Error('the file that was just stored is missing')
    return document(renderFile(definitions, submission.definition, file), { etag: fileEtag(file) })
  })
}
