import { type CsvColumn, listCells, listFlatColumns, renderRows } from '../../engines/records/index.ts'
import type { Database, Reader } from '../../foundation/database/database.ts'
import { assertKept } from '../history/past.ts'
import { readDocuments } from '../records/read-documents.ts'
import { OCCUPATION_COLUMNS } from '../records/record-schema.ts'
import { OccupationRecord } from '../records/schema.ts'

/** `flat-csv` has a column for each item of each list. */
export type ExportFormat = 'ndjson' | 'csv' | 'flat-csv'

export interface ExportOptions {
  /** The revision to export; the current one without it. */
  readonly at?: number | undefined
  /** Called from time to time with the number of records written so far. */
  readonly onProgress?: ((records: number) => void) | undefined
}

/**
 * Exports a consistent state of the catalogue, ordered by code, in pieces of text.
 *
 * @param write writes a piece, and resolves when there is room for the next
 * @returns the number of records
 * @throws {RevisionUnknown} if the revision is not kept
 */
export async function exportOccupations(
  database: Database,
  format: ExportFormat,
  write: (text: string) => Promise<void>,
  { at, onProgress }: ExportOptions = {},
): Promise<number> {
  return await database.snapshot(async (reader) => {
    if (at !== undefined) await assertKept(reader, at)
    const columns = format === 'flat-csv' ? await listUsedColumns(reader, at) : OCCUPATION_COLUMNS
    if (format !== 'ndjson') {
      // Only with a mark do spreadsheets on Windows read the file as UTF-8.
      const mark = format === 'flat-csv' ? '\ufeff' : ''
      await write(mark + renderRows([columns.map(({ name }) => name)]))
    }
    let count = 0
    for await (const documents of readDocuments(reader, { at })) {
      const rows = () => documents.map((document) => listCells(columns, JSON.parse(document)))
      await write(format === 'ndjson' ? `${documents.join('\n')}\n` : renderRows(rows()))
      count += documents.length
      onProgress?.(count)
    }
    return count
  })
}

/** The flat columns, with as many items of each list as the longest one in use. */
async function listUsedColumns(reader: Reader, at: number | undefined): Promise<CsvColumn[]> {
  const most = new Map<string, number>()
  const count = (value: unknown, place: string): void => {
    if (typeof value !== 'object' || value === null) return
    const steps = Array.isArray(value) ? value.map((item) => ['*', item] as const) : Object.entries(value)
    if (Array.isArray(value)) most.set(place, Math.max(most.get(place) ?? 0, value.length))
    for (const [step, inner] of steps) count(inner, place === '' ? step : `${place}.${step}`)
  }
  for await (const documents of readDocuments(reader, { at })) {
    for (const document of documents) count(JSON.parse(document), '')
  }
  return listFlatColumns(OccupationRecord, (place) => most.get(place) ?? 0)
}
