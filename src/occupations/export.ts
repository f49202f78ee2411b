import { stringify } from 'csv-stringify/sync'
import type { Database } from '../database/database.ts'
import { listColumns, pick } from '../input/csv-columns.ts'
import { OccupationRecord } from './schema.ts'

/** Records read from the database at a time. */
const BATCH = 500

/** The columns of the catalogue as CSV. */
export const OCCUPATION_COLUMNS = listColumns(OccupationRecord)

/**
 * The whole catalogue in the order of its codes, as it is at one moment, in pieces of text.
 *
 * @param write takes a piece and answers when there is room for the next
 * @param onProgress called with the number of records written so far, now and then
 * @returns the number of records
 */
export async function exportOccupations(
  database: Database,
  format: 'ndjson' | 'csv',
  write: (text: string) => Promise<void>,
  onProgress?: (records: number) => void,
): Promise<number> {
  return await database.snapshot(async (reader) => {
    if (format === 'csv') await write(stringify([OCCUPATION_COLUMNS.map(({ name }) => name)]))
    let count = 0
    let last = ''
    for (;;) {
      const rows = await reader.all<{ code: string; document: string }>(
        'select code, document from occupation where code > $1 order by code limit $2',
        [last, BATCH],
      )
      const end = rows.at(-1)
      if (end === undefined) return count
      const documents = rows.map(({ document }) => document)
      await write(format === 'csv' ? toCsv(documents) : `${documents.join('\n')}\n`)
      count += rows.length
      onProgress?.(count)
      last = end.code
    }
  })
}

function toCsv(documents: readonly string[]): string {
  return stringify(
    documents.map((document) => {
      const record: unknown = JSON.parse(document)
      return OCCUPATION_COLUMNS.map(({ path, write }) => {
        const value = pick(record, path)
        return value === undefined ? '' : write(value)
      })
    }),
  )
}
