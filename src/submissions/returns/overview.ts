import { listKeys } from '../../api/access/keys.ts'
import { listSuspensions } from '../../api/access/suspensions.ts'
import { withScope } from '../../api/contract/access-rules.ts'
import { type Operation, operation } from '../../api/contract/contract.ts'
import { COMMON_PROBLEMS, describeDocument, NEXT_LINK } from '../../api/contract/describe.ts'
import { oneOf, pageNumbers } from '../../api/contract/fields.ts'
import { document } from '../../api/contract/results.ts'
import type { Reader } from '../../foundation/database/database.ts'
import { type Static, Type } from '../../foundation/schema/type.ts'
import { formatTimestamp } from '../../foundation/text/timestamp.ts'
import { countActivities } from '../activity/activity.ts'
import type { SubmissionOptions } from '../options.ts'
import { assertPage, linkNextPage, PAGE_PAST_END } from '../paging.ts'
import { listFrequentCauses } from './causes.ts'
import { type CollectedReturn, findReturn } from './returns.ts'
import {
  EXAMPLE_RETURN,
  EXAMPLE_STANDING,
  Return,
  ReturnCauses,
  ReturnOverview,
  renderForAgency,
  renderStanding,
} from './schema.ts'
import { type OrganisationStanding, readStandings, STANDINGS, type Standing } from './standing.ts'

const MOST_CAUSES = 100
const DAY = 86_400_000

const RETURN_PATH = Type.Object({ returnId: Type.String({ description: 'The return.', maxLength: 64 }) })
const PROBLEMS = {
  ...COMMON_PROBLEMS,
  unauthorized: 'There is no valid credential, or it lacks the scope operate.',
  'no-such-return': 'The service does not collect this return.',
} as const

export function getReturnOverview({ database }: SubmissionOptions): Operation {
  return operation({
    name: 'return-overview',
    id: 'getReturnOverview',
    summary: 'Show how far all organisations are with a return',
    description:
      'For the collecting agency: the organisations that have not started, have errors, are ready or have submitted, and what changed in the last 24 hours. Without a list of organisations, those of valid keys that may submit are expected, unless they are suspended. No EID is needed.',
    tag: 'Returns',
    method: 'GET',
    path: '/returns/{returnId}/overview',
    access: withScope('operate'),
    limit: 'submissions',
    request: {
      path: RETURN_PATH,
      query: Type.Object({
        status: oneOf(STANDINGS, 'Only organisations with this status.'),
        ...pageNumbers('Organisations', { default: 100, max: 1000 }),
      }),
    },
    schemas: { Return, ReturnOverview },
    responses: {
      200: describeDocument(
        ReturnOverview,
        'The overview.',
        {
          return: EXAMPLE_RETURN,
          statuses: { NotStarted: 11, HasErrors: 1 },
          changes: {
            since: '2026-01-14T22:09:40.000Z',
            started: 1,
            submitted: 0,
            reopened: 0,
            deleted: 0,
            eids: ['9999'],
          },
          page: 1,
          pageSize: 100,
          results: [EXAMPLE_STANDING],
          totalCount: 1,
        },
        NEXT_LINK,
      ),
    },
    problems: PROBLEMS,
    badRequest: PAGE_PAST_END,
  }).handle(async ({ path: { returnId }, query, refuse }) => {
    const found = await findReturn(database, returnId)
    if (found === undefined) return refuse('no-such-return', PROBLEMS['no-such-return'])
    const standings = await readAll(database, found)
    const statuses = Object.fromEntries(
      STANDINGS.map((status) => [status, standings.filter((each) => each.status === status).length]),
    ) as Record<Standing, number>
    const { status, page, pageSize } = query
    const wanted = standings.filter((each) => status === undefined || each.status === status)
    assertPage(query, wanted.length)
    const overview: Static<typeof ReturnOverview> = {
      return: renderForAgency(found),
      statuses,
      changes: await readChanges(database, returnId),
      page,
      pageSize,
      results: wanted.slice((page - 1) * pageSize, page * pageSize).map(renderStanding),
      totalCount: wanted.length,
    }
    return document(
      overview,
      linkNextPage(`/returns/${encodeURIComponent(returnId)}/overview`, query, wanted.length),
    )
  })
}

/** All organisations that are expected, or have started, by EID. */
async function readAll(reader: Reader, found: CollectedReturn): Promise<OrganisationStanding[]> {
  const standings = await readStandings(reader, found.returnId)
  const expected = found.eids ?? (await listSubmitting(reader))
  return [...new Set([...expected, ...standings.keys()])]
    .sort()
    .map((eid) => standings.get(eid) ?? { eid, status: 'NotStarted' })
}

/** The organisations of the valid keys that may submit, without suspended ones. */
async function listSubmitting(reader: Reader): Promise<string[]> {
  const now = Date.now()
  const suspended = new Set((await listSuspensions(reader)).map(({ eid }) => eid))
  return (await listKeys(reader))
    .filter(
      ({ revoked, expires, scopes }) =>
        revoked === null && expires > now && scopes.includes('submissions:write'),
    )
    .flatMap(({ eids }) => eids)
    .filter((eid) => !suspended.has(eid))
}

async function readChanges(
  reader: Reader,
  returnId: string,
): Promise<NonNullable<Static<typeof ReturnOverview>['changes']>> {
  const since = Date.now() - DAY
  const counts = await countActivities(reader, returnId, since)
  const of = (event: string) =>
    counts.filter((each) => each.event === event).reduce((sum, each) => sum + each.total, 0)
  return {
    since: formatTimestamp(since),
    started: of('Created'),
    submitted: of('Submitted'),
    reopened: of('Reopened'),
    deleted: of('Deleted'),
    eids: [...new Set(counts.map(({ eid }) => eid))].sort(),
  }
}

export function getReturnCauses({ database }: SubmissionOptions): Operation {
  return operation({
    name: 'return-causes',
    id: 'getReturnCauses',
    summary: 'List the most frequent causes of a return',
    description:
      'For the collecting agency: what most organisations have to fix, by the current runs of their submissions. Counts only: no values, and no data of learners. No EID is needed.',
    tag: 'Returns',
    method: 'GET',
    path: '/returns/{returnId}/causes',
    access: withScope('operate'),
    limit: 'submissions',
    request: { path: RETURN_PATH },
    schemas: { ReturnCauses },
    responses: {
      200: describeDocument(ReturnCauses, 'The causes.', {
        returnId: '202512',
        causes: [
          {
            kind: 'column',
            severity: 'Error',
            code: 'ENR-06-type',
            file: 'enrolments.csv',
            field: 'courseStartDate',
            organisations: 37,
            causes: 37,
            findings: 60_130,
            records: 60_130,
          },
        ],
      }),
    },
    problems: PROBLEMS,
  }).handle(async ({ path: { returnId }, refuse }) => {
    if ((await findReturn(database, returnId)) === undefined)
      return refuse('no-such-return', PROBLEMS['no-such-return'])
    return document({ returnId, causes: await listFrequentCauses(database, returnId, MOST_CAUSES) })
  })
}
