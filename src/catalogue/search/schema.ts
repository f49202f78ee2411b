import { int32Count, listOf, oneOf, refer, text, upTo } from '../../api/contract/fields.ts'
import { NAME_FIELDS } from '../../engines/finding/index.ts'
import { Type } from '../../foundation/schema/type.ts'
import { MAX_CODE_LENGTH } from '../records/schema.ts'

const MAX_QUERY_LENGTH = 200
export const MAX_PAGES = 10
const MAX_CODINGS = 300
export const MAX_TITLE_LENGTH = 300
export const MAX_TASK_LENGTH = 1000
const MAX_TASKS = 50

const code = (description: string) => text(description, { minLength: 1, maxLength: MAX_CODE_LENGTH })
const probability = (description: string) =>
  Type.Optional(Type.Number({ description, minimum: 0, maximum: 1 }))
const highlightsIn = (field: string) =>
  Type.Optional(
    Type.Array(Type.Array(Type.Integer({ minimum: 0 }), { minItems: 2, maxItems: 2 }), {
      description: `Where words of the query are in \`${field}\`: pairs of a start and an exclusive end, in UTF-16 code units.`,
    }),
  )

const groupFields = {
  code: code('Code of the group.'),
  nameEnglish: text('Its name in New Zealand English.'),
}

const SearchGroup = Type.Object(groupFields, {
  title: 'SearchGroup',
  description: 'The Primary major group of a found occupation.',
})

const SearchGroupCount = Type.Object(
  { ...groupFields, count: int32Count('Matching occupations in the group.') },
  { title: 'SearchGroupCount', description: 'A group and the number of its matching occupations.' },
)

const LANGUAGES = ['en', 'mi']
const language = (description: string) => oneOf(LANGUAGES, description)

/** A result of a search. */
const OccupationMatch = Type.Object(
  {
    occupationCode: code('Code of the occupation.'),
    titleEnglish: text('Title in New Zealand English.'),
    titleMaori: text('Title in te reo Māori.'),
    matchedName: text('The name of the occupation that matches the query best.'),
    matchedLanguage: language('The language of that name.'),
    matchedField: oneOf(NAME_FIELDS, 'Where the name comes from. A `searchOnly` name is in no record.'),
    highlights: highlightsIn('matchedName'),
    score: probability('The estimated probability that the query means this occupation.'),
    group: Type.Optional(refer(SearchGroup)),
  },
  { title: 'OccupationMatch', description: 'An occupation that a search found.' },
)

export const OccupationSearchPage = Type.Object(
  {
    query: text('The query.'),
    didYouMean: text('The query with its probable spelling; absent where the query needs none.'),
    totalCount: int32Count('Number of matching occupations.'),
    results: listOf(
      OccupationMatch,
      'The results, best first: occupations with the query as a name, then by score, then by code.',
    ),
    groups: listOf(SearchGroupCount, 'Number of matching occupations by major group, the largest first.'),
  },
  { title: 'OccupationSearchPage', description: 'A page of search results.' },
)

const OccupationSuggestion = Type.Object(
  {
    text: text('A name of an occupation.'),
    occupationCode: code('Code of the occupation.'),
    titleEnglish: text('Title in New Zealand English.'),
    language: language('The language of the name.'),
    highlights: highlightsIn('text'),
  },
  { title: 'OccupationSuggestion', description: 'A name that completes a query.' },
)

export const OccupationSuggestions = Type.Object(
  { suggestions: listOf(OccupationSuggestion, 'The suggestions, best first.') },
  { title: 'OccupationSuggestions', description: 'Names that complete a query.' },
)

const CodingCandidate = Type.Object(
  {
    occupationCode: code('Code of the occupation.'),
    titleEnglish: text('Title in New Zealand English.'),
    certainty: probability('The estimated probability that it is right.'),
  },
  { title: 'CodingCandidate', description: 'An occupation that a job title may mean.' },
)

const CodingGroup = Type.Object(
  { ...groupFields, certainty: probability('The estimated probability that it is right.') },
  { title: 'CodingGroup', description: 'The likeliest minor or major group, where there is no `code`.' },
)

const Coding = Type.Object(
  {
    id: text('The ID of the item in the request.'),
    code: code('The code, where it is more likely right than wrong.'),
    certainty: probability('The estimated probability that the first candidate is right.'),
    candidates: listOf(CodingCandidate, 'The three likeliest occupations, best first.'),
    group: Type.Optional(refer(CodingGroup)),
    error: text('Why the item is not coded: its title is blank, or a text is too long.'),
  },
  { title: 'Coding', description: 'The occupation code of a job title.' },
)

export const Codings = Type.Object(
  { items: listOf(Coding, 'A coding for each item, in the order of the request.') },
  { title: 'Codings', description: 'Occupation codes of job titles.' },
)

const q = text(
  'The words to search for. Macrons, umlauts, upper case and spelling mistakes do not matter. Without words, nothing is found.',
  { maxLength: MAX_QUERY_LENGTH },
)
const Lang = language('Only names in this language: `en` or `mi`. Both where absent.')

export const searchQuery = Type.Object({
  q,
  Lang,
  'Filter.MajorGroupCode': code('Only occupations of this major group.'),
  'Filter.MinorGroupCode': code('Only occupations of this minor group.'),
  'Filter.GroupRelation': oneOf(
    ['Any', 'Primary'],
    'Whether the groups of the filters may be Secondary groups of an occupation.',
  ),
  Limit: upTo(100, 20, 'Number of results per page.'),
  Page: upTo(MAX_PAGES, 1, 'Number of the page.'),
})

export const suggestionsQuery = Type.Object({ q, Lang, Limit: upTo(20, 10, 'Number of suggestions.') })

export const codingsBody = Type.Object({
  items: Type.Array(
    Type.Object({
      id: text('Repeated in the response.', { maxLength: 100 }),
      title: text(
        `The job title. An item whose title is blank or longer than ${MAX_TITLE_LENGTH} characters, or with a task of more than ${MAX_TASK_LENGTH}, gets an \`error\` instead of a code.`,
      ),
      tasks: Type.Optional(
        Type.Array(Type.String(), {
          description: 'Tasks of the job.',
          maxItems: MAX_TASKS,
        }),
      ),
    }),
    { description: 'The job titles to code.', maxItems: MAX_CODINGS },
  ),
})
