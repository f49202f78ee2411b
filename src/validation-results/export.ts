import { stringify } from 'csv-stringify/sync'
import type { Reader } from '../database/database.ts'
import type { Sealer } from '../database/seal.ts'
import { pick } from '../input/csv-columns.ts'
import { type Result, stream } from '../operation.ts'
import { readDocuments, type Selection } from './filters.ts'
import { ENTRY_COLUMNS } from './publish.ts'
import type { Submission } from './queries.ts'

export const CSV = 'text/csv'
export const NDJSON = 'application/x-ndjson'

/** Entries read at once. Each stopped reader keeps up to three batches in memory, with up to 4 KiB for an entry. */
const READ = 50

/** Streams all or the selected entries of a run in order. Memory holds one batch of them. */
export function streamEntries(
  type: string,
  reader: Reader,
  submission: Submission,
  selected: Selection | undefined,
  { sealer, etag }: { sealer: Sealer; etag: string },
): Result {
  const total = selected?.total ?? submission.totalCount
  const render = type === CSV ? renderCsv : renderNdjson
  async function* content(): AsyncGenerator<string> {
    if (type === CSV) yield stringify([ENTRY_COLUMNS.map(({ name }) => name)])
    for (let first = 0; first < total; first += READ) {
      const count = Math.min(READ, total - first)
      const ordinals = selected?.slice(first, count) ?? Array.from({ length: count }, (_, at) => first + at)
      yield render(await readDocuments(reader, submission, ordinals, sealer))
    }
  }
  return stream(`${type}; charset=utf-8`, content(), {
    etag,
    'total-count': String(total),
    'content-disposition': `attachment; filename="findings.${type === CSV ? 'csv' : 'ndjson'}"`,
  })
}

function renderNdjson(documents: readonly string[]): string {
  return `${documents.join('\n')}\n`
}

function renderCsv(documents: readonly string[]): string {
  return stringify(
    documents.map((document) => {
      const entry: unknown = JSON.parse(document)
      return ENTRY_COLUMNS.map(({ path, write }) => {
        const value = pick(entry, path)
        return value === undefined ? '' : write(value)
      })
    }),
  )
}
