import type { Static } from 'typebox'
import { forOrganisation } from '../../api/contract/access-rules.ts'
import { type Operation, operation } from '../../api/contract/contract.ts'
import { COMMON_PROBLEMS, describeDocument, NEXT_LINK, NOT_COVERED } from '../../api/contract/describe.ts'
import { document } from '../../api/contract/results.ts'
import { linkNextPage } from '../findings/next-page.ts'
import type { SubmissionOptions } from '../options.ts'
import { PAGE_QUERY } from '../paging.ts'
import { isExpected, listReturns } from './returns.ts'
import {
  EXAMPLE_RETURN,
  EXAMPLE_STANDING,
  OwnReturn,
  ReturnPage,
  renderReturn,
  renderStanding,
} from './schema.ts'
import { readStandings } from './standing.ts'

export function listOwnReturns({ database }: SubmissionOptions): Operation {
  return operation({
    name: 'list-returns',
    id: 'listReturns',
    summary: 'List returns',
    description:
      'The returns that the service collects from the organisation, with their dates and how far the organisation is with each. Empty if the service collects every return.',
    tag: 'Returns',
    method: 'GET',
    path: '/returns',
    access: forOrganisation('validation-results:read'),
    limit: 'submissions',
    request: { query: PAGE_QUERY },
    schemas: { OwnReturn, ReturnPage },
    responses: {
      200: describeDocument(
        ReturnPage,
        'A page of returns.',
        { page: 1, pageSize: 20, results: [{ ...EXAMPLE_RETURN, ...EXAMPLE_STANDING }], totalCount: 1 },
        NEXT_LINK,
      ),
    },
    problems: { ...COMMON_PROBLEMS, unauthorized: NOT_COVERED },
  }).handle(async ({ authorized: eid, query }) => {
    const { page, pageSize } = query
    const own = (await listReturns(database)).filter((each) => isExpected(each, eid))
    const results: Static<typeof OwnReturn>[] = []
    for (const each of own.slice((page - 1) * pageSize, page * pageSize)) {
      const standing = (await readStandings(database, each.returnId, eid)).get(eid)
      results.push({ ...renderReturn(each), ...renderStanding(standing ?? { eid, status: 'NotStarted' }) })
    }
    return document(
      { ...query, results, totalCount: own.length },
      linkNextPage('/returns', query, own.length),
    )
  })
}
