import { COMMON_PROBLEMS } from '../../api/contract/describe.ts'
import { unavailable } from '../../api/contract/problems.ts'
import { notModified, page } from '../../api/contract/results.ts'
import { digestQuery, makeEtag, Page } from '../../api/serving/page.ts'
import type { PageCache } from '../../api/serving/page-cache.ts'
import type { OccupationSearch } from '../../engines/finding/index.ts'
import type { LiveIndex } from './live-index.ts'

export const SEARCH_PROBLEMS = {
  ...COMMON_PROBLEMS,
  unavailable: 'There is no search index, or the service is overloaded.',
} as const

export interface Named<Values> {
  readonly values: Values
  readonly key: string
  readonly digest: string
}

export function write(values: object): string {
  return Object.entries(values)
    .map(([name, value]) => `${name}=${encodeURIComponent(value)}`)
    .join('&')
}

export function name<Values extends object>(operation: string, values: Values): Named<Values> {
  const sorted = Object.fromEntries(Object.entries(values).sort(([a], [b]) => (a < b ? -1 : 1)))
  const key = `${operation}?${write(sorted)}`
  return { values, key, digest: digestQuery(key) }
}

/** A page from the index in use, cached or rendered now. */
export async function answer(
  index: LiveIndex,
  pages: PageCache,
  { key, digest }: Named<object>,
  { isFresh }: { isFresh(etag: string): boolean },
  make: (search: OccupationSearch) => { body: object; link?: string },
) {
  const search = index.current ?? (await whenReady(index))
  const { format, revision } = search.index.header
  const etag = makeEtag(`s${format}-${revision}`, digest)
  if (isFresh(etag)) return notModified(etag)
  const kept = pages.get(key)
  if (kept !== undefined && kept.etag === etag) return page(kept)
  const { body, link } = make(search)
  const made = new Page(Buffer.from(JSON.stringify(body)), etag, { link })
  pages.set(key, made)
  return page(made)
}

/** Seconds until another request may succeed: while the index is built, and after that has failed. */
const RETRY_WHILE_BUILDING = 5

const RETRY_AFTER_FAILURE = 300

/** @throws {Problem} `unavailable` if there is no index */
export async function whenReady(index: LiveIndex): Promise<OccupationSearch> {
  const search = await index.whenLoaded()
  if (search !== undefined) return search
  const [detail, seconds] = index.failed
    ? [
        'The search index of this catalogue could not be built. Search works again when an operator has built it or the catalogue has changed.',
        RETRY_AFTER_FAILURE,
      ]
    : ['There is no search index yet: a worker builds it. Try again in a few seconds.', RETRY_WHILE_BUILDING]
  throw unavailable(detail, seconds)
}
