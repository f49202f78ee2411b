import type { Actor } from '../../api/access/principal.ts'
import type { Reader } from '../../foundation/database/database.ts'
import type { Sealer } from '../../foundation/database/seal.ts'
import type { Rendered } from '../../foundation/schema/type.ts'
import { formatTimestamp } from '../../foundation/text/timestamp.ts'
import type { SubmissionName, SubmissionWriter } from '../submission/lock.ts'
import type { Receipt } from './receipt-schema.ts'
import { receiptContext } from './store.ts'

/** What a receipt says, without what later submissions add. */
export type ReceiptDocument = Rendered<typeof Receipt>

/** Why a submitted submission was opened again. */
export interface Reopening {
  readonly time: number
  readonly actor: Actor
  readonly reason: string
}

interface ReceiptRow {
  readonly number: number
  readonly time: number
  readonly document: string
  readonly reopened: string | null
}

const COLUMNS = 'number, time, document, reopened'

/**
 * Stores the receipt of a submission that is being submitted, and returns its number. An organisation's receipts for a
 * return are numbered across all its submissions, so that no two have the same number.
 */
export async function storeReceipt(
  writer: SubmissionWriter,
  { token, eid, returnId }: SubmissionName & { returnId: string },
  describe: (number: number) => ReceiptDocument,
  sealer: Sealer,
): Promise<number> {
  const last = await writer.get<{ number: number | null }>(
    `select max(r.number) as number from submission s join submission_receipt r on r.token = s.token
     where s.eid = $1 and s.return_id = $2`,
    [eid, returnId],
  )
  const number = (last?.number ?? 0) + 1
  const document = sealer.sealJson(describe(number), receiptContext(token, number))
  await writer.run(
    'insert into submission_receipt (token, number, time, document, sealed) values ($1, $2, $3, $4, $5)',
    [token, number, Date.now(), document, sealer.keyId],
  )
  return number
}

/** Notes in the last receipt that the submission was opened again. */
export async function markReopened(
  writer: SubmissionWriter,
  token: string,
  reopening: Reopening,
): Promise<void> {
  await writer.run(
    `update submission_receipt set reopened = $2 where token = $1 and reopened is null
       and number = (select max(number) from submission_receipt where token = $1)`,
    [token, JSON.stringify(reopening)],
  )
}

/**
 * A receipt of a submission, with those before it; `undefined` if it has none, or none with this number.
 *
 * @param number defaults to the last one
 */
export async function readReceipt(
  reader: Reader,
  token: string,
  sealer: Sealer,
  number?: number,
): Promise<ReceiptDocument | undefined> {
  const rows = await reader.all<ReceiptRow>(
    `select ${COLUMNS} from submission_receipt where token = $1 order by number`,
    [token],
  )
  const open = ({ number, document }: ReceiptRow) =>
    sealer.openJson<ReceiptDocument>(document, receiptContext(token, number))
  const found = number === undefined ? rows.at(-1) : rows.find((row) => row.number === number)
  if (found === undefined) return undefined
  const earlier = rows
    .filter((row) => row.number < found.number)
    .map((row) => {
      const { dateSubmitted, submittedBy, receipt } = open(row)
      return { receipt, dateSubmitted, submittedBy, ...renderReopening(row.reopened) }
    })
  return { ...open(found), ...renderReopening(found.reopened), ...(earlier.length > 0 && { earlier }) }
}

/** When the submissions of a return that are open again had been submitted, and why they were opened, by their tokens. */
export async function readReopenings(
  reader: Reader,
  returnId: string,
): Promise<Map<string, { submitted: number; reopenReason: string }>> {
  const rows = await reader.all<{ token: string; time: number; reopened: string }>(
    `select r.token, r.time, r.reopened from submission s join submission_receipt r on r.token = s.token
     where s.return_id = $1 and s.ended is null and r.reopened is not null order by r.number`,
    [returnId],
  )
  return new Map(
    rows.map(({ token, time, reopened }) => {
      const { reason } = JSON.parse(reopened) as Reopening
      return [token, { submitted: time, reopenReason: reason }]
    }),
  )
}

function renderReopening(reopened: string | null) {
  if (reopened === null) return {}
  const { time, actor, reason } = JSON.parse(reopened) as Reopening
  return { dateReopened: formatTimestamp(time), reopenedBy: actor, reopenReason: reason }
}
