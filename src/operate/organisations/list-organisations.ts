import { withScope } from '../../api/contract/access-rules.ts'
import { type Operation, operation } from '../../api/contract/contract.ts'
import { COMMON_PROBLEMS, describeDocument } from '../../api/contract/describe.ts'
import { int32Count, listOf, pageNumbers } from '../../api/contract/fields.ts'
import { document } from '../../api/contract/results.ts'
import type { Database } from '../../foundation/database/database.ts'
import { type Static, Type } from '../../foundation/schema/type.ts'
import { EXAMPLE, Organisation, renderOrganisation, TAG } from './contract.ts'
import { listOrganisations } from './organisations.ts'

const QUERY = Type.Object(pageNumbers('Entries', { default: 100, max: 1_000 }))

const OrganisationPage = Type.Object(
  {
    page: int32Count('The number of this page.'),
    pageSize: int32Count('The most entries per page.'),
    results: listOf<Static<typeof Organisation>>(
      'Organisation',
      'The organisations, in the order of their identifiers.',
    ),
    totalCount: int32Count('The number of known organisations.'),
  },
  { description: 'A page of organisations.' },
)

export function listAllOrganisations(database: Database): Operation {
  return operation({
    name: 'organisations',
    id: 'listOrganisations',
    summary: 'List organisations',
    description:
      'The organisations that keys cover, that have submissions, or that are suspended, with what is stored for each.',
    tag: TAG,
    method: 'GET',
    path: '/organisations',
    access: withScope('operate'),
    limit: 'submissions',
    request: { query: QUERY },
    schemas: { Organisation, OrganisationPage },
    responses: {
      200: describeDocument(OrganisationPage, 'A page of organisations.', {
        page: 1,
        pageSize: 100,
        results: [EXAMPLE],
        totalCount: 1,
      }),
    },
    problems: COMMON_PROBLEMS,
  }).handle(async ({ query: { page, pageSize } }) => {
    const all = await listOrganisations(database)
    const results = all.slice((page - 1) * pageSize, page * pageSize).map(renderOrganisation)
    return document({ page, pageSize, results, totalCount: all.length })
  })
}
