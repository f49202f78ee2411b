import type { Static } from 'typebox'
import { describeDocument, describePage, NEXT_LINK, NOT_MODIFIED } from '../http/describe.ts'
import { Problem } from '../http/problems.ts'
import { declare, document, notModified, type Operation, page } from '../operation.ts'
import { whenKnown } from '../pages/maybe-promise.ts'
import { digestQuery, makeEtag, Page } from '../pages/page.ts'
import type { PageCache } from '../pages/page-cache.ts'
import type { CodingThread } from './coding-thread.ts'
import type { Language } from './document.ts'
import { CODINGS_EXAMPLE, SEARCH_EXAMPLE, SUGGESTIONS_EXAMPLE } from './example.ts'
import type { LiveIndex } from './live-index.ts'
import {
  Coding,
  CodingCandidate,
  CodingGroup,
  Codings,
  codingsBody,
  MAX_PAGES,
  OccupationMatch,
  OccupationSearchPage,
  OccupationSuggestion,
  OccupationSuggestions,
  SearchGroup,
  SearchGroupCount,
  searchQuery,
  suggestionsQuery,
} from './schema.ts'
import type { OccupationSearch } from './search.ts'

export interface SearchOptions {
  readonly index: LiveIndex
  readonly coding: CodingThread
  readonly pages: PageCache<Page>
  /** Whether callers without a credential can read the catalogue. */
  readonly anonymous: boolean
  /** The path of the search, for links. */
  readonly path: string
}

/** How long a request waits for the first index after a start, in milliseconds. */
const PATIENCE = 10_000

export function searchOperations(options: SearchOptions): readonly Operation[] {
  options.index.onChange(() => options.pages.clear())
  return [searchOccupations(options), suggestOccupations(options), codeTitles(options)]
}

const PROBLEMS = {
  'invalid-parameters': 'A parameter is wrong, or the version is not supported.',
  unauthorized: 'There is no valid credential.',
  'too-many-requests': 'The limit of requests is used up for now.',
  unavailable: 'The search index is being built, or the service is overloaded.',
} as const

const cachingOf = (anonymous: boolean) =>
  anonymous ? 'public, max-age=60, stale-while-revalidate=600' : 'private, no-cache'

type SearchParameters = Static<typeof searchQuery> & { Limit: number; Page: number }

function searchOccupations({ index, pages, anonymous, path }: SearchOptions): Operation {
  return declare<unknown, Named<SearchParameters>>({
    name: 'occupation-search',
    id: 'searchOccupations',
    summary: 'Search occupations',
    description:
      'The occupations that a query may mean, best first. The search covers titles, alternative titles, search-only names, descriptions and tasks, and tolerates spelling mistakes and incomplete words.',
    tag: 'Occupations',
    method: 'GET',
    path: '/occupations/search',
    scope: 'occupations:read',
    limit: 'occupations',
    anonymous,
    caching: cachingOf(anonymous),
    parameters: { query: { schema: searchQuery, derive: nameQuery } },
    schemas: { SearchGroup, SearchGroupCount, OccupationMatch, OccupationSearchPage },
    responses: {
      200: describePage('OccupationSearchPage', 'A page of results.', SEARCH_EXAMPLE, NEXT_LINK),
      304: NOT_MODIFIED,
    },
    problems: PROBLEMS,
    handle: ({ query, isFresh }) =>
      answer(index, pages, query, isFresh, (search) => {
        const { Limit, Page: number, q = '', Lang } = query.values
        const found = search.search({
          query: q,
          language: Lang as Language | undefined,
          majorGroup: query.values['Filter.MajorGroupCode'],
          minorGroup: query.values['Filter.MinorGroupCode'],
          primaryOnly: query.values['Filter.GroupRelation'] === 'Primary',
          offset: (number - 1) * Limit,
          limit: Limit,
        })
        const more = number < MAX_PAGES && found.totalCount > number * Limit
        const next = more ? `${path}?${write({ ...query.values, Page: number + 1 })}` : undefined
        return { body: found, ...(next !== undefined && { link: `<${next}>; rel="next"` }) }
      }),
  })
}

type SuggestionParameters = Static<typeof suggestionsQuery> & { Limit: number }

function suggestOccupations({ index, pages, anonymous }: SearchOptions): Operation {
  return declare<unknown, Named<SuggestionParameters>>({
    name: 'occupation-suggestions',
    id: 'suggestOccupations',
    summary: 'Suggest occupation names',
    description: 'Titles and alternative titles that complete what a user has typed so far.',
    tag: 'Occupations',
    method: 'GET',
    path: '/occupations/suggestions',
    scope: 'occupations:read',
    limit: 'occupations',
    anonymous,
    caching: cachingOf(anonymous),
    parameters: { query: { schema: suggestionsQuery, derive: nameSuggestions } },
    schemas: { OccupationSuggestion, OccupationSuggestions },
    responses: {
      200: describePage('OccupationSuggestions', 'The suggestions.', SUGGESTIONS_EXAMPLE),
      304: NOT_MODIFIED,
    },
    problems: PROBLEMS,
    handle: ({ query, isFresh }) =>
      answer(index, pages, query, isFresh, (search) => {
        const { Limit: limit, q = '', Lang } = query.values
        return {
          body: { suggestions: search.suggest({ query: q, language: Lang as Language | undefined, limit }) },
        }
      }),
  })
}

function codeTitles({ index, coding, anonymous }: SearchOptions): Operation {
  return declare<unknown, unknown, unknown, Static<typeof codingsBody>>({
    name: 'codings',
    id: 'codeTitles',
    summary: 'Code job titles',
    description:
      'The occupation of each job title, with the probability that it is right. Where no code is more likely right than wrong, the response has the likeliest group instead.',
    tag: 'Occupations',
    method: 'POST',
    path: '/codings',
    scope: 'occupations:read',
    limit: 'codings',
    anonymous,
    parameters: { body: { json: codingsBody, maxBytes: 2 ** 21 } },
    schemas: { CodingCandidate, CodingGroup, Coding, Codings },
    responses: { 200: describeDocument('Codings', 'A coding for each item.', CODINGS_EXAMPLE) },
    problems: {
      ...PROBLEMS,
      'invalid-body': 'The body has a field that is wrong, or too many items.',
      'malformed-body': 'The body is not one JSON object.',
      'content-too-large': 'The body is too large.',
      'unsupported-media-type': 'The body is not JSON.',
    },
    async handle({ request, body }) {
      const { revision } = (await whenReady(index)).index.header
      const titles = body.items.map(({ id, title, tasks = [] }) => ({ id, title, tasks: tasks.join('\n') }))
      const hasLeft = () => request.raw.socket.destroyed
      const items = await coding.code({ memory: index.memory, revision }, titles, hasLeft)
      return document({ items })
    },
  })
}

interface Named<Values> {
  readonly values: Values
  readonly key: string
  readonly digest: string
}

function write(values: object): string {
  return Object.entries(values)
    .map(([name, value]) => `${name}=${encodeURIComponent(value)}`)
    .join('&')
}

function name<Values extends object>(operation: string, values: Values): Named<Values> {
  const sorted = Object.fromEntries(Object.entries(values).sort(([a], [b]) => (a < b ? -1 : 1)))
  const key = `${operation}?${write(sorted)}`
  return { values, key, digest: digestQuery(key) }
}

const nameQuery = (values: SearchParameters) => name('search', values)
const nameSuggestions = (values: SuggestionParameters) => name('suggestions', values)

/** A page from the index in use, cached or rendered now. */
function answer(
  index: LiveIndex,
  pages: PageCache<Page>,
  { key, digest }: Named<object>,
  isFresh: (etag: string) => boolean,
  make: (search: OccupationSearch) => { body: object; link?: string },
) {
  return whenKnown(index.current ?? whenReady(index), (search) => {
    const { format, revision } = search.index.header
    const etag = makeEtag(`s${format}-${revision}`, digest)
    if (isFresh(etag)) return notModified(etag)
    const kept = pages.get(key)
    if (kept !== undefined && kept.etag === etag) return page(kept, () => pages.set(key, kept))
    const { body, link } = make(search)
    const made = new Page([Buffer.from(JSON.stringify(body))], etag, link)
    pages.set(key, made)
    return page(made, () => pages.set(key, made))
  })
}

/** @throws {Problem} `unavailable` if there is no index yet */
async function whenReady(index: LiveIndex): Promise<OccupationSearch> {
  const search = await index.ready(PATIENCE)
  if (search !== undefined) return search
  throw new Problem('unavailable', 'The search index is being built. Try again in a few seconds.', {
    headers: { 'retry-after': '5' },
  })
}
