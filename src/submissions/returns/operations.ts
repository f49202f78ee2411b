import { listKeys } from '../../api/access/keys.ts'
import { listSuspensions } from '../../api/access/suspensions.ts'
import { forOrganisationOrOperator, withScope } from '../../api/contract/access-rules.ts'
import { type Operation, operationsOf } from '../../api/contract/contract.ts'
import { describeDocument, NEXT_LINK } from '../../api/contract/describe.ts'
import { oneOf, pageNumbers, text, withDefault } from '../../api/contract/fields.ts'
import { document } from '../../api/contract/results.ts'
import { Problem } from '../../api/request/problems.ts'
import type { Reader } from '../../foundation/database/database.ts'
import { type Rendered, Type } from '../../foundation/schema/type.ts'
import { formatTimestamp } from '../../foundation/text/timestamp.ts'
import { hasEtag, readEtags } from '../files/file-headers.ts'
import { countActivities } from '../submission/activity.ts'
import { listFrequentCauses } from '../submission/cause-counts.ts'
import type { SubmissionOptions } from '../submission/options.ts'
import { PAGE_PAST_END, PAGE_QUERY, sendPage } from '../submission/paging.ts'
import { checkReturn, NewReturn, type ReturnValues } from './read-returns.ts'
import {
  type CollectedReturn,
  findReturn,
  isExpected,
  listReturns,
  returnEtag,
  storeReturns,
} from './returns.ts'
import {
  EXAMPLE_RETURN,
  EXAMPLE_STANDING,
  type OwnReturn,
  Return,
  ReturnCauses,
  ReturnOverview,
  ReturnPage,
  renderForAgency,
  renderReturn,
  renderStanding,
} from './schema.ts'
import { type OrganisationStanding, readStandings, STANDINGS, type Standing } from './standing.ts'

const LIST_QUERY = Type.Object({
  ...PAGE_QUERY.properties,
  includeIndicative: withDefault(
    Type.Boolean({ description: 'Whether returns of the type Indicative are listed.' }),
    true,
  ),
})

const MOST_CAUSES = 100
const DAY = 86_400_000

const RETURN_PATH = Type.Object({ returnId: Type.String({ description: 'The return.', maxLength: 64 }) })
const NO_RETURN = { 'no-such-return': 'The service does not collect this return.' }

export function returnOperations({
  database,
  definitions,
  timeZone,
  access,
}: SubmissionOptions): readonly Operation[] {
  const common = { tag: 'Returns', limit: 'submissions' } as const
  const reading = { definitions, zone: timeZone }
  /** The id is in the path. */
  const findFaults = (body: ReturnValues, { returnId }: Readonly<Record<string, string>>) =>
    checkReturn({ ...body, id: returnId }, reading).faults.map(({ name, message }) => ({
      name: name === 'id' ? 'returnId' : name,
      message,
    }))
  const listing = operationsOf({ ...common, access: forOrganisationOrOperator('validation-results:read') })
  const operating = operationsOf({ ...common, access: withScope('operate') })
  return [
    listing({
      name: 'list-returns',
      id: 'listReturns',
      summary: 'List returns',
      description:
        'The returns that the service collects from the organisation, with their dates and how far the organisation is with each. Without the header EID, a credential with the scope operate lists all returns, without the state of an organisation. Empty if the service collects every return.',
      method: 'GET',
      path: '/returns',
      request: { query: LIST_QUERY },
      responses: {
        200: describeDocument(
          ReturnPage,
          'A page of returns.',
          { page: 1, pageSize: 20, results: [{ ...EXAMPLE_RETURN, ...EXAMPLE_STANDING }], totalCount: 1 },
          NEXT_LINK,
        ),
      },
      badRequest: PAGE_PAST_END,
    }).handle(async ({ authorized: eid, query }) => {
      const { page, pageSize, includeIndicative } = query
      const own = (await listReturns(database)).filter(
        (each) =>
          (eid === undefined || isExpected(each, eid)) && (includeIndicative || each.type !== 'Indicative'),
      )
      const results: Rendered<typeof OwnReturn>[] = []
      for (const each of own.slice((page - 1) * pageSize, page * pageSize)) {
        results.push({
          ...renderReturn(each),
          ...(eid !== undefined && renderStanding(await readStanding(database, each.returnId, eid))),
        })
      }
      // The default of a parameter is not repeated in the link.
      const stated = { page, pageSize, ...(!includeIndicative && { includeIndicative }) }
      return sendPage('/returns', stated, { results, totalCount: own.length })
    }),
    operating({
      name: 'return-overview',
      id: 'getReturnOverview',
      summary: 'Show how far all organisations are with a return',
      description:
        'For the collecting agency: the organisations that have not started, have errors, are ready or have submitted, and what changed in the last 24 hours. Without a list of organisations, those of valid keys that may submit are expected, unless they are suspended. No EID is needed.',
      method: 'GET',
      path: '/returns/{returnId}/overview',
      request: {
        path: RETURN_PATH,
        query: Type.Object({
          status: oneOf(STANDINGS, 'Only organisations with this status.'),
          ...pageNumbers('Organisations', { default: 100, max: 1000 }),
        }),
      },
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
      problems: NO_RETURN,
      badRequest: PAGE_PAST_END,
    }).handle(async ({ path: { returnId }, query, refuse }) => {
      const found = await findReturn(database, returnId)
      if (found === undefined) return refuse('no-such-return', NO_RETURN['no-such-return'])
      const standings = await readAll(database, found)
      const statuses = Object.fromEntries(
        STANDINGS.map((status) => [status, standings.filter((each) => each.status === status).length]),
      ) as Record<Standing, number>
      const { status, page, pageSize } = query
      const wanted = standings.filter((each) => status === undefined || each.status === status)
      return sendPage(`/returns/${encodeURIComponent(returnId)}/overview`, query, {
        return: renderForAgency(found),
        statuses,
        changes: await readChanges(database, returnId),
        results: wanted.slice((page - 1) * pageSize, page * pageSize).map(renderStanding),
        totalCount: wanted.length,
      })
    }),
    operating({
      name: 'return-causes',
      id: 'getReturnCauses',
      summary: 'List the most frequent causes of a return',
      description:
        'For the collecting agency: what most organisations have to fix, by the current runs of their submissions. Counts only: no values, and no data of learners. No EID is needed.',
      method: 'GET',
      path: '/returns/{returnId}/causes',
      request: { path: RETURN_PATH },
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
              sentence: 'courseStartDate has values that are in a form other than year-month-day.',
              columns: 1,
              organisations: 37,
              causes: 37,
              findings: 60_130,
              records: 60_130,
            },
          ],
        }),
      },
      problems: NO_RETURN,
    }).handle(async ({ path: { returnId }, refuse }) => {
      if ((await findReturn(database, returnId)) === undefined)
        return refuse('no-such-return', NO_RETURN['no-such-return'])
      return document({ returnId, causes: await listFrequentCauses(database, returnId, MOST_CAUSES) })
    }),
    operating({
      name: 'put-return',
      id: 'putReturn',
      summary: 'Describe a return',
      description:
        'For the collecting agency: adds a return, or replaces the one with this id, after the checks of `mahi returns import`. A return is replaced by another one only with `If-Match`. If anything is wrong, nothing is stored, and the detail names the mistakes. No EID is needed.',
      method: 'PUT',
      path: '/returns/{returnId}',
      request: {
        path: RETURN_PATH,
        header: Type.Object({
          'If-Match': text('The `etag` of the return to replace, or `*` for any.', { maxLength: 4000 }),
          'If-None-Match': text('`*`: only add the return.', { maxLength: 4000 }),
        }),
        body: { json: NewReturn, maxBytes: 262_144, check: findFaults },
      },
      responses: {
        200: describeDocument(Return, 'The return as it is now.', EXAMPLE_RETURN),
      },
      problems: {
        'precondition-failed':
          'The return does not have the etag in If-Match, or exists despite If-None-Match.',
        'precondition-required': 'Another return has this id, and there is no If-Match.',
        'invalid-body': 'The return has mistakes; the detail names them.',
      },
    }).handle(async ({ path: { returnId }, header, body, principal }) => {
      const { described } = checkReturn({ ...body, id: returnId }, reading)
      if (described === undefined) throw new Error('a return without faults cannot be read')
      const stored = await storeReturns(database, [described], (known, changes) =>
        assertWanted(returnId, { known, changes }, header),
      )
      for (const { change } of stored)
        if (change !== 'unchanged' && principal !== undefined)
          access.audit.changed({
            audit: `return-${change}`,
            return: returnId,
            key: principal.id,
            client: principal.client,
          })
      return document(renderForAgency(described))
    }),
  ]
}

async function readStanding(reader: Reader, returnId: string, eid: string): Promise<OrganisationStanding> {
  return (await readStandings(reader, returnId, eid)).get(eid) ?? { eid, status: 'NotStarted' }
}

/** All organisations that are expected, or have started, by EID. */
async function readAll(reader: Reader, found: CollectedReturn): Promise<OrganisationStanding[]> {
  const standings = await readStandings(reader, found.returnId)
  const suspensions = await listSuspensions(reader)
  const suspended = new Map(suspensions.map((each) => [each.eid, { suspended: each.suspended }]))
  const expected = found.eids ?? (await listSubmitting(reader)).filter((eid) => !suspended.has(eid))
  return [...new Set([...expected, ...standings.keys()])].sort().map((eid) => {
    return { eid, status: 'NotStarted', ...standings.get(eid), ...suspended.get(eid) }
  })
}

/** The organisations of the valid keys that may submit. */
async function listSubmitting(reader: Reader): Promise<string[]> {
  const now = Date.now()
  return (await listKeys(reader))
    .filter(
      ({ revoked, expires, scopes }) =>
        revoked === null && expires > now && scopes.includes('submissions:write'),
    )
    .flatMap(({ eids }) => eids)
}

async function readChanges(
  reader: Reader,
  returnId: string,
): Promise<Rendered<typeof ReturnOverview>['changes']> {
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

/** @throws {Problem} unless the caller knows what is replaced */
function assertWanted(
  returnId: string,
  { known, changes }: { known: CollectedReturn | undefined; changes: boolean },
  header: { 'If-Match'?: string; 'If-None-Match'?: string },
): void {
  const [wanted, unwanted] = [readEtags(header['If-Match']), readEtags(header['If-None-Match'])]
  const etag = known && returnEtag(known)
  if (hasEtag(unwanted, etag))
    throw new Problem('precondition-failed', `Return ${returnId} exists, which If-None-Match rules out.`)
  if (wanted !== undefined && !hasEtag(wanted, etag))
    throw new Problem(
      'precondition-failed',
      known === undefined
        ? `Return ${returnId}, which If-Match is to replace, does not exist.`
        : `Return ${returnId} has changed: its etag is not in If-Match. Read it again before you replace it.`,
    )
  if (wanted === undefined && known !== undefined && changes)
    throw new Problem(
      'precondition-required',
      `Return ${returnId} exists with other properties. Send its etag as If-Match to replace it.`,
    )
}
