import type { Reader } from '../../foundation/database/database.ts'

/** A submission with its current run. */
export interface Submission {
  readonly token: string
  readonly eid: string
  readonly returnId: string
  /** The number of the current run, which changes with each new run. */
  readonly run: number
  readonly totalCount: number
  /** When the run was published, in milliseconds since 1970. */
  readonly published: number
  /** `null` if the current run is not encrypted; otherwise its findings may be, with any key. */
  readonly sealed: string | null
  /** How the submission ended, after which it no longer changes. */
  readonly ended: 'Submitted' | 'Cancelled' | null
}

const SUBMISSION = `select token, eid, return_id as "returnId", run, total as "totalCount", published, sealed, ended
  from submission where token = $1`

/** Finds a submission by its token only, for callers that may see all of them. */
export async function findSubmission(reader: Reader, token: string): Promise<Submission | undefined> {
  return await reader.get<Submission>(SUBMISSION, [token])
}

/**
 * Finds an organisation's submission. One of another organisation takes as long as one that does not exist: in both
 * cases the database returns no row.
 *
 * @param eid the organisation, if the caller may act for it, otherwise an empty string
 */
export async function findSubmissionOf(
  reader: Reader,
  eid: string,
  token: string,
): Promise<Submission | undefined> {
  // PostgreSQL accepts no NUL in text; another character that no token contains has the same result.
  return await reader.get<Submission>(`${SUBMISSION} and eid = $2`, [token.replaceAll('\0', '\ufffd'), eid])
}
