import type { Reader } from '../../foundation/database/database.ts'
import type { Revision } from '../../foundation/database/revisions.ts'
import { CATALOGUE_REVISION } from '../../foundation/database/revisions.ts'
import { joinTexts } from '../../foundation/database/utf8.ts'
import { compareCodePoints } from '../../foundation/text/code-points.ts'
import type { PageQuery } from './queries.ts'
import { type OccupationRows, toMissingCode, toRevision } from './rows.ts'
import type { Window } from './window.ts'

interface ListedRow extends Revision {
  /** A named code; null if none is named. */
  readonly code: string | null
  readonly updated: number
  readonly filters: string
  /** Null if the catalogue does not have the code. */
  readonly document: string | null
  readonly removed: number | null
  readonly replaced_by: string | null
}

/**
 * Reads one page of the records with certain codes, in one statement. As there are few, the other filters are applied
 * afterwards.
 *
 * @param codes at most as many as the parameter allows
 */
export async function readListedPage(
  reader: Reader,
  codes: readonly string[],
  { limit, cursor, majorGroup, minorGroup }: PageQuery,
  window: Window | undefined,
): Promise<OccupationRows> {
  const rows = await reader.all<ListedRow>(
    `select r.number, r.changed, e.value as code, o.updated, o.filters, o.document, t.removed, t.replaced_by
     from ${CATALOGUE_REVISION} r left join ${reader.dialect.texts('$1', 'e')} on true
     left join occupation o on o.code = e.value
     left join occupation_removed t on t.code = e.value and o.code is null`,
    [JSON.stringify(codes)],
  )
  const named = rows.flatMap((row) => (row.code === null ? [] : [{ ...row, code: row.code }]))
  const matching = named
    .flatMap((row) => (row.document === null ? [] : [{ ...row, document: row.document }]))
    .filter(({ updated }) => window === undefined || (updated >= window.from && updated <= window.to))
    .filter(({ filters }) => isPosted(filters, majorGroup, minorGroup))
    .sort((a, b) => compareCodePoints(a.code, b.code))
  const found = matching.filter(({ code }) => compareCodePoints(code, cursor) >= 0)
  const shown = found.slice(0, limit)
  return {
    revision: toRevision(rows[0]),
    totalCount: matching.length,
    resultsCount: shown.length,
    currentCursor: shown[0]?.code,
    nextCursor: found[limit]?.code,
    documents: shown.length === 0 ? undefined : joinTexts(shown.map(({ document }) => document)),
    missing: named
      .filter(({ document }) => document === null)
      .map(toMissingCode)
      .sort((a, b) => compareCodePoints(a.code, b.code)),
  }
}

function isPosted(filters: string, major: string, minor: string): boolean {
  if (major === '' && minor === '') return true
  return (JSON.parse(filters) as [string, string][]).some((each) => each[0] === major && each[1] === minor)
}
