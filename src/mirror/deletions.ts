import { type FetchPage, type SourceQuery, walk } from './source.ts'

/** What is known of a record of the copy. */
export interface Known {
  readonly code: string
  /** Milliseconds since 1970. */
  readonly date: number
  readonly minorGroups: readonly string[]
}

/** The catalogue changed while it was being compared: begin again with what it is now. */
export class CatalogueChanged extends Error {}

/** So many records are listed rather than counted in smaller parts: they take a few pages. */
const LISTED = 300

/**
 * The codes of the copy that the service does not have any more. A date filter can't show them, but the total tells
 * how many they are, and the totals of windows where: a window whose total agrees with the copy's holds none, the
 * others are halved until they are small enough to be listed. One deletion costs about twice the binary logarithm
 * of the number of dates in small requests, and a few pages.
 *
 * @param known the copy, which holds every record of the service and as many more as were deleted
 * @param total records that the service has
 * @throws {CatalogueChanged} if an answer is not of the revision
 */
export async function findDeleted(
  fetchPage: FetchPage,
  known: Iterable<Known>,
  total: number,
  revision: string,
): Promise<Set<string>> {
  const byDate = [...known].sort((a, b) => a.date - b.date)
  const deleted = new Set<string>()

  async function search(low: number, high: number, remaining: number): Promise<void> {
    const records = byDate.slice(low, high)
    const first = records[0]
    const last = records.at(-1)
    if (first === undefined || last === undefined || records.length === remaining) return
    if (remaining === 0) {
      for (const { code } of records) deleted.add(code)
      return
    }
    if (records.length <= LISTED) return await list(records, windowOf(first.date, last.date))
    if (first.date === last.date)
      return await searchGroups(records, windowOf(first.date, last.date), remaining)

    const middle = splitByDate(low, high)
    const before = byDate[middle - 1]?.date ?? first.date
    const counted = await count(windowOf(first.date, before))
    await search(low, middle, counted)
    await search(middle, high, remaining - counted)
  }

  /** One import gives many records one date: they are told apart by their groups. */
  async function searchGroups(
    records: readonly Known[],
    window: SourceQuery,
    remaining: number,
  ): Promise<void> {
    const groups = new Set(records.flatMap(({ minorGroups }) => minorGroups))
    for (const minorGroupCode of groups) {
      const members = records.filter(
        (record) => record.minorGroups.includes(minorGroupCode) && !deleted.has(record.code),
      )
      const counted = await count({ ...window, minorGroupCode })
      if (counted !== members.length) await list(members, { ...window, minorGroupCode })
    }
    const left = records.filter(({ code }) => !deleted.has(code))
    if (left.length !== remaining) await list(left, window)
  }

  async function list(records: readonly Known[], query: SourceQuery): Promise<void> {
    const present = new Set<string>()
    for await (const page of walk(fetchPage, query)) {
      assertRevision(page.revision)
      for (const { occupationCode } of page.records) present.add(occupationCode)
    }
    for (const { code } of records) if (!present.has(code)) deleted.add(code)
  }

  async function count(query: SourceQuery): Promise<number> {
    const page = await fetchPage({ ...query, limit: 1 })
    assertRevision(page.revision)
    return page.totalCount
  }

  function assertRevision(answered: string): void {
    if (answered !== revision) throw new CatalogueChanged()
  }

  /** An index between the two at which a new date begins, as near to the middle as there is one. */
  function splitByDate(low: number, high: number): number {
    const middle = (low + high) >>> 1
    const startsDate = (index: number) => byDate[index]?.date !== byDate[index - 1]?.date
    for (let distance = 0; distance < high - low; distance++) {
      if (middle - distance > low && startsDate(middle - distance)) return middle - distance
      if (middle + distance < high && startsDate(middle + distance)) return middle + distance
    }
    throw new Error('there is one date only')
  }

  await search(0, byDate.length, total)
  return deleted
}

/** Both dates within: the bounds of the interface are exclusive, and dates are whole milliseconds. */
function windowOf(first: number, last: number): SourceQuery {
  return {
    lastUpdatedAfter: new Date(first - 1).toISOString(),
    lastUpdatedBefore: new Date(last + 1).toISOString(),
  }
}
