import { forOrganisationOrOperator } from '../../api/contract/access-rules.ts'
import { type Operation, operation } from '../../api/contract/contract.ts'
import { COMMON_PROBLEMS, describeDocument, NEXT_LINK, NOT_COVERED } from '../../api/contract/describe.ts'
import { withDefault } from '../../api/contract/fields.ts'
import { document } from '../../api/contract/results.ts'
import type { Reader } from '../../foundation/database/database.ts'
import { type Static, Type } from '../../foundation/schema/type.ts'
import type { SubmissionOptions } from '../options.ts'
import { assertPage, linkNextPage, PAGE_PAST_END, PAGE_QUERY } from '../paging.ts'
import { isExpected, listReturns } from './returns.ts'
import {
  EXAMPLE_RETURN,
  EXAMPLE_STANDING,
  OwnReturn,
  ReturnPage,
  renderReturn,
  renderStanding,
} from './schema.ts'
import { type OrganisationStanding, readStandings } from './standing.ts'

const QUERY = Type.Object({
  ...PAGE_QUERY.properties,
  includeIndicative: withDefault(
    Type.Boolean({ description: 'Whether returns of the type Indicative are listed.' }),
    true,
  ),
})

export function listOwnReturns({ database }: SubmissionOptions): Operation {
  return operation({
    name: 'list-returns',
    id: 'listReturns',
    summary: 'List returns',
    description:
      'The returns that the service collects from the organisation, with their dates and how far the organisation is with each. Without the header EID, a credential with the scope operate lists all returns, without the state of an organisation. Empty if the service collects every return.',
    tag: 'Returns',
    method: 'GET',
    path: '/returns',
    access: forOrganisationOrOperator('validation-results:read'),
    limit: 'submissions',
    request: { query: QUERY },
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
    badRequest: PAGE_PAST_END,
  }).handle(async ({ authorized: eid, query }) => {
    const { page, pageSize, includeIndicative } = query
    const own = (await listReturns(database)).filter(
      (each) =>
        (eid === undefined || isExpected(each, eid)) && (includeIndicative || each.type !== 'Indicative'),
    )
    assertPage(query, own.length)
    const results: Static<typeof OwnReturn>[] = []
    for (const each of own.slice((page - 1) * pageSize, page * pageSize)) {
      results.push({
        ...renderReturn(each),
        ...(eid !== undefined && renderStanding(await readStanding(database, each.returnId, eid))),
      })
    }
    return document(
      { page, pageSize, results, totalCount: own.length },
      // The default of a parameter is not repeated.
      linkNextPage(
        '/returns',
        { page, pageSize, ...(!includeIndicative && { includeIndicative }) },
        own.length,
      ),
    )
  })
}

async function readStanding(reader: Reader, returnId: string, eid: string): Promise<OrganisationStanding> {
  return (await readStandings(reader, returnId, eid)).get(eid) ?? { eid, status: 'NotStarted' }
}
