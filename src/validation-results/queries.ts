import type { Reader } from '../database/database.ts'
import { Sealer } from '../database/seal.ts'
import { joinTexts, toBuffer, type Utf8 } from '../database/utf8.ts'
import { RunGone, readDocuments } from './filters.ts'

/** A submission with its current run. */
export interface Submission {
  readonly token: string
  readonly eid: string
  readonly returnId: string
  /** The current run: a new one has a new number. */
  readonly run: number
  readonly totalCount: number
  /** Milliseconds since 1970: when the run was published. */
  readonly published: number
  /** The key that the current run is encrypted with. */
  readonly sealed: string | null
  /** How the submission ended: nothing about it changes any more. */
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

/** Finds a submission by its token alone, for those who may see all of them. */
export async function findSubmission(reader: Reader, token: string): Promise<Submission | undefined> {
  return await readSubmission(reader, SUBMISSION, [token])
}

/**
 * Finds an organisation's submission. That of another one takes as long as one that there is not: in neither case
 * does the database hand over a row.
 *
 * @param eid the organisation, if the caller may ask for it; the empty text is none
 */
export async function findSubmissionOf(
  reader: Reader,
  eid: string,
  token: string,
): Promise<Submission | undefined> {
  // PostgreSQL takes no NUL in a text: another character that no token has makes the same query of it.
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
 * Reads the entries of a page: a range of ordinals, so that every page costs what the first does.
 *
 * @returns the stored documents joined by commas, if there are any; `undefined` if another run has become current
 *   meanwhile
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
  const row = await reader.get<{ run: number; documents: Utf8 | null }>(
    `select run, (
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

/** Reads the entries with the given ordinals, as `readEntries` does. */
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
