import type { Reader, Value } from '../../foundation/database/database.ts'
import type { Dialect } from '../../foundation/database/dialect.ts'
import type { Revision } from '../../foundation/database/revisions.ts'
import { CATALOGUE_REVISION } from '../../foundation/database/revisions.ts'
import { joinTexts, toBuffer, type Utf8 } from '../../foundation/database/utf8.ts'
import { compareCodePoints } from '../../foundation/text/code-points.ts'
import { formatKnown } from '../../foundation/text/timestamp.ts'
import { MOST_RECORDS } from './limits.ts'

/** A page read from a consistent state, with the revision of the catalogue. */
export interface OccupationRows {
  readonly revision: Revision
  readonly totalCount: number
  readonly resultsCount: number
  readonly currentCursor: string | undefined
  readonly nextCursor: string | undefined
  /** The stored documents, joined by commas; `undefined` if there are none. */
  readonly documents: Buffer | undefined
  /** The codes that a caller has named and the catalogue does not have. */
  readonly missing?: readonly MissingCode[]
}

export interface MissingCode {
  readonly code: string
  /** When it was removed, in milliseconds since 1970; `undefined` if the catalogue never had it. */
  readonly removed: number | undefined
  readonly replacedBy: readonly string[]
}

/** A code with its tombstone, if it has one, from `occupation_removed`. */
export interface MissingCodeRow {
  readonly code: string
  readonly removed: number | null
  readonly replaced_by: string | null
}

export function toMissingCode({ code, removed, replaced_by }: MissingCodeRow): MissingCode {
  const replacedBy = replaced_by === null ? [] : (JSON.parse(replaced_by) as string[])
  return { code, removed: removed ?? undefined, replacedBy }
}

/** As the API shows it. */
export function renderMissingCode({ code, removed, replacedBy }: MissingCode) {
  return {
    occupationCode: code,
    removedDate: formatKnown(removed),
    replacedBy: replacedBy.length === 0 ? undefined : [...replacedBy],
  }
}

/** The source of a page's rows, in the order of their codes; the first ones are read. */
export interface Source {
  /** The column `code`. */
  readonly codes: string
  /** The columns `code` and `document`, if they are available without looking up each code. */
  readonly records?: string
}

/** Columns with the state of the catalogue. */
export const CATALOGUE = `(select number from ${CATALOGUE_REVISION} r) as number,
  (select changed from ${CATALOGUE_REVISION} r) as changed`

const LOOKED_UP = 'select p.code, o.document from picked p join occupation o on o.code = p.code'

/** The page sizes with prepared statements; other sizes use the next larger one. */
const SIZES = [20, 100, MOST_RECORDS]

/**
 * Reads a page in one statement, and therefore from a consistent state.
 *
 * @param total the count, as an expression
 * @param limit the page's limit, which is also $2
 */
export async function readRows(
  reader: Reader,
  source: Source,
  total: string,
  parameters: readonly Value[],
  limit: number,
): Promise<OccupationRows> {
  const { dialect } = reader
  const size = SIZES.find((each) => each >= limit) ?? MOST_RECORDS
  return dialect.joinsDocuments
    ? fromJoined(await reader.get(joinedStatement(dialect, source, total, size), parameters), limit)
    : fromDocuments(await reader.all(documentsStatement(dialect, source, total, size), parameters), limit)
}

interface Head extends Revision {
  readonly total: number | null
}

interface JoinedRow extends Head {
  readonly found: number
  readonly current: string | null
  readonly last: string | null
  readonly documents: Utf8 | null
}

/**
 * One row, with the documents as one value. It reads one more code than the page shows, at which the next page
 * begins.
 */
function joinedStatement(dialect: Dialect, source: Source, total: string, size: number): string {
  const documents = dialect.first(source.records ?? `${LOOKED_UP} order by p.code`, '$2', size)
  return `with picked as materialized (${dialect.first(source.codes, '$2 + 1', size + 1)})
    select ${CATALOGUE}, ${total} as total,
      count(*) as found, min(code) as current, max(code) as last,
      (select ${dialect.utf8(`string_agg(document, ',')`)} from (${documents}) shown) as documents
    from picked`
}

function fromJoined(row: JoinedRow | undefined, limit: number): OccupationRows {
  const revision = toRevision(row)
  const { total = null, found = 0, current = null, last = null, documents = null } = row ?? {}
  return {
    revision,
    totalCount: Number(total),
    resultsCount: Math.min(found, limit),
    currentCursor: current ?? undefined,
    nextCursor: found > limit ? (last ?? undefined) : undefined,
    documents: documents === null ? undefined : toBuffer(documents),
  }
}

/** One row for each record; for a page without records, one row without a code. */
interface DocumentRow extends Head {
  readonly code: string | null
  readonly document: string | null
}

/** The rows are not ordered: sorting them in the database costs more. */
function documentsStatement(dialect: Dialect, source: Source, total: string, size: number): string {
  const first = (select: string) => dialect.first(select, '$2 + 1', size + 1)
  const picked = source.records === undefined ? `with picked as materialized (${first(source.codes)})` : ''
  const shown = source.records === undefined ? LOOKED_UP : first(source.records)
  return `${picked}
    select r.number, r.changed, ${total} as total, shown.code, shown.document
    from ${CATALOGUE_REVISION} r left join (${shown}) shown on true`
}

function fromDocuments(rows: readonly DocumentRow[], limit: number): OccupationRows {
  const [first] = rows
  const revision = toRevision(first)
  const found = rows.flatMap(({ code, document }) =>
    code === null || document === null ? [] : [{ code, document }],
  )
  found.sort((a, b) => compareCodePoints(a.code, b.code))
  const shown = found.slice(0, limit)
  return {
    revision,
    totalCount: Number(first?.total ?? 0),
    resultsCount: shown.length,
    currentCursor: shown[0]?.code,
    nextCursor: found[limit]?.code,
    documents: shown.length === 0 ? undefined : joinTexts(shown.map(({ document }) => document)),
  }
}

/** @throws {Error} if the database has no revision of the catalogue */
export function toRevision(row: Revision | undefined): Revision {
  if (row === undefined) throw new Error('the database has no revision of the catalogue')
  return { number: row.number, changed: row.changed }
}

/** The number of records in the catalogue. */
export async function countOccupations(reader: Reader): Promise<number> {
  const row = await reader.get<{ total: number }>(
    `select total from occupation_filter where major = '' and minor = ''`,
  )
  return row?.total ?? 0
}
