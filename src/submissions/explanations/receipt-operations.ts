import { actorOf } from '../../api/access/principal.ts'
import { withScope } from '../../api/contract/access-rules.ts'
import { type Operation, operationsOf } from '../../api/contract/contract.ts'
import { describeDocument } from '../../api/contract/describe.ts'
import { int32From1, text } from '../../api/contract/fields.ts'
import { document } from '../../api/contract/results.ts'
import type { ValueFault } from '../../api/request/problems.ts'
import { type Static, Type } from '../../foundation/schema/type.ts'
import { readInstant } from '../../foundation/text/zoned-time.ts'
import { ofSubmission, REFUSALS, TAG, TOKEN_PATH } from '../submission/contract.ts'
import { EXAMPLE_SUBMISSION } from '../submission/example.ts'
import type { SubmissionOptions } from '../submission/options.ts'
import { findHidden, readLine } from '../submission/read-line.ts'
import { renderState } from '../submission/render.ts'
import { Submission } from '../submission/schema.ts'
import { assertKept, findAny } from '../submission/submission.ts'
import { readReceipt } from './receipt.ts'
import { EXAMPLE_RECEIPT, Receipt } from './receipt-schema.ts'
import { reopen } from './reopen.ts'

const NO_RECEIPT = 'The submission has no receipt, because it has not been submitted yet.'

const Reopening = Type.Object(
  {
    reason: Type.String({
      description: 'Why, for the organisation. It is shown in the receipt and in the activities.',
      minLength: 1,
      maxLength: 500,
    }),
    until: text(
      'Until when the submission can be changed, whether its return closes before or after that (RFC 3339); defaults to seven days from now, or to when its return closes if that is later.',
      { maxLength: 40 },
    ),
  },
  { description: 'Why a submission is opened again.' },
)

/** The longest time for which a submission is opened again, in milliseconds. */
const LONGEST = 3650 * 86_400_000

export function receiptOperations({
  database,
  definitions,
  sealer,
}: SubmissionOptions): readonly Operation[] {
  const { reading } = ofSubmission(database)
  const operating = operationsOf({
    tag: TAG,
    limit: 'submissions',
    access: withScope('operate'),
  })
  return [
    reading({
      name: 'get-receipt',
      id: 'getSubmissionReceipt',
      summary: 'Get the receipt of a submission',
      description:
        'What was submitted, by whom and when: the files with their digests, the definition and its version, the run with its counts, and the explanations. A reopened submission keeps its receipts.',
      method: 'GET',
      path: '/submissions/{submissionToken}/receipt',
      request: {
        path: TOKEN_PATH,
        query: Type.Object({
          number: Type.Optional(int32From1('The number of the receipt; defaults to the last one.')),
        }),
      },
      responses: { 200: describeDocument(Receipt, 'The receipt.', EXAMPLE_RECEIPT) },
      problems: { 'no-receipt': NO_RECEIPT, gone: REFUSALS.gone },
    }).handle(async ({ authorized, query, refuse }) => {
      assertKept(authorized)
      const { token, ended } = authorized
      const receipt = await readReceipt(database, token, sealer, query.number)
      if (receipt !== undefined) return document(receipt)
      if (query.number !== undefined)
        return refuse('no-receipt', 'The submission has no receipt with this number.')
      return refuse(
        'no-receipt',
        ended === 'Submitted' ? 'The submission was submitted, but its receipt is not stored.' : NO_RECEIPT,
      )
    }),
    operating({
      name: 'reopen-submission',
      id: 'reopenSubmission',
      summary: 'Reopen a submission',
      description:
        'Opens a submitted submission again, so that its organisation can change and submit it again. Its receipts and activities remain. It is for the collecting agency; no EID is needed.',
      method: 'POST',
      path: '/submissions/{submissionToken}/reopen',
      request: {
        path: TOKEN_PATH,
        body: { json: Reopening, maxBytes: 8192, personal: true, check: findReopeningFaults },
      },
      responses: { 200: describeDocument(Submission, 'The reopened submission.', EXAMPLE_SUBMISSION) },
      problems: {
        'invalid-body': 'A member is invalid.',
        'no-such-submission': 'No submission has this token.',
        conflict: 'The submission is not submitted, or the organisation has another open one for the return.',
        gone: REFUSALS.gone,
      },
    }).handle(async ({ path: { submissionToken }, body, principal, refuse }) => {
      const reason = readLine(body.reason) ?? ''
      const until = readInstant(body.until ?? '')
      const found = await findAny(database, submissionToken)
      if (found === undefined) return refuse('no-such-submission', 'No submission has this token.')
      const { token, eid, returnId } = found
      const actor = actorOf(principal)
      const reopened = await reopen(database, { token, eid, returnId, actor, reason, until })
      return document(renderState({ definitions, sealer }, reopened))
    }),
  ]
}

function findReopeningFaults({ reason, until }: Partial<Static<typeof Reopening>>): ValueFault[] {
  const faults: ValueFault[] = []
  const message = findHidden(reason) ?? (readLine(reason) === undefined ? 'must not be empty' : undefined)
  if (message !== undefined) faults.push({ name: 'reason', message })
  const [time = 0, now] = [readInstant(until ?? ''), Date.now()]
  if (until !== undefined && (time <= now || time > now + LONGEST))
    faults.push({
      name: 'until',
      message:
        'must be a date-time with an offset within the next ten years, such as 2027-02-14T17:00:00+13:00',
    })
  return faults
}
