import { MahiError } from '../../client/src/errors.ts'
import type { Client } from '../../client/src/index.ts'
import type { Submission } from '../../client/src/types.ts'
import { showLocal } from '../foundation/text/zoned-time.ts'

/** The most submissions that a page can have. */
const PAGE_SIZE = 100

/**
 * The receipt of the last submitted submission of a return, such as `receipt 1 of 31 Jan 2026, 17:00`; `undefined` if
 * the organisation has submitted none, or the key may not read them.
 */
export async function describeSubmittedBefore(
  submissions: Client['submissions'],
  returnId: string,
): Promise<string | undefined> {
  try {
    const { submissionToken: token } = (await findSubmitted(submissions, returnId)) ?? {}
    if (token === undefined) return undefined
    const { receipt, dateSubmitted = '' } = await submissions.receipt(token)
    return `receipt ${receipt} of ${showLocal(Date.parse(dateSubmitted))}`
  } catch (error) {
    // Sending needs another scope than reading.
    if (error instanceof MahiError && (error.status === 401 || error.status === 404)) return undefined
    throw error
  }
}

async function findSubmitted(
  submissions: Client['submissions'],
  returnId: string,
): Promise<Submission | undefined> {
  for (let page = 1; ; page++) {
    const { results = [], totalCount = 0 } = await submissions.list({ page, pageSize: PAGE_SIZE })
    const found = results.find((each) => each.returnId === returnId && each.submissionStatus === 'Submitted')
    if (found !== undefined || results.length === 0 || page * PAGE_SIZE >= totalCount) return found
  }
}
