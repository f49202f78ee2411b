import { timingSafeEqual } from 'node:crypto'
import { type Actor, SERVICE } from '../../api/access/principal.ts'
import { Problem } from '../../api/request/problems.ts'
import type { Database } from '../../foundation/database/database.ts'
import type { Sealer } from '../../foundation/database/seal.ts'
import type { SubmissionName } from '../submission/lock.ts'
import { assertOpen, type FileState, type SubmissionState, withSubmission } from '../submission/submission.ts'
import { dropContent, keepContent, storeContent } from './content.ts'
import { hasEtag } from './file-headers.ts'
import { assertRoom, insertFileJob, type SentAs } from './file-job.ts'
import { FORMATS } from './scan.ts'

export interface Upload extends SentAs, SubmissionName {
  /** The only file that it may replace, such as `learners`; by default, each is recognised by its name. */
  readonly resource?: string
  readonly content: AsyncIterable<Uint8Array>
  /** SHA-256 of the content as sent, from `Content-Digest`. */
  readonly digest?: Uint8Array | undefined
  readonly actor?: Actor
}

/**
 * The ETag of a file: its digest or, with batches, its version and state; in another format than the stored one, another
 * one (RFC 9110, section 8.8.3).
 */
export function fileEtag(
  { sha256, batches, version, chunks, format }: FileState,
  sent: FileState['format'] = format,
): string {
  const state = batches === 0 ? sha256 : `${version}.${chunks}`
  return `"${state}${sent === format ? '' : `.${sent}`}"`
}

/**
 * Stores an upload as it was sent while it arrives, and queues its reading; returns the id of that work. The data of a
 * failed upload is deleted.
 *
 * @throws {Problem}
 */
export async function receiveUpload(
  database: Database,
  sealer: Sealer,
  { content, digest, token, eid, resource, actor = SERVICE, ...sent }: Upload,
): Promise<string> {
  const owner = { token, eid }
  await withSubmission(database, owner, async (writer, submission) => {
    assertOpen(submission)
    if (resource !== undefined) assertMatches(submission, resource, sent)
    await assertRoom(writer, 'upload', eid)
  })
  const stored = await storeContent(database, sealer, owner, content)
  try {
    const found = Buffer.from(stored.sha256, 'hex')
    if (digest !== undefined && (digest.length !== found.length || !timingSafeEqual(digest, found)))
      throw new Problem('invalid-body', 'Content-Digest does not match the content that arrived.')
    return await withSubmission(database, owner, async (writer, submission) => {
      assertOpen(submission)
      await keepContent(writer, owner, stored)
      const { revision } = submission
      const { version } = stored
      const job = {
        ...owner,
        work: 'upload',
        resource: resource ?? null,
        revision,
        sent,
        actor,
        version,
      } as const
      return await insertFileJob(writer, sealer, job)
    })
  } catch (error) {
    await dropContent(database, token, stored.version)
    throw error
  }
}

/** @throws {Problem} if the state of a file is not the one that the caller expects */
export function assertMatches(
  { files }: SubmissionState,
  resource: string,
  { ifMatch, ifNoneMatch }: Pick<SentAs, 'ifMatch' | 'ifNoneMatch'>,
): void {
  const file = files.find((each) => each.resource === resource)
  const isNamed = (etags: typeof ifMatch) =>
    file !== undefined && FORMATS.some((format) => hasEtag(etags, fileEtag(file, format)))
  if (isNamed(ifNoneMatch))
    throw new Problem(
      'precondition-failed',
      'The file already exists in a state that If-None-Match rules out.',
    )
  if (ifMatch === undefined || isNamed(ifMatch)) return
  throw new Problem(
    'precondition-failed',
    file === undefined
      ? 'If-Match contains an ETag, but the file does not exist yet.'
      : 'The file has changed: its ETag is not in If-Match. Read it again before you replace it.',
  )
}
