import type { Reader } from '../database/database.ts'
import type { Revision } from '../database/revisions.ts'
import { Problem } from '../http/problems.ts'
import { quote } from '../text/quote.ts'
import { formatTimestamp } from '../text/timestamp.ts'
import type { CatalogueDocument } from './catalogue.ts'
import { readRemoved } from './history/replacements.ts'
import { toRevision } from './rows.ts'
import { findSimilarCodes, suggestCodes } from './similar-codes.ts'

/**
 * Reads the record of a code, byte for byte as in the list.
 *
 * @throws {Problem} `occupation-removed` with the code's successors, or `no-such-occupation` with similar codes
 */
export async function readRecord(reader: Reader, code: string): Promise<CatalogueDocument> {
  const row = await reader.get<Revision & { document: string | null }>(
    `select r.number, r.changed, o.document
     from revision r left join occupation o on o.code = $1 where r.name = 'catalogue'`,
    [code],
  )
  const revision = toRevision(row)
  if (row?.document != null) return { revision, text: row.document }
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
