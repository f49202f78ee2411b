import { removeSuspension } from '../../api/access/suspensions.ts'
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

const { suspended: _when, reason: _why, ...ACTIVE } = EXAMPLE

export function resumeOrganisation(database: Database): Operation {
  return operation({
    name: 'resume-organisation',
    id: 'resumeOrganisation',
    summary: 'Resume an organisation',
    description:
      'Ends the suspension of an organisation. One that is not suspended does not change. Cancelled runs are not started again.',
    tag: TAG,
    method: 'DELETE',
    path: '/organisations/{eid}/suspension',
    access: withScope('operate'),
    limit: 'submissions',
    request: { path: EID_PATH },
    schemas: { Organisation },
    responses: {
      200: describeDocument(Organisation, 'The organisation.', { ...ACTIVE, state: 'Active' }),
    },
    problems: { ...ORGANISATION_PROBLEMS, 'malformed-body': 'The request has a body.' },
  }).handle(async ({ path: { eid }, refuse }) => {
    // One that nothing else names is unknown once it is resumed.
    const before = await findOrganisation(database, eid)
    if (before === undefined) return refuse('not-found', UNKNOWN)
    await removeSuspension(database, eid)
    return document(renderOrganisation({ ...before, suspension: undefined }))
  })
}
