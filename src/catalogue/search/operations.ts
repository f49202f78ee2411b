import { withScope } from '../../api/contract/access-rules.ts'
import { type Operation, operationsOf } from '../../api/contract/contract.ts'
import { describeDocument, describePage, NEXT_LINK, NOT_MODIFIED } from '../../api/contract/describe.ts'
import { document, notModified, page } from '../../api/contract/results.ts'
import { callerOf } from '../../api/request/caller.ts'
import { hasLeft } from '../../api/request/has-left.ts'
import { unavailable } from '../../api/request/problems.ts'
import { makeEtag, Page } from '../../api/serving/page.ts'
import type { PageCache } from '../../api/serving/page-cache.ts'
import type { Language, OccupationSearch } from '../../engines/finding/index.ts'
import type { Static } from '../../foundation/schema/type.ts'
import { formatNumber } from '../../foundation/text/format-number.ts'
import { readingOperations } from '../records/contract.ts'
import type { CodingThreads } from './coding-threads.ts'
import { CODINGS_EXAMPLE, SEARCH_EXAMPLE, SUGGESTIONS_EXAMPLE } from './example.ts'
import type { LiveIndex } from './live-index.ts'
import {
  Codings,
  codingsBody,
  MAX_PAGES,
  MAX_TASK_LENGTH,
  MAX_TITLE_LENGTH,
  OccupationSearchPage,
  OccupationSuggestions,
  searchQuery,
  suggestionsQuery,
} from './schema.ts'

interface SearchOptions {
  readonly index: LiveIndex
  readonly coding: CodingThreads
  readonly pages: PageCache
  /** Whether callers without a credential can read the catalogue. */
  readonly anonymous: boolean
  /** The path of the search, for links. */
  readonly path: string
}

const PROBLEMS = { unavailable: 'There is no search index, or the service is overloaded.' } as const

export function searchOperations(options: SearchOptions): readonly Operation[] {
  const { index, coding, pages, anonymous, path } = options
  index.onChange(() => pages.clear())
  const reading = readingOperations(anonymous)
  const coded = operationsOf({
    tag: 'Occupations',
    access: withScope('occupations:read', { anonymous }),
    limit: 'codings',
  })
  return [
    reading({
      name: 'occupation-search',
      id: 'searchOccupations',
      summary: 'Search occupations',
      description:
        'The occupations that a query may mean, best first. The search covers titles, alternative titles, search-only names, descriptions and tasks, and tolerates spelling mistakes and incomplete words.',
      method: 'GET',
      path: '/occupations/search',
      request: { query: searchQuery, derive: nameSearch },
      responses: {
        200: describePage(OccupationSearchPage, 'A page of results.', SEARCH_EXAMPLE, NEXT_LINK),
        304: NOT_MODIFIED,
      },
      problems: PROBLEMS,
    }).handle(({ query, isFresh }) =>
      answer(index, pages, query, { isFresh }, (search) => {
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
    ),
    reading({
      name: 'occupation-suggestions',
      id: 'suggestOccupations',
      summary: 'Suggest occupation names',
      description: 'Titles and alternative titles that complete what a user has typed so far.',
      method: 'GET',
      path: '/occupations/suggestions',
      request: { query: suggestionsQuery, derive: nameSuggestions },
      responses: {
        200: describePage(OccupationSuggestions, 'The suggestions.', SUGGESTIONS_EXAMPLE),
        304: NOT_MODIFIED,
      },
      problems: PROBLEMS,
    }).handle(({ query, isFresh }) =>
      answer(index, pages, query, { isFresh }, (search) => {
        const { Limit: limit, q = '', Lang } = query.values
        return {
          body: { suggestions: search.suggest({ query: q, language: Lang as Language | undefined, limit }) },
        }
      }),
    ),
    coded({
      name: 'codings',
      id: 'codeTitles',
      summary: 'Code job titles',
      description:
        'The occupation of each job title, with the probability that it is right. Where no code is more likely right than wrong, the response has the likeliest group instead.',
      method: 'POST',
      path: '/codings',
      request: { body: { json: codingsBody, maxBytes: 2 ** 21 } },
      responses: { 200: describeDocument(Codings, 'A coding for each item.', CODINGS_EXAMPLE) },
      problems: { ...PROBLEMS, 'invalid-body': 'The body has a field that is wrong, or too many items.' },
    }).handle(async ({ request, body }) => {
      const { revision } = (await whenReady(index)).index.header
      const errors = body.items.map(findError)
      const titles = body.items.map(({ id, title = '', tasks = [] }, at) => ({
        id,
        title: errors[at] === undefined ? title : '',
        tasks: errors[at] === undefined ? tasks.join('\n') : '',
      }))
      const items = await coding.code({ memory: index.memory, revision }, titles, callerOf(request), () =>
        hasLeft(request),
      )
      return document({
        items: items.map(({ candidates, ...item }, at) => ({
          ...item,
          candidates: [...candidates],
          ...(errors[at] !== undefined && { error: errors[at] }),
        })),
      })
    }),
  ]
}

/** Why an item is not coded. The rest of the list is: exports of forms have texts that are blank or a whole story. */
function findError({ title = '', tasks = [] }: Static<typeof codingsBody>['items'][number]) {
  if (title === '') return 'The title is blank.'
  const longest = tasks.reduce((most, task) => Math.max(most, [...task].length), 0)
  return (
    describeLength('The title', [...title].length, MAX_TITLE_LENGTH) ??
    describeLength('A task', longest, MAX_TASK_LENGTH)
  )
}

function describeLength(what: string, length: number, most: number): string | undefined {
  if (length <= most) return undefined
  return `${what} has ${formatNumber(length)} characters; at most ${formatNumber(most)} are allowed.`
}

type SearchParameters = Static<typeof searchQuery> & { Limit: number; Page: number }
type SuggestionParameters = Static<typeof suggestionsQuery> & { Limit: number }

const nameSearch = (values: SearchParameters) => name('search', values)
const nameSuggestions = (values: SuggestionParameters) => name('suggestions', values)

interface Named<Values> {
  readonly values: Values
  readonly key: string
}

function write(values: object): string {
  return Object.entries(values)
    .map(([name, value]) => `${name}=${encodeURIComponent(value)}`)
    .join('&')
}

function name<Values extends object>(operation: string, values: Values): Named<Values> {
  const sorted = Object.fromEntries(Object.entries(values).sort(([a], [b]) => (a < b ? -1 : 1)))
  return { values, key: `${operation}?${write(sorted)}` }
}

/** A page from the index in use, cached or rendered now. */
async function answer(
  index: LiveIndex,
  pages: PageCache,
  { key }: Named<object>,
  { isFresh }: { isFresh(etag: string): boolean },
  make: (search: OccupationSearch) => { body: object; link?: string },
) {
  const search = index.current ?? (await whenReady(index))
  const { format, revision } = search.index.header
  const etag = makeEtag(`s${format}-${revision}`, key)
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
async function whenReady(index: LiveIndex): Promise<OccupationSearch> {
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
