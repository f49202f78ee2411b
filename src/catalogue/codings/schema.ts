import { int32Count, listOf, oneOf, text, time, upTo } from '../../api/contract/fields.ts'
import { NOT_BLANK } from '../../foundation/schema/compile.ts'
import { Type } from '../../foundation/schema/type.ts'
import { MAX_CODE_LENGTH, MissingOccupation } from '../records/schema.ts'
import { STATES } from './decisions.ts'
import { MAX_TITLE_LENGTH, TITLE_RULE } from './titles.ts'

/** The most decisions of one request. */
const MAX_DECISIONS = 300

const language = (description: string) => oneOf(['en', 'mi'], description)

const CodingDecision = Type.Object(
  {
    reviewer: text('Who decided: the client of the key.'),
    occupationCode: text('The code; absent if the reviewer knows none.'),
    decidedDate: time('When the reviewer decided.'),
  },
  { title: 'CodingDecision', description: "A reviewer's decision about a job title." },
)

const ReviewedCoding = Type.Object(
  {
    id: text('The ID of the title.'),
    title: text('The job title.'),
    language: language('The language of the title.'),
    state: oneOf(
      STATES,
      '`confirmed`: all reviewers who know a code name the same one. `disputed`: they name several. `unknown`: nobody knows one.',
    ),
    occupationCode: text('The confirmed code.'),
    decisions: listOf(CodingDecision, 'The decisions, by reviewer.'),
    missingCodes: listOf(
      MissingOccupation,
      'The codes of the decisions that are no longer in the catalogue; absent if it has all of them. A title whose confirmed code is one of them is no name of the search: decide about it again.',
    ),
  },
  { title: 'ReviewedCoding', description: 'A job title, and what its reviewers have decided about it.' },
)

const items = listOf(ReviewedCoding, 'The titles with all decisions about them.')

export const ReviewedCodings = Type.Object(
  { items },
  { title: 'ReviewedCodings', description: 'Job titles, and what their reviewers have decided about them.' },
)

export const ReviewedCodingPage = Type.Object(
  {
    nextCursor: text('Where the next page starts; absent on the last page.'),
    items,
    resultsCount: int32Count('Number of titles on this page.'),
  },
  { title: 'ReviewedCodingPage', description: 'A page of reviewed job titles.' },
)

export const decisionsBody = Type.Object({
  items: Type.Array(
    Type.Object({
      title: Type.String({ description: 'The job title, in one line.', ...TITLE_RULE }),
      occupationCode: text('The code of the occupation that it means; absent if the reviewer knows none.', {
        minLength: 1,
        maxLength: MAX_CODE_LENGTH,
        pattern: NOT_BLANK,
      }),
      language: language('The language of the title: `en`, if absent, or `mi`.'),
    }),
    { description: 'The decisions.', minItems: 1, maxItems: MAX_DECISIONS },
  ),
})

export const listQuery = Type.Object({
  Limit: upTo(300, 100, 'Number of titles per page, from 1 to 300.'),
  Cursor: text('The `nextCursor` of the page before.', { maxLength: 3 * MAX_TITLE_LENGTH }),
  'Filter.State': oneOf(STATES, 'Only titles in this state.'),
})

export const EXAMPLE_REVIEWED = {
  id: 'mYcYXEp0hSbfZ0tT',
  title: 'Kindy teacher',
  language: 'en' as const,
  state: 'disputed' as const,
  decisions: [
    { reviewer: 'registry', occupationCode: 'A0101', decidedDate: '2026-01-31T09:30:00.000Z' },
    { reviewer: 'schools', occupationCode: 'A0102', decidedDate: '2026-02-01T10:00:00.000Z' },
  ],
}
