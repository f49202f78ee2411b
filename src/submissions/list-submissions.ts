import { forOrganisation } from '../api/contract/access-rules.ts'
import { type Operation, operation } from '../api/contract/contract.ts'
import { describeDocument, NEXT_LINK } from '../api/contract/describe.ts'
import { document } from '../api/contract/results.ts'
import { SCHEMAS, SUBMISSION_PROBLEMS, TAG } from './contract.ts'
import { EXAMPLE_SUBMISSION } from './example.ts'
import type { SubmissionOptions } from './options.ts'
import { assertPage, linkNextPage, PAGE_PAST_END, PAGE_QUERY } from './paging.ts'
import { renderState } from './render.ts'
import { SubmissionPage } from './schema.ts'
import { listSubmissions } from './submission.ts'

export function listOwnSubmissions({ database, definitions, sealer }: SubmissionOptions): Operation {
  return operation({
    name: 'list-submissions',
    id: 'listSubmissions',
    summary: 'List submissions',
    description: 'The submissions of the organisation, newest first.',
    tag: TAG,
    method: 'GET',
    path: '/submissions',
    access: forOrganisation('validation-results:read'),
    limit: 'submissions',
    request: { query: PAGE_QUERY },
    schemas: { ...SCHEMAS, SubmissionPage },
    responses: {
      200: describeDocument(
        SubmissionPage,
        'A page of submissions.',
        { page: 1, pageSize: 20, results: [EXAMPLE_SUBMISSION], totalCount: 1 },
        NEXT_LINK,
      ),
    },
    problems: SUBMISSION_PROBLEMS,
    badRequest: PAGE_PAST_END,
  }).handle(async ({ authorized: eid, query }) => {
    const { submissions, totalCount } = await listSubmissions(database, eid, query)
    assertPage(query, totalCount)
    const results = submissions.map((state) => renderState({ definitions, sealer }, state))
    return document({ ...query, results, totalCount }, linkNextPage('/submissions', query, totalCount))
  })
}
