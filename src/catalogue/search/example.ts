import type { Static } from '../../foundation/schema/type.ts'
import type { Codings, OccupationSearchPage, OccupationSuggestions } from './schema.ts'

/** Example responses in the OpenAPI document. */
export const SEARCH_EXAMPLE: Static<typeof OccupationSearchPage> = {
  query: 'kaiako kohungahunga',
  totalCount: 7,
  results: [
    {
      occupationCode: 'A0101',
      titleEnglish: 'Early Childhood Teacher',
      titleMaori: 'Kaiako kōhungahunga',
      matchedName: 'Kaiako kōhungahunga',
      matchedLanguage: 'mi',
      matchedField: 'title',
      highlights: [
        [0, 6],
        [7, 19],
      ],
      score: 0.9731,
      group: { code: '1', nameEnglish: 'Education' },
    },
  ],
  groups: [{ code: '1', nameEnglish: 'Education', count: 7 }],
}

export const SUGGESTIONS_EXAMPLE: Static<typeof OccupationSuggestions> = {
  suggestions: [
    {
      text: 'Kaiako kōhungahunga',
      occupationCode: 'A0101',
      titleEnglish: 'Early Childhood Teacher',
      language: 'mi',
      highlights: [[0, 6]],
    },
  ],
}

export const CODINGS_EXAMPLE: Static<typeof Codings> = {
  items: [
    {
      id: '1',
      code: 'A0101',
      certainty: 0.91,
      candidates: [
        { occupationCode: 'A0101', titleEnglish: 'Early Childhood Teacher', certainty: 0.91 },
        { occupationCode: 'A0102', titleEnglish: 'Primary School Teacher', certainty: 0.04 },
      ],
    },
    {
      id: '2',
      certainty: 0.31,
      candidates: [{ occupationCode: 'A0102', titleEnglish: 'Primary School Teacher', certainty: 0.31 }],
      group: { code: '11', nameEnglish: 'Teaching', certainty: 0.84 },
    },
  ],
}
