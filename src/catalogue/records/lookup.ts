import { Problem } from '../../api/request/problems.ts'
import type { Reader } from '../../foundation/database/database.ts'
import type { Revision } from '../../foundation/database/revisions.ts'
import { CATALOGUE_REVISION } from '../../foundation/database/revisions.ts'
import { quote } from '../../foundation/text/quote.ts'
import { formatTimestamp } from '../../foundation/text/timestamp.ts'
import type { RenderedPage } from './catalogue.ts'
import { readRemoved } from './replacements.ts'
import { toRevision } from './rows.ts'
import { findSimilarCodes, suggestCodes } from './similar-codes.ts'

/**
 * Reads the record of a code, byte for byte as in the list.
 *
 * @throws {Problem} `occupation-removed` with the code's successors, or `no-such-occupation` with similar codes
 */
export async function readRecord(reader: Reader, code: string): Promise<RenderedPage> {
  const row = await reader.get<Revision & { document: string | null }>(
    `select r.number, r.changed, o.document
     from ${CATALOGUE_REVISION} r left join occupation o on o.code = $1`,
    [code],
  )
  const revision = toRevision(row)
  if (row?.document != null) return { revision, body: Buffer.from(row.document) }
  const removed = await readRemoved(reader, code)
  if (removed !== undefined) {
    const { replacedBy } = removed
    const removedDate = formatTimestamp(removed.removed)
    const successors = replacedBy.length === 0 ? '' : ` Its successors: ${replacedBy.join(', ')}.`
    throw new Problem(
      'occupation-removed',
      `The occupation ${quote(code)} was removed on ${removedDate}.${successors}`,
      { members: { removedDate, replacedBy } },
    )
  }
  const similar = await findSimilarCodes(reader, code)
  throw new Problem(
    'no-such-occupation',
    `No occupation has the code ${quote(code)}.${suggestCodes(similar)}`,
    { members: { similarCodes: similar } },
  )
}
