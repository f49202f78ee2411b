import type { Reader } from '../../foundation/database/database.ts'
import { UserError } from '../../foundation/faults/user-error.ts'
import { readKept } from './revision-log.ts'

/** The revision does not exist or is no longer kept; the message lists those that are. */
export class RevisionUnknown extends UserError {}

/** Codes compared at once. */
const BATCH = 200

/**
 * Checks that a revision can be read.
 *
 * @throws {RevisionUnknown}
 */
export async function assertKept(reader: Reader, revision: number): Promise<void> {
  const { oldest, current } = await readKept(reader)
  if (revision >= oldest && revision <= current) return
  throw new RevisionUnknown(
    revision > current
      ? `There is no revision ${revision}: the newest is ${current}`
      : `Revision ${revision} is no longer kept. The history holds ${oldest} to ${current}; HISTORY_DAYS says how long`,
  )
}

/** A record as it was in a kept revision; `undefined` if the catalogue did not contain it. */
export async function readRecordAt(
  reader: Reader,
  code: string,
  revision: number,
): Promise<string | undefined> {
  const row = await reader.get<{ document: string }>(
    `select document from occupation where code = $1 and revision <= $2
     union all
     select document from occupation_past where code = $1 and until > $2 and revision <= $2`,
    [code, revision],
  )
  return row?.document
}

/** A record that differs between two revisions; `undefined` on the side without it. */
export interface Difference {
  readonly code: string
  readonly before: string | undefined
  readonly after: string | undefined
}

/** The records that differ between two kept revisions, ordered by code. */
export async function* listDifferences(
  reader: Reader,
  before: number,
  after: number,
): AsyncGenerator<Difference> {
  const oldest = Math.min(before, after)
  let last = ''
  for (;;) {
    const rows = await reader.all<{ code: string }>(
      `select code from (
         select code from occupation where revision > $1
         union select code from occupation_past where until > $1
       ) changed where code > $2 order by code limit ${BATCH}`,
      [oldest, last],
    )
    for (const { code } of rows) {
      const difference = {
        code,
        before: await readRecordAt(reader, code, before),
        after: await readRecordAt(reader, code, after),
      }
      if (difference.before !== difference.after) yield difference
    }
    const end = rows.at(-1)
    if (end === undefined || rows.length < BATCH) return
    last = end.code
  }
}
