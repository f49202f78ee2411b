import type { Reader } from '../database/database.ts'
import { toBuffer, type Utf8 } from '../database/utf8.ts'

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
}

interface SubmissionRow {
  token: string
  eid: string
  return_id: string
  run: number
  total: number
  published: number
}

const SUBMISSION = 'select token, eid, return_id, run, total, published from submission where token = $1'

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
  { token, run }: Submission,
  { page, pageSize }: { page: number; pageSize: number },
): Promise<{ documents: Buffer | undefined } | undefined> {
  const first = (page - 1) * pageSize
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
