import type { FastifyRequest } from 'fastify'
import Type from 'typebox'
import { actorOf } from '../../api/access/actor.ts'
import { type Operation, operation } from '../../api/contract/contract.ts'
import { describeDocument } from '../../api/contract/describe.ts'
import { Problem } from '../../api/contract/problems.ts'
import { document } from '../../api/contract/results.ts'
import { unsupportedEncoding } from '../../api/request/body.ts'
import { callerOf } from '../../api/request/caller.ts'
import { Exhausted, type Holding } from '../../foundation/budget/budget.ts'
import { REFUSALS, refusing, toProblem } from '../authorize.ts'
import { SUBMISSION_PROBLEMS, TAG } from '../contract.ts'
import { EXAMPLE_FILE } from '../example.ts'
import type { SubmissionOptions } from '../options.ts'
import { Refusal } from '../refusal.ts'
import { renderFile } from '../render.ts'
import { SubmissionFile } from '../schema.ts'
import { assertKnown, CSV, FILE_PATH, forFile, NDJSON } from './contract.ts'
import { readDigest, readEtags } from './file-headers.ts'
import { fileEtag, storeFile } from './upload.ts'

export function putFile(options: SubmissionOptions): Operation {
  const { database, sealer, definitions, maxUploadBytes, minUploadRate } = options
  return operation({
    name: 'put-file',
    id: 'putSubmissionFile',
    summary: 'Upload a file',
    description:
      'Replaces a whole file of a submission. Whatever `mahi check` reads is accepted: any separator, UTF-8, UTF-16, UTF-32 and Windows-1252, gzip, and columns in another spelling. It is stored as UTF-8; the response has `notes` about what was guessed, and says if the first line is not the header of this file. Faulty records become findings of the next validation run. The previous file stays until the upload is complete.',
    tag: TAG,
    method: 'PUT',
    path: '/submissions/{submissionToken}/files/{fileType}',
    access: forFile(database, 'submissions:write'),
    limit: 'submissions',
    request: {
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
      body: { stream: [CSV, NDJSON], maxBytes: maxUploadBytes, minRate: minUploadRate },
    },
    schemas: { SubmissionFile },
    responses: {
      200: describeDocument(SubmissionFile, 'The stored file.', EXAMPLE_FILE, {
        etag: { description: 'Identifies this state of the file. Send it as If-Match.', type: 'string' },
      }),
    },
    problems: {
      ...SUBMISSION_PROBLEMS,
      'invalid-body':
        'The content is empty, damaged or not what its digest says. The detail names the file. The errorCode `GM1` means a damaged gzip file.',
      'malformed-body': 'The chunks of the body are malformed.',
      'not-found': 'The definition has no such file.',
      'content-too-large': 'The content is too large, as sent or uncompressed.',
      'unsupported-media-type': 'The content is not CSV or NDJSON, uncompressed or gzip.',
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
    const slot = takeSlot(request)
    const file = await refusing(
      storeFile(database, sealer, {
        token: submission.token,
        eid: submission.eid,
        resource,
        format: type === CSV ? 'csv' : 'ndjson',
        form: definitions.formOf(submission.definition ?? '', resource),
        gzip: encoding === 'gzip',
        content: bytes,
        judgeStart: (start) => definitions.judgeStart(submission.definition ?? '', resource, start),
        maxBytes: maxUploadBytes,
        actor: actorOf(principal),
        ...(digest !== undefined && { digest }),
        ...(ifMatch !== undefined && { ifMatch }),
        ...(ifNoneMatch !== undefined && { ifNoneMatch }),
      }),
    ).finally(() => slot.release())
    return document(renderFile(definitions, submission.definition, file), { etag: fileEtag(file) })
  })
}

/** @throws {Problem} `too-many-requests` or `unavailable` */
function takeSlot(request: FastifyRequest): Holding {
  try {
    return request.server.budgets.uploads.take(callerOf(request), 1)
  } catch (error) {
    if (!(error instanceof Exhausted)) throw error
    const { own, message, retryAfter } = error
    throw toProblem(
      own
        ? new Refusal('too-many', 'Too many of your uploads are in progress. Wait until one ends.', {
            retryAfter,
          })
        : new Refusal('busy', message, { retryAfter }),
    )
  }
}
