import type { Reader } from '../../foundation/database/database.ts'
import { UserError } from '../../foundation/faults/user-error.ts'
import { readKept } from './revision-log.ts'

/** The revision does not exist or is no longer kept; the message lists those that are. */
export class RevisionUnknown extends UserError {}

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

/** A bounded part of the differences between two revisions, ordered by code. */
export interface DifferencesPart {
  readonly differences: readonly Difference[]
  /** The last code that was examined; absent if no others follow. */
  readonly last: string | undefined
}

/** Codes examined at once: those that changed between two revisions, and may have changed back. */
const BATCH = 500

/** The codes that changed after revision $1, within the codes after $2. */
const CHANGED = `
  select code from occupation where revision > $1 and code > $2
  union select code from occupation_past where until > $1 and code > $2`

const documentAt = (revision: string) => `coalesce(
  (select o.document from occupation o where o.code = c.code and o.revision <= ${revision}),
  (select p.document from occupation_past p
   where p.code = c.code and p.until > ${revision} and p.revision <= ${revision}))`

/**
 * Reads a part of the differences between two kept revisions. Its cost is bounded, whatever the revisions have in
 * common: an import and its return change every code, and leave no difference.
 *
 * @param after the code after which to begin
 */
export async function readDifferences(
  reader: Reader,
  [from, to]: readonly [number, number],
  after: string,
): Promise<DifferencesPart> {
  const oldest = Math.min(from, to)
  const end = await reader.get<{ last: string | null; count: number }>(
    `select max(code) as last, count(*) as count from (${CHANGED} order by code limit ${BATCH}) changed`,
    [oldest, after],
  )
  if (end === undefined || end.last === null) return { differences: [], last: undefined }
  const rows = await reader.all<{ code: string; before: string | null; after: string | null }>(
    `select * from (
       select c.code, ${documentAt('$4')} as before, ${documentAt('$5')} as after
       from (${CHANGED}) c where c.code <= $3
     ) compared
     where before is distinct from after order by code`,
    [oldest, after, end.last, from, to],
  )
  return {
    differences: rows.map(({ code, before, after }) => ({
      code,
      before: before ?? undefined,
      after: after ?? undefined,
    })),
    last: end.count < BATCH ? undefined : end.last,
  }
}

/** All differences between two kept revisions, ordered by code. */
export async function* listDifferences(reader: Reader, from: number, to: number): AsyncGenerator<Difference> {
  for (let after: string | undefined = ''; after !== undefined; ) {
    const part: DifferencesPart = await readDifferences(reader, [from, to], after)
    yield* part.differences
    after = part.last
  }
}
