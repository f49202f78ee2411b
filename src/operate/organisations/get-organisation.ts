import { withScope } from '../../api/contract/access-rules.ts'
import { type Operation, operation } from '../../api/contract/contract.ts'
import { describeDocument } from '../../api/contract/describe.ts'
import { upTo } from '../../api/contract/fields.ts'
import { document } from '../../api/contract/results.ts'
import type { Database } from '../../foundation/database/database.ts'
import { Type } from '../../foundation/schema/type.ts'
import {
  EID_PATH,
  EXAMPLE,
  ORGANISATION_PROBLEMS,
  OrganisationUsage,
  renderUsage,
  TAG,
  UNKNOWN,
} from './contract.ts'
import { findOrganisation, readRequests } from './organisations.ts'

const DAY = 86_400_000

const QUERY = Type.Object({
  days: upTo(3660, 30, 'Days for which requests are counted, from 1 to 3660.'),
})

export function getOrganisation(database: Database): Operation {
  return operation({
    name: 'organisation',
    id: 'getOrganisation',
    summary: 'Show the usage of an organisation',
    description: 'What is stored for an organisation, and how many requests for its data were made.',
    tag: TAG,
    method: 'GET',
    path: '/organisations/{eid}',
    access: withScope('operate'),
    limit: 'submissions',
    request: { path: EID_PATH, query: QUERY },
    schemas: { OrganisationUsage },
    responses: {
      200: describeDocument(OrganisationUsage, 'The organisation.', {
        ...EXAMPLE,
        since: '2026-01-01T09:30:00.000Z',
        reads: 812,
        changes: 24,
      }),
    },
    problems: ORGANISATION_PROBLEMS,
  }).handle(async ({ path: { eid }, query: { days }, refuse }) => {
    const organisation = await findOrganisation(database, eid)
    if (organisation === undefined) return refuse('not-found', UNKNOWN)
    const since = Date.now() - days * DAY
    return document(renderUsage(organisation, since, (await readRequests(database, since, eid)).get(eid)))
  })
}
