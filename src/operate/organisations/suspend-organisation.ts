import { withScope } from '../../api/contract/access-rules.ts'
import { type Operation, operation } from '../../api/contract/contract.ts'
import { describeDocument, JSON_BODY_PROBLEMS } from '../../api/contract/describe.ts'
import { text } from '../../api/contract/fields.ts'
import { document } from '../../api/contract/results.ts'
import type { Database } from '../../foundation/database/database.ts'
import { Type } from '../../foundation/schema/type.ts'
import {
  EID_PATH,
  EXAMPLE,
  ORGANISATION_PROBLEMS,
  Organisation,
  renderOrganisation,
  TAG,
  UNKNOWN,
} from './contract.ts'
import { findOrganisation, suspend } from './organisations.ts'

const NewSuspension = Type.Object(
  { reason: text('A note for operators, without personal data.', { maxLength: 200 }) },
  { description: 'The suspension of an organisation.' },
)

export function suspendOrganisation(database: Database): Operation {
  return operation({
    name: 'suspend-organisation',
    id: 'suspendOrganisation',
    summary: 'Suspend an organisation',
    description:
      'Refuses every request for the data of an organisation, with any credential, until it is resumed, and cancels its runs that are queued or in progress. Nothing is deleted.',
    tag: TAG,
    method: 'PUT',
    path: '/organisations/{eid}/suspension',
    access: withScope('operate'),
    limit: 'submissions',
    request: { path: EID_PATH, body: { json: NewSuspension, maxBytes: 4096 } },
    schemas: { Organisation },
    responses: { 200: describeDocument(Organisation, 'The suspended organisation.', EXAMPLE) },
    problems: {
      ...ORGANISATION_PROBLEMS,
      'invalid-body': 'A member is invalid.',
      ...JSON_BODY_PROBLEMS,
    },
  }).handle(async ({ path: { eid }, body: { reason = '' }, refuse }) => {
    const suspended = await suspend(database, { eid, reason })
    const organisation = suspended && (await findOrganisation(database, eid))
    if (organisation === undefined) return refuse('not-found', UNKNOWN)
    return document(renderOrganisation(organisation))
  })
}
