import type { Reader } from '../../foundation/database/database.ts'
import { Sealer } from '../../foundation/database/seal.ts'
import { readJoined } from './read-findings.ts'

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

interface SubmissionRow {
  token: string
  eid: string
  return_id: string
  run: number
  total: number
  published: number
  sealed: string | null
  ended: 'Submitted' | 'Cancelled' | null
}

const SUBMISSION =
  'select token, eid, return_id, run, total, published, sealed, ended from submission where token = $1'

/** Finds a submission by its token only, for callers that may see all of them. */
export async function findSubmission(reader: Reader, token: string): Promise<Submission | undefined> {
  return await readSubmission(reader, SUBMISSION, [token])
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
  return await readSubmission(reader, `${SUBMISSION} and eid = $2`, [token.replaceAll('\0', '\ufffd'), eid])
}

async function readSubmission(
  reader: Reader,
  statement: string,
  parameters: readonly string[],
): Promise<Submission | undefined> {
  const row = await reader.get<SubmissionRow>(statement, parameters)
  return row === undefined ? undefined : toSubmission(row)
}

function toSubmission({ return_id, total, ...rest }: SubmissionRow): Submission {
  return { ...rest, returnId: return_id, totalCount: total }
}

/**
 * Reads the entries of a page by a range of ordinals, so that all pages cost the same.
 *
 * @returns the documents joined by commas; `undefined` if there are none
 * @throws {StateMissing} if the run is not stored there
 */
export async function readEntries(
  reader: Reader,
  { run, totalCount }: Pick<Submission, 'run' | 'totalCount'>,
  { page, pageSize }: { page: number; pageSize: number },
  sealer: Sealer = new Sealer(),
): Promise<Buffer | undefined> {
  const first = (page - 1) * pageSize
  const count = Math.max(0, Math.min(pageSize, totalCount - first))
  const ordinals = Array.from({ length: count }, (_, index) => first + index)
  return await readJoined(reader, run, ordinals, sealer)
}
