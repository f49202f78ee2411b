import { withScope } from '../../api/contract/access-rules.ts'
import { type Operation, operation } from '../../api/contract/contract.ts'
import { describeDocument, JSON_BODY_PROBLEMS } from '../../api/contract/describe.ts'
import { document } from '../../api/contract/results.ts'
import { callerOf } from '../../api/request/caller.ts'
import { hasLeft } from '../../api/request/while-connected.ts'
import { formatNumber } from '../../foundation/text/format-number.ts'
import { SEARCH_PROBLEMS, whenReady } from './contract.ts'
import { CODINGS_EXAMPLE } from './example.ts'
import type { SearchOptions } from './operations.ts'
import { Coding, CodingCandidate, CodingGroup, Codings, codingsBody, MAX_TITLE_LENGTH } from './schema.ts'

export function codeTitles({ index, coding, anonymous }: SearchOptions): Operation {
  return operation({
    name: 'codings',
    id: 'codeTitles',
    summary: 'Code job titles',
    description:
      'The occupation of each job title, with the probability that it is right. Where no code is more likely right than wrong, the response has the likeliest group instead.',
    tag: 'Occupations',
    method: 'POST',
    path: '/codings',
    access: withScope('occupations:read', { anonymous }),
    limit: 'codings',
    request: { body: { json: codingsBody, maxBytes: 2 ** 21 } },
    schemas: { CodingCandidate, CodingGroup, Coding, Codings },
    responses: { 200: describeDocument(Codings, 'A coding for each item.', CODINGS_EXAMPLE) },
    problems: {
      ...SEARCH_PROBLEMS,
      'invalid-body': 'The body has a field that is wrong, or too many items.',
      ...JSON_BODY_PROBLEMS,
    },
  }).handle(async ({ request, body }) => {
    const { revision } = (await whenReady(index)).index.header
    const errors = body.items.map(({ title = '' }) => findTitleError(title))
    const titles = body.items.map(({ id, title = '', tasks = [] }, at) => ({
      id,
      title: errors[at] === undefined ? title : '',
      tasks: tasks.join('\n'),
    }))
    const items = await coding.code({ memory: index.memory, revision }, titles, callerOf(request), () =>
      hasLeft(request),
    )
    return document({
      items: items.map((item, at) => (errors[at] === undefined ? item : { ...item, error: errors[at] })),
    })
  })
}

/** Why a title is not coded. The rest of the list is: exports of forms have titles that are blank or a whole story. */
function findTitleError(title: string): string | undefined {
  if (title === '') return 'The title is blank.'
  const { length } = [...title]
  if (length <= MAX_TITLE_LENGTH) return undefined
  return `The title has ${formatNumber(length)} characters; at most ${MAX_TITLE_LENGTH} are allowed.`
}
