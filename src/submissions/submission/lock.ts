import type { Database, Writer } from '../../foundation/database/database.ts'

declare const held: unique symbol

/**
 * A transaction that holds the lock of a submission. Everything that changes a submission, its files, runs or findings,
 * or decides something by their state, asks for one; only the functions below create it. What it reads is the state
 * that all earlier changes left, and stays so until it commits.
 */
export type SubmissionWriter = Writer & { readonly [held]: true }

/** Names a submission of an organisation. */
export interface SubmissionName {
  readonly token: string
  readonly eid: string
}

/**
 * Runs `work` in a transaction that holds the lock of the submission with this token, whether or not it exists.
 *
 * @param onWait called once if another change of the submission must finish first
 */
export async function changeSubmission<T>(
  database: Database,
  token: string,
  work: (writer: SubmissionWriter) => Promise<T>,
  onWait?: () => void,
): Promise<T> {
  return await database.write(`submission:${token}`, (writer) => work(writer as SubmissionWriter), onWait)
}

/**
 * Takes the lock of a submission within a transaction, after long work that does not depend on the submission, such as
 * storing the findings of a run: other changes of the submission do not wait for that.
 */
export async function lockSubmission(
  writer: Writer,
  token: string,
  onWait?: () => void,
): Promise<SubmissionWriter> {
  await writer.lock(`submission:${token}`, onWait)
  return writer as SubmissionWriter
}
