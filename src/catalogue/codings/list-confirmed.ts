import { withScope } from '../../api/contract/access-rules.ts'
import { type Operation, operation } from '../../api/contract/contract.ts'
import { COMMON_PROBLEMS, describeDocument, NEXT_LINK } from '../../api/contract/describe.ts'
import { document } from '../../api/contract/results.ts'
import { VERSIONS } from '../../api/request/versions.ts'
import { listTitles } from './decisions.ts'
import type { ReviewOptions } from './operations.ts'
import { renderTitles } from './render-titles.ts'
import { EXAMPLE_REVIEWED, listQuery, REVIEW_SCHEMAS, ReviewedCodingPage } from './schema.ts'

const PATH = '/confirmed-codings'

export function listConfirmedCodings({ database }: ReviewOptions): Operation {
  return operation({
    name: 'confirmed-codings',
    id: 'listConfirmedCodings',
    summary: 'List confirmed codings',
    description: 'The job titles that reviewers have decided about, in alphabetical order.',
    tag: 'Occupations',
    method: 'GET',
    path: PATH,
    access: withScope('codings:confirm'),
    limit: 'codings',
    request: { query: listQuery },
    schemas: { ...REVIEW_SCHEMAS, ReviewedCodingPage },
    responses: {
      200: describeDocument(
        ReviewedCodingPage,
        'A page of titles.',
        { items: [EXAMPLE_REVIEWED], resultsCount: 1 },
        NEXT_LINK,
      ),
    },
    problems: COMMON_PROBLEMS,
  }).handle(async ({ query: { Limit: limit, Cursor: from, 'Filter.State': state } }) => {
    const found = await listTitles(database, { limit: limit + 1, from, state })
    const items = await renderTitles(database, found.slice(0, limit))
    const next = found[limit]
    const page = { items, resultsCount: items.length }
    if (next === undefined) return document(page)
    const query = new URLSearchParams({
      Limit: String(limit),
      ...(state !== undefined && { 'Filter.State': state }),
      Cursor: next.key,
    })
    const link = `<${VERSIONS[0].prefix}${PATH}?${query}>; rel="next"`
    return document({ nextCursor: next.key, ...page }, { link })
  })
}
