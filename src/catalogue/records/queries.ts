import type { Reader, Value } from '../../foundation/database/database.ts'
import { isSameRevision, type Revision } from '../../foundation/database/revisions.ts'
import { compareCodePoints } from '../../foundation/text/code-points.ts'
import { CATALOGUE, type OccupationRows, readRows, type Source, toRevision } from './rows.ts'
import { choosePlan, MAX_DATES, splitWindow, type Window, type WindowPlan } from './window.ts'

/** A request for a page, from checked parameters. */
export interface PageQuery {
  readonly limit: number
  /** The page starts at the first code at or after this one; `''` is before every code. */
  readonly cursor: string
  /** `''` for any. */
  readonly majorGroup: string
  /** `''` for any. */
  readonly minorGroup: string
}

/** The plan and count of a window, and the revision of the catalogue for which they are valid. */
export interface PlannedWindow {
  readonly revision: Revision
  readonly filter: number
  readonly totalCount: number
  readonly plan: WindowPlan
}

const FILTER = 'select id from occupation_filter where major = $3 and minor = $4'

const inOrder = (columns: string) => `select ${columns} from occupation where code >= $1 order by code`

/** From the cursor $1. */
const SOURCES: Readonly<Record<'all' | 'filter', Source>> = {
  all: { codes: inOrder('code'), records: inOrder('code, document') },
  filter: {
    codes: `select code from occupation_posting where filter = (${FILTER}) and code >= $1 order by code`,
  },
}

/**
 * Reads one page in one statement, and therefore from a consistent state: the revision, the stored count, the codes
 * and the joined documents. The cost depends neither on the size of the catalogue nor on the position in it.
 */
export async function readPage(reader: Reader, query: PageQuery): Promise<OccupationRows> {
  const { limit, cursor, majorGroup, minorGroup } = query
  const source = majorGroup === '' && minorGroup === '' ? SOURCES.all : SOURCES.filter
  const total = '(select total from occupation_filter where major = $3 and minor = $4)'
  return await readRows(reader, source, total, [cursor, limit, majorGroup, minorGroup], limit)
}

/**
 * Plans the window of a query from the stored counts, in one statement, or two if the plan is a list. The plan is
 * valid, and can be cached, for one revision of the catalogue.
 */
export async function planPage(reader: Reader, query: PageQuery, window: Window): Promise<PlannedWindow> {
  const { majorGroup, minorGroup } = query
  const stretches = splitWindow(window)
  const sums = stretches.map(
    (_, index) =>
      `coalesce((select sum(total) from occupation_date where filter = f.id and span = $${3 * index + 3}
        and start between $${3 * index + 4} and $${3 * index + 5}), 0)`,
  )
  const row = await reader.get<
    Revision & { filter: number | null; among: number | null; total: number; dates: string | null }
  >(
    `select ${CATALOGUE}, f.id as filter, f.total as among, ${sums.join(' + ')} as total,
      (select string_agg(cast(start as text), ',') from (
        select start from occupation_date
        where filter = f.id and span = 0 and start between $12 and $13 order by start limit ${MAX_DATES + 1}
      ) first_dates) as dates
    from (select 1 as one) head left join occupation_filter f on f.major = $1 and f.minor = $2`,
    [majorGroup, minorGroup, ...stretches.flat(), window.from, window.to],
  )
  const revision = toRevision(row)
  const totalCount = Number(row?.total ?? 0)
  const filter = row?.filter
  if (filter == null || totalCount === 0) {
    return { revision, filter: -1, totalCount: 0, plan: { kind: 'list', codes: [] } }
  }
  const dates = (row?.dates ?? '').split(',').map(Number)
  switch (choosePlan(totalCount, row?.among ?? 0, dates.length)) {
    case 'dates':
      return { revision, filter, totalCount, plan: { kind: 'dates', dates } }
    case 'walk':
      return { revision, filter, totalCount, plan: { kind: 'walk' } }
    case 'list': {
      const listed = await listWindow(reader, filter, window)
      // After an import between the two statements, the number may belong to another filter.
      return isSameRevision(listed.revision, revision) ? listed : await planPage(reader, query, window)
    }
  }
}

/** Separates codes in one text: a control character, which stored text never contains. */
const SEPARATOR = '\u001f'

async function listWindow(reader: Reader, filter: number, window: Window): Promise<PlannedWindow> {
  const row = await reader.get<Revision & { codes: string | null }>(
    `select ${CATALOGUE}, (select string_agg(code, $4) from (
       select code from occupation_posting ${reader.dialect.useIndex('occupation_posting_by_date')}
       where filter = $1 and updated between $2 and $3 order by code
     ) listed) as codes`,
    [filter, window.from, window.to, SEPARATOR],
  )
  const codes = row?.codes == null ? [] : row.codes.split(SEPARATOR)
  return { revision: toRevision(row), filter, totalCount: codes.length, plan: { kind: 'list', codes } }
}

/**
 * Reads one page of a window by its plan, in one statement.
 *
 * @returns rows whose revision may differ from the plan's, in which case the caller plans again
 */
export async function readWindowPage(
  reader: Reader,
  { limit, cursor }: PageQuery,
  window: Window,
  { filter, totalCount, plan }: PlannedWindow,
): Promise<OccupationRows> {
  const { codes, parameters } = windowCodes(reader, plan, { filter, window, limit, cursor })
  const rows = await readRows(reader, { codes }, 'null', parameters, limit)
  return { ...rows, totalCount }
}

/** The codes of a page of a window, in order; $2 is always the limit of the page. */
function windowCodes(
  { dialect }: Reader,
  plan: WindowPlan,
  { filter, window, limit, cursor }: { filter: number; window: Window; limit: number; cursor: string },
): { codes: string; parameters: Value[] } {
  switch (plan.kind) {
    case 'list': {
      const first = findFirst(plan.codes, cursor)
      const page = plan.codes.slice(first, first + limit + 1).map((code) => [code])
      return {
        codes: `select e.value ->> 0 as code from ${dialect.elements('$1', 'e')}`,
        parameters: [JSON.stringify(page), limit],
      }
    }
    case 'dates': {
      const walks = plan.dates.map(
        (_, index) =>
          `select code from (
            select code from occupation_posting
            where filter = $3 and updated = $${index + 4} and code >= $1 order by code limit $2 + 1
          ) walk${index}`,
      )
      return {
        codes: `select code from (${walks.join(' union all ')}) walks order by code`,
        parameters: [cursor, limit, filter, ...plan.dates],
      }
    }
    case 'walk':
      // The expression around the date stops the planner from using the index by date.
      return {
        codes: `select code from occupation_posting
          where filter = $3 and code >= $1 and updated + 0 between $4 and $5 order by code`,
        parameters: [cursor, limit, filter, window.from, window.to],
      }
  }
}

/** The index of the first code at or after the cursor; codes are sorted by code point. */
function findFirst(codes: readonly string[], cursor: string): number {
  let [low, high] = [0, codes.length]
  while (low < high) {
    const middle = (low + high) >>> 1
    if (compareCodePoints(codes[middle] ?? '', cursor) < 0) low = middle + 1
    else high = middle
  }
  return low
}
