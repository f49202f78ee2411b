import { COMMON_PROBLEMS } from '../../api/contract/describe.ts'
import { count, oneOf, text, time } from '../../api/contract/fields.ts'
import { type Static, Type } from '../../foundation/schema/type.ts'
import { formatTimestamp } from '../../foundation/text/timestamp.ts'
import type { Organisation as Known } from './organisations.ts'

export const TAG = 'Operation'

export const Organisation = Type.Object(
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
  { description: 'An organisation that a key covers, that has submissions, or that is suspended.' },
)

export const EID_PATH = Type.Object({
  eid: Type.String({ description: 'The identifier of the organisation.' }),
})

export const ORGANISATION_PROBLEMS = {
  ...COMMON_PROBLEMS,
  'not-found': 'No key covers this organisation, and it has no submission.',
} as const

export const UNKNOWN =
  'No key covers this organisation, it has no submission, and it is not suspended. Nothing was changed. GET /v1/organisations lists those that are known.'

export const EXAMPLE: Static<typeof Organisation> = {
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

export function renderOrganisation({ eid, suspension, keys, holdings }: Known): Static<typeof Organisation> {
  return {
    eid,
    state: suspension === undefined ? 'Active' : 'Suspended',
    ...(suspension !== undefined && {
      suspended: formatTimestamp(suspension.suspended),
      ...(suspension.reason !== '' && { reason: suspension.reason }),
    }),
    keys,
    submissions: holdings.submissions,
    fileBytes: holdings.bytes,
    runs: holdings.runs,
    activeRuns: holdings.active,
    findings: holdings.findings,
  }
}
