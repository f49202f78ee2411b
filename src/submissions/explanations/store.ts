import { randomBytes } from 'node:crypto'
import type { Reader } from '../../foundation/database/database.ts'
import type { Sealer } from '../../foundation/database/seal.ts'
import type { SubmissionWriter } from '../submission/lock.ts'
import type { Explanation } from './explanation.ts'

interface Row {
  readonly id: string
  readonly document: string
}

interface StoredExplanation extends Explanation {
  readonly id: string
}

/** The explanations of a submission, oldest first. */
export async function readExplanations(
  reader: Reader,
  token: string,
  sealer: Sealer,
): Promise<StoredExplanation[]> {
  const rows = await reader.all<Row>('select id, document from submission_explanation where token = $1', [
    token,
  ])
  return rows
    .map(({ id, document }) => ({
      id,
      ...sealer.openJson<Explanation>(document, contextOf(id)),
    }))
    .sort((one, other) => one.time - other.time || (one.id < other.id ? -1 : 1))
}

/** Bound to no submission: a replacement of a submission has the same explanations. */
function contextOf(id: string): string {
  return `explanation/${id}`
}

/** Stores an explanation. An earlier one of the same target must have been deleted. */
export async function storeExplanation(
  writer: SubmissionWriter,
  token: string,
  explanation: Explanation,
  sealer: Sealer,
): Promise<void> {
  const id = randomBytes(12).toString('hex')
  const document = sealer.sealJson(explanation, contextOf(id))
  await writer.run(
    'insert into submission_explanation (token, id, document, sealed) values ($1, $2, $3, $4)',
    [token, id, document, sealer.keyId],
  )
}

export async function deleteExplanation(writer: SubmissionWriter, token: string, id: string): Promise<void> {
  await writer.run('delete from submission_explanation where token = $1 and id = $2', [token, id])
}

/** Selects the key of each explanation and receipt as `id`, and its submission. */
export const SEALED_RECORDS = `select sealed as id, token from submission_explanation
  union all select sealed, token from submission_receipt`

export function receiptContext(token: string, number: number): string {
  return `receipt/${token}/${number}`
}
