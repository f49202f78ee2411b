import { withScope } from '../../api/contract/access-rules.ts'
import { type Operation, operation } from '../../api/contract/contract.ts'
import { describeDocument } from '../../api/contract/describe.ts'
import { document } from '../../api/contract/results.ts'
import type { Database } from '../../foundation/database/database.ts'
import {
  EID_PATH,
  EXAMPLE,
  ORGANISATION_PROBLEMS,
  Organisation,
  renderOrganisation,
  TAG,
  UNKNOWN,
} from './contract.ts'
import { findOrganisation } from './organisations.ts'

export function getOrganisation(database: Database): Operation {
  return operation({
    name: 'organisation',
    id: 'getOrganisation',
    summary: 'Show the usage of an organisation',
    description: 'What is stored for an organisation.',
    tag: TAG,
    method: 'GET',
    path: '/organisations/{eid}',
    access: withScope('operate'),
    limit: 'submissions',
    request: { path: EID_PATH },
    schemas: { Organisation },
    responses: {
      200: describeDocument(Organisation, 'The organisation.', EXAMPLE),
    },
    problems: ORGANISATION_PROBLEMS,
  }).handle(async ({ path: { eid }, refuse }) => {
    const organisation = await findOrganisation(database, eid)
    if (organisation === undefined) return refuse('not-found', UNKNOWN)
    return document(renderOrganisation(organisation))
  })
}
