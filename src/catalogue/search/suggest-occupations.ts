import { type Operation, operation } from '../../api/contract/contract.ts'
import { describePage, NOT_MODIFIED } from '../../api/contract/describe.ts'
import type { Language } from '../../engines/finding/index.ts'
import type { Static } from '../../foundation/schema/type.ts'
import { ofCatalogue } from '../contract.ts'
import { answer, name, SEARCH_PROBLEMS } from './contract.ts'
import { SUGGESTIONS_EXAMPLE } from './example.ts'
import type { SearchOptions } from './operations.ts'
import { OccupationSuggestion, OccupationSuggestions, suggestionsQuery } from './schema.ts'

type SuggestionParameters = Static<typeof suggestionsQuery> & { Limit: number }

export function suggestOccupations({ index, pages, anonymous }: SearchOptions): Operation {
  return operation({
    ...ofCatalogue(anonymous),
    name: 'occupation-suggestions',
    id: 'suggestOccupations',
    summary: 'Suggest occupation names',
    description: 'Titles and alternative titles that complete what a user has typed so far.',
    method: 'GET',
    path: '/occupations/suggestions',
    request: { query: suggestionsQuery, derive: nameSuggestions },
    schemas: { OccupationSuggestion, OccupationSuggestions },
    responses: {
      200: describePage(OccupationSuggestions, 'The suggestions.', SUGGESTIONS_EXAMPLE),
      304: NOT_MODIFIED,
    },
    problems: SEARCH_PROBLEMS,
  }).handle(({ query, isFresh }) =>
    answer(index, pages, query, { isFresh }, (search) => {
      const { Limit: limit, q = '', Lang } = query.values
      return {
        body: { suggestions: search.suggest({ query: q, language: Lang as Language | undefined, limit }) },
      }
    }),
  )
}

const nameSuggestions = (values: SuggestionParameters) => name('suggestions', values)
