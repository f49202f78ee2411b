import { count, listOf, object, oneOf, refer, strings, text, time } from '../../api/contract/fields.ts'
import { type Rendered, type Static, Type } from '../../foundation/schema/type.ts'
import { formatKnown, formatTimestamp } from '../../foundation/text/timestamp.ts'
import { pageFields } from '../submission/paging.ts'
import { SUBMISSION_TYPES } from '../submission/submission.ts'
import { type CollectedReturn, returnEtag, WINDOWS, windowOf } from './returns.ts'
import { type OrganisationStanding, STANDINGS } from './standing.ts'

const STATUS =
  'NotStarted: no files. FilesReceived: no run covers the files. Validating: a run is in progress. HasErrors, Ready: the run that covers the files found errors, or none. Incomplete: it found none, but a check was stopped whose findings must be fixed or explained. Submitted: frozen. Reopened: the agency has opened it again, and it has not been submitted since.'

const RETURN = {
  returnId: text('The return.'),
  name: text('Its name for people.'),
  definition: text('The definition that it is checked against.'),
  definitionVersion: text('The version of the definition when the return was described.'),
  returnType: oneOf(
    SUBMISSION_TYPES,
    'Full: all required files must be present. Indicative: some may be missing.',
  ),
  openWindowDate: time('When it opens.'),
  dueDate: time('When it is due.'),
  closeWindowDate: time('When it closes: from then on, nothing is accepted.'),
  window: oneOf(WINDOWS, 'Overdue: due, but still open.'),
  timeZone: text('The time zone of its dates, for showing them.'),
  notes: text('Notes for those who submit it.'),
}

const STANDING = {
  returnStatus: oneOf(STANDINGS, STATUS),
  submissionToken: text('The submission that counts: the submitted one, or else the last one.'),
  errorCount: count('Errors that the run found which covers its files.'),
  warningCount: count('Warnings that it found.'),
  dateCreated: time('When the submission was created.'),
  dateLastActivity: time('When somebody last changed the submission.'),
  dateSubmitted: time('When it was last submitted.'),
  reopenedUntil: time(
    'Until when it can be changed after it was opened again; absent unless it is Reopened.',
  ),
  reopenReason: text('Why it was opened again.'),
}

export const Return = Type.Object(
  {
    ...RETURN,
    organisations: strings('The organisations that are expected to submit it; absent if all are.'),
    etag: text('Identifies this state of the return. Send it as If-Match to replace the return.'),
  },
  { title: 'Return', description: 'A return that the service collects, for the agency.' },
)

export const OwnReturn = Type.Object(
  { ...RETURN, eid: text('The organisation.'), ...STANDING },
  {
    title: 'OwnReturn',
    description: 'A return, and, unless an operator lists all, how far an organisation is with it.',
  },
)

export const ReturnPage = Type.Object(
  pageFields(
    listOf(OwnReturn, 'The returns, the one that opens last first.'),
    'All returns that can be listed this way.',
  ),
  { title: 'ReturnPage', description: 'A page of returns.' },
)

const OrganisationReturn = Type.Object(
  {
    eid: text('The organisation.'),
    suspended: time('When the organisation was suspended; absent if it is not.'),
    ...STANDING,
  },
  { description: 'How far an organisation is with a return.' },
)

export const ReturnOverview = Type.Object(
  {
    return: Type.Optional(refer(Return)),
    statuses: object(
      Object.fromEntries(STANDINGS.map((name) => [name, count(`Organisations with ${name}.`)])),
      'The number of organisations by status.',
    ),
    changes: object(
      {
        since: time('Since when.'),
        started: count('Submissions that were created.'),
        submitted: count('Submissions that were submitted.'),
        reopened: count('Submissions that were opened again.'),
        deleted: count('Submissions that were deleted.'),
        eids: strings('The organisations that did anything.'),
      },
      'What changed.',
    ),
    ...pageFields(
      listOf(OrganisationReturn, 'The organisations, by EID.'),
      'Organisations that are expected to submit, or have started to, with the status that was asked for.',
    ),
  },
  { title: 'ReturnOverview', description: 'How far all organisations are with a return.' },
)

export const ReturnCauses = Type.Object(
  {
    returnId: text('The return.'),
    causes: listOf(
      Type.Object({
        kind: text('What the causes are about, as in the causes of a submission.'),
        severity: text('`Error` or `Warning`.'),
        code: text('The code of their findings; of several codes, the first by name.'),
        file: text('The file.'),
        field: text('The field; empty if they are about several.'),
        sentence: text('What is wrong, without values.'),
        columns: count('The most columns that one of them is about.'),
        organisations: count('Organisations that have them.'),
        causes: count('Causes in all.'),
        findings: count('Findings in all.'),
        records: count('Records in all.'),
      }),
      'Those of most organisations first; at most 100.',
    ),
  },
  {
    title: 'ReturnCauses',
    description: 'What the organisations have to fix in a return: counts only, no values.',
  },
)

export const EXAMPLE_RETURN: Static<typeof Return> = {
  returnId: '202512',
  name: 'December 2025',
  definition: 'sdr',
  definitionVersion: '1.0.0',
  returnType: 'Full',
  openWindowDate: '2025-12-31T11:00:00.000Z',
  dueDate: '2026-01-20T11:00:00.000Z',
  closeWindowDate: '2026-01-31T04:00:00.000Z',
  window: 'Open',
  timeZone: 'Pacific/Auckland',
}

export const EXAMPLE_STANDING = {
  eid: '9999',
  returnStatus: 'HasErrors' as const,
  submissionToken: 'Jb7cJb0i1s8YJw2Vq2cJcJZ1m6v0gQpA',
  errorCount: 12,
  warningCount: 3,
  dateCreated: '2026-01-15T22:09:40.000Z',
  dateLastActivity: '2026-01-16T01:31:05.000Z',
}

/** A return with the organisations that are expected, which only the agency sees. */
export function renderForAgency(given: CollectedReturn): Rendered<typeof Return> {
  return { ...renderReturn(given), organisations: given.eids, etag: returnEtag(given) }
}

export function renderReturn(
  given: CollectedReturn,
): Omit<Rendered<typeof Return>, 'organisations' | 'etag'> {
  const { returnId, name, definition, version, type, opens, due, closes, notes, zone } = given
  return {
    returnId,
    name,
    definition,
    definitionVersion: version,
    returnType: type,
    openWindowDate: formatTimestamp(opens),
    dueDate: formatTimestamp(due),
    closeWindowDate: formatTimestamp(closes),
    window: windowOf(given),
    timeZone: zone,
    notes,
  }
}

export function renderStanding(standing: OrganisationStanding): Rendered<typeof OrganisationReturn> {
  const { eid, status, token, errors, warnings, started, active, submitted, suspended } = standing
  const { reopenedUntil, reopenReason } = standing
  return {
    eid,
    suspended: formatKnown(suspended),
    returnStatus: status,
    submissionToken: token,
    errorCount: errors,
    warningCount: warnings,
    dateCreated: formatKnown(started),
    dateLastActivity: formatKnown(active),
    dateSubmitted: formatKnown(submitted),
    reopenedUntil: formatKnown(reopenedUntil),
    reopenReason,
  }
}
