import type { Reader } from '../database/database.ts'
import { Sealer } from '../database/seal.ts'
import { joinTexts, toBuffer, type Utf8 } from '../database/utf8.ts'
import { RunGone, readDocuments } from './filters.ts'

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

export function toSubmission({ return_id, total, ...rest }: SubmissionRow): Submission {
  return { ...rest, returnId: return_id, totalCount: total }
}

/**
 * Reads the entries of a page by a range of ordinals, so that all pages cost the same.
 *
 * @returns the stored documents joined by commas, if there are any; `undefined` if another run has become current, or this one is encrypted now
 */
export async function readEntries(
  reader: Reader,
  submission: Submission,
  { page, pageSize }: { page: number; pageSize: number },
  sealer: Sealer = new Sealer(),
): Promise<{ documents: Buffer | undefined } | undefined> {
  const { token, run } = submission
  const first = (page - 1) * pageSize
  if (submission.sealed !== null) {
    const count = Math.max(0, Math.min(pageSize, submission.totalCount - first))
    const ordinals = Array.from({ length: count }, (_, index) => first + index)
    return await readSelected(reader, submission, ordinals, sealer)
  }
  const row = await reader.get<{ run: number | null; documents: Utf8 | null }>(
    // The run may have been encrypted since it was found.
    `select case when sealed is null then run end as run, (
       select ${reader.dialect.utf8(`string_agg(document, ',')`)} from (
         select document from result_entry
         where run = $2 and ordinal >= $3 and ordinal < $4 order by ordinal
       ) entries
     ) as documents
     from submission where token = $1`,
    [token, run, first, first + pageSize],
  )
  if (row?.run !== run) return undefined
  return { documents: row.documents === null ? undefined : toBuffer(row.documents) }
}

/** Reads the entries with the given ordinals, like `readEntries`. */
export async function readSelected(
  reader: Reader,
  submission: Submission,
  ordinals: readonly number[],
  sealer: Sealer,
): Promise<{ documents: Buffer | undefined } | undefined> {
  try {
    const documents = await readDocuments(reader, submission, ordinals, sealer)
    return { documents: documents.length === 0 ? undefined : joinTexts(documents) }
  } catch (error) {
    if (error instanceof RunGone) return undefined
    throw error
  }
}
