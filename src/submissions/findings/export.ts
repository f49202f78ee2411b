import { type BytesResult, continueAfter, stream } from '../../api/contract/results.ts'
import { listCells, renderRows } from '../../engines/records/index.ts'
import type { Reader } from '../../foundation/database/database.ts'
import type { Sealer } from '../../foundation/database/seal.ts'
import { takeTurn } from '../../foundation/timed-turns.ts'
import type { SubmissionRow } from '../submission/submission.ts'
import { ordinalsOf, type Selection } from './filters.ts'
import { PUBLISHED_COLUMNS } from './publish.ts'
import { readDetails } from './read-findings.ts'
import type { PublishedFinding } from './schema.ts'

export const CSV = 'text/csv'
export const NDJSON = 'application/x-ndjson'

/** Entries read at once: whole blocks. Each stopped reader keeps up to three batches in memory, with up to 4 KiB for an entry. */
const READ = 60

/**
 * Streams all or the selected entries of a run in order, with the details of where each finding is. Memory holds one batch of them.
 * `found` is the number of findings of the run if not all of them are stored.
 *
 * @throws {RunMissing} if the run is not stored
 */
export async function streamEntries(
  type: string,
  database: Reader,
  submission: SubmissionRow,
  selected: Selection | undefined,
  { sealer, etag, found }: { sealer: Sealer; etag: string; found?: number | undefined },
): Promise<BytesResult> {
  const total = selected?.total ?? submission.totalCount
  const render = type === CSV ? renderCsv : renderNdjson
  async function* content(): AsyncGenerator<string, void> {
    let head = type === CSV ? renderRows([PUBLISHED_COLUMNS.map(({ name }) => name)]) : ''
    for (let first = 0; first < total; first += READ) {
      // Reads from SQLite wait for nothing.
      await takeTurn()
      const ordinals = ordinalsOf(selected, total, first, READ)
      const details = await readDetails(database, submission, ordinals, sealer)
      yield head + render(details)
      head = ''
    }
    if (head !== '') yield head
  }
  const body = content()
  const first = await body.next()
  const headers = {
    etag,
    'total-count': String(total),
    ...(found !== undefined && { 'found-count': String(found) }),
    'content-disposition': `attachment; filename="findings.${type === CSV ? 'csv' : 'ndjson'}"`,
  }
  return stream(`${type}; charset=utf-8`, continueAfter(first, body), headers, { compressible: true })
}

function renderNdjson(findings: readonly PublishedFinding[]): string {
  return findings.map((finding) => `${JSON.stringify(finding)}\n`).join('')
}

function renderCsv(findings: readonly PublishedFinding[]): string {
  return renderRows(findings.map((finding) => listCells(PUBLISHED_COLUMNS, finding)))
}
