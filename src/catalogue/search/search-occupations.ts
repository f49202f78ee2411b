import { type Operation, operation } from '../../api/contract/contract.ts'
import { describePage, NEXT_LINK, NOT_MODIFIED } from '../../api/contract/describe.ts'
import type { Language } from '../../engines/finding/index.ts'
import type { Static } from '../../foundation/schema/type.ts'
import { ofCatalogue } from '../contract.ts'
import { answer, name, SEARCH_PROBLEMS, write } from './contract.ts'
import { SEARCH_EXAMPLE } from './example.ts'
import type { SearchOptions } from './operations.ts'
import {
  MAX_PAGES,
  OccupationMatch,
  OccupationSearchPage,
  SearchGroup,
  SearchGroupCount,
  searchQuery,
} from './schema.ts'

type SearchParameters = Static<typeof searchQuery> & { Limit: number; Page: number }

export function searchOccupations({ index, pages, anonymous, path }: SearchOptions): Operation {
  return operation({
    ...ofCatalogue(anonymous),
    name: 'occupation-search',
    id: 'searchOccupations',
    summary: 'Search occupations',
    description:
      'The occupations that a query may mean, best first. The search covers titles, alternative titles, search-only names, descriptions and tasks, and tolerates spelling mistakes and incomplete words.',
    method: 'GET',
    path: '/occupations/search',
    request: { query: searchQuery, derive: nameQuery },
    schemas: { SearchGroup, SearchGroupCount, OccupationMatch, OccupationSearchPage },
    responses: {
      200: describePage(OccupationSearchPage, 'A page of results.', SEARCH_EXAMPLE, NEXT_LINK),
      304: NOT_MODIFIED,
    },
    problems: SEARCH_PROBLEMS,
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
  )
}

const nameQuery = (values: SearchParameters) => name('search', values)
