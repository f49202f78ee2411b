import type { SubmissionWriter } from '../findings/change-submission.ts'
import { Refusal } from '../refusal.ts'
import { assertOpen, type SubmissionState } from '../submission.ts'

/**
 * How long an upload keeps its claim on the file without extending it, in milliseconds: after a crash, the next upload
 * waits this long at most. An upload that pauses for longer can still finish, unless another change has started.
 */
export const WRITER_LEASE = 10_000

interface OneFile {
  readonly token: string
  readonly resource: string
}

/** @throws {Refusal} if another change of the file is in progress */
export async function claimWriter(
  writer: SubmissionWriter,
  { token, resource }: OneFile,
  name: string | null,
  until: number,
): Promise<void> {
  await writer.run(
    'insert into submission_file (token, resource) values ($1, $2) on conflict (token, resource) do nothing',
    [token, resource],
  )
  const claimed = await writer.run(
    `update submission_file set writer = $3, writer_until = $4
     where token = $1 and resource = $2 and (writer is null or writer_until <= $5)`,
    [token, resource, name, until, Date.now()],
  )
  if (claimed === 1) return
  throw new Refusal('conflict', 'Another change of this file is in progress. Wait until it ends.', {
    errorCode: 'DS1',
    retryAfter: 1,
  })
}

/** @throws {Refusal} if another change has started, or the data of this one was deleted */
export async function holdWriter(
  writer: SubmissionWriter,
  submission: SubmissionState,
  { token, resource }: OneFile,
  version: string,
): Promise<void> {
  const held = await writer.run(
    'update submission_file set writer_until = $4 where token = $1 and resource = $2 and writer = $3',
    [token, resource, version, Date.now() + WRITER_LEASE],
  )
  if (held === 1) return
  assertOpen(submission)
  throw new Refusal(
    'conflict',
    'The upload paused for too long, and its data was deleted or another change of the file has started.',
    { errorCode: 'DS1' },
  )
}

/** Gives up the claim of an upload that has failed. */
export async function releaseWriter(
  writer: SubmissionWriter,
  { token, resource }: OneFile,
  version: string,
): Promise<void> {
  await writer.run(
    `update submission_file set writer = null, writer_until = null
     where token = $1 and resource = $2 and writer = $3`,
    [token, resource, version],
  )
}
