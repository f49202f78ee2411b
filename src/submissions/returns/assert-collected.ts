import { Problem } from '../../api/request/problems.ts'
import type { Reader } from '../../foundation/database/database.ts'
import { showEnd, showInstant } from '../../foundation/text/zoned-time.ts'
import type { SubmissionType } from '../submission/submission.ts'
import {
  type CollectedReturn,
  describeWindow,
  findReturn,
  isExpected,
  listReturns,
  windowOf,
} from './returns.ts'

/** The most returns that a refusal lists. */
const LISTED = 5

/**
 * Checks that the service collects a return from an organisation now; without any returns, it collects every one.
 *
 * @returns what the return says about its submissions, if the service has returns
 * @throws {Problem} with the dates
 */
export async function assertCollected(
  reader: Reader,
  {
    eid,
    returnId,
    definition,
    type,
  }: { eid: string; returnId: string; definition?: string | undefined; type?: SubmissionType | undefined },
): Promise<CollectedReturn | undefined> {
  const found = await findReturn(reader, returnId)
  if (found === undefined) {
    const all = await listReturns(reader)
    if (all.length === 0) return undefined
    throw new Problem(
      'unprocessable-content',
      `The service does not collect this return. ${listOpen(all, eid)}`,
    )
  }
  if (!isExpected(found, eid))
    throw new Problem(
      'unprocessable-content',
      `Organisation ${eid} is not expected to submit return ${returnId}.`,
    )
  if (definition !== undefined && definition !== found.definition)
    throw new Problem('unprocessable-content', `Return ${returnId} is checked against ${found.definition}.`)
  if (type !== undefined && type !== found.type)
    throw new Problem('unprocessable-content', `The type of return ${returnId} is ${found.type}.`)
  const window = windowOf(found)
  if (window === 'NotOpen')
    throw new Problem('conflict', `Return ${returnId} is not open yet: it ${describeWindow(found)}.`)
  if (window === 'Closed') await assertReopened(reader, eid, found)
  return found
}

function listOpen(all: readonly CollectedReturn[], eid: string): string {
  const open = all.filter((each) => isExpected(each, eid) && windowOf(each) !== 'Closed')
  if (open.length === 0) return 'No return is open for this organisation.'
  const listed = open.slice(0, LISTED).map((each) => `${each.returnId} ${describeWindow(each)}`)
  return `Returns of this organisation: ${listed.join('; ')}.`
}

/** @throws {Problem} unless the agency has opened a submission for a closed return again */
async function assertReopened(
  reader: Reader,
  eid: string,
  { returnId, opens, closes, zone }: CollectedReturn,
): Promise<void> {
  const own = await reader.all<{ ended: string | null; until: number | null }>(
    'select ended, reopened_until as until from submission where eid = $1 and return_id = $2',
    [eid, returnId],
  )
  if (own.some(({ ended, until }) => ended === null && (until ?? 0) > Date.now())) return
  // Only what was submitted can be opened again, and not beside another one.
  const canReopen = own.some(({ ended }) => ended === 'Submitted') && own.every(({ ended }) => ended !== null)
  const wayOut = canReopen ? 'to open the submission again' : 'for a later closing date'
  throw new Problem(
    'conflict',
    `Return ${returnId} is closed: it was open from ${showInstant(opens, zone)} to ${showEnd(closes, zone)}. Ask the agency ${wayOut}.`,
  )
}
