import { removeSuspension } from '../../api/access/suspensions.ts'
import { withScope } from '../../api/contract/access-rules.ts'
import { type Operation, operationsOf } from '../../api/contract/contract.ts'
import { describeDocument, NEXT_LINK } from '../../api/contract/describe.ts'
import { count, listOf, oneOf, pageNumbers, text, time } from '../../api/contract/fields.ts'
import { document } from '../../api/contract/results.ts'
import type { Database } from '../../foundation/database/database.ts'
import { type Static, Type } from '../../foundation/schema/type.ts'
import { PAGE_PAST_END, pageFields, sendPage } from '../../submissions/submission/paging.ts'
import { findOrganisation, listOrganisations, renderOrganisation, suspend } from './organisations.ts'

const Organisation = Type.Object(
  {
    eid: text('The identifier of the organisation.'),
    state: oneOf(['Active', 'Suspended'], 'Whether requests for its data are refused.'),
    suspended: time('When it was suspended.'),
    reason: text('The note of the operator who suspended it. The organisation does not see it.'),
    keys: count('Valid API keys that cover it.'),
    submissions: count('Stored submissions.'),
    fileBytes: count('Bytes of the stored files.'),
    runs: count('Stored validation runs.'),
    activeRuns: count('Runs that are queued or in progress.'),
    findings: count('Findings of the stored runs.'),
  },
  {
    title: 'Organisation',
    description: 'An organisation that a key covers, that has submissions, or that is suspended.',
  },
)

const OrganisationPage = Type.Object(
  pageFields(
    listOf(Organisation, 'The organisations, in the order of their identifiers.'),
    'The number of known organisations.',
  ),
  { title: 'OrganisationPage', description: 'A page of organisations.' },
)

const NewSuspension = Type.Object(
  { reason: text('A note for operators, without personal data.', { maxLength: 200 }) },
  { description: 'The suspension of an organisation.' },
)

const EXAMPLE: Static<typeof Organisation> = {
  eid: '9999',
  state: 'Suspended',
  suspended: '2026-01-31T09:30:00.000Z',
  reason: 'Asked for by the agency.',
  keys: 1,
  submissions: 3,
  fileBytes: 182_044,
  runs: 4,
  activeRuns: 0,
  findings: 61,
}
const { suspended: _when, reason: _why, ...ACTIVE } = EXAMPLE

const UNKNOWN =
  'No key covers this organisation, it has no submission, and it is not suspended. GET /v1/organisations lists those that are known.'
const UNCHANGED = `Nothing was changed. ${UNKNOWN}`

const EID_PATH = Type.Object({
  eid: Type.String({ description: 'The identifier of the organisation.' }),
})
const PROBLEMS = {
  'no-such-organisation': 'No key covers this organisation, and it has no submission.',
} as const

export function organisationOperations(database: Database): readonly Operation[] {
  const operating = operationsOf({ tag: 'Operation', access: withScope('operate'), limit: 'submissions' })
  return [
    operating({
      name: 'organisations',
      id: 'listOrganisations',
      summary: 'List organisations',
      description:
        'The organisations that keys cover, that have submissions, or that are suspended, with what is stored for each.',
      method: 'GET',
      path: '/organisations',
      request: { query: Type.Object(pageNumbers('Entries', { default: 100, max: 1_000 })) },
      responses: {
        200: describeDocument(
          OrganisationPage,
          'A page of organisations.',
          { page: 1, pageSize: 100, results: [EXAMPLE], totalCount: 1 },
          NEXT_LINK,
        ),
      },
      badRequest: PAGE_PAST_END,
    }).handle(async ({ query }) => {
      const { page, pageSize } = query
      const all = await listOrganisations(database)
      const results = all.slice((page - 1) * pageSize, page * pageSize).map(renderOrganisation)
      return sendPage('/organisations', query, { results, totalCount: all.length })
    }),

    operating({
      name: 'organisation',
      id: 'getOrganisation',
      summary: 'Show the usage of an organisation',
      description: 'What is stored for an organisation.',
      method: 'GET',
      path: '/organisations/{eid}',
      request: { path: EID_PATH },
      responses: { 200: describeDocument(Organisation, 'The organisation.', EXAMPLE) },
      problems: PROBLEMS,
    }).handle(async ({ path: { eid }, refuse }) => {
      const organisation = await findOrganisation(database, eid)
      if (organisation === undefined) return refuse('no-such-organisation', UNKNOWN)
      return document(renderOrganisation(organisation))
    }),

    operating({
      name: 'suspend-organisation',
      id: 'suspendOrganisation',
      summary: 'Suspend an organisation',
      description:
        'Refuses every request for the data of an organisation, with any credential, until it is resumed, and cancels its runs that are queued or in progress. Nothing is deleted.',
      method: 'PUT',
      path: '/organisations/{eid}/suspension',
      request: { path: EID_PATH, body: { json: NewSuspension, maxBytes: 4096 } },
      responses: { 200: describeDocument(Organisation, 'The suspended organisation.', EXAMPLE) },
      problems: { ...PROBLEMS, 'invalid-body': 'A member is invalid.' },
    }).handle(async ({ path: { eid }, body: { reason = '' }, refuse }) => {
      const suspended = await suspend(database, { eid, reason })
      const organisation = suspended && (await findOrganisation(database, eid))
      if (organisation === undefined) return refuse('no-such-organisation', UNCHANGED)
      return document(renderOrganisation(organisation))
    }),

    operating({
      name: 'resume-organisation',
      id: 'resumeOrganisation',
      summary: 'Resume an organisation',
      description:
        'Ends the suspension of an organisation. One that is not suspended does not change. Cancelled runs are not started again.',
      method: 'DELETE',
      path: '/organisations/{eid}/suspension',
      request: { path: EID_PATH },
      responses: {
        200: describeDocument(Organisation, 'The organisation.', { ...ACTIVE, state: 'Active' }),
      },
      problems: PROBLEMS,
    }).handle(async ({ path: { eid }, refuse }) => {
      // One that nothing else names is unknown once it is resumed.
      const before = await findOrganisation(database, eid)
      if (before === undefined) return refuse('no-such-organisation', UNCHANGED)
      await removeSuspension(database, eid)
      return document(renderOrganisation({ ...before, suspension: undefined }))
    }),
  ]
}
