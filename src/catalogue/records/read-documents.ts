import type { Reader } from '../../foundation/database/database.ts'

interface StoredRecord {
  readonly code: string
  readonly document: string
}

/** Reads the documents of all records, ordered by code, in batches. */
export async function* readDocuments(reader: Reader, batch?: number): AsyncGenerator<string[]> {
  for await (const records of readRecords(reader, batch)) yield records.map(({ document }) => document)
}

/** The same with their codes. */
export async function* readRecords(reader: Reader, batch = 500): AsyncGenerator<StoredRecord[]> {
  for (let last = ''; ; ) {
    const records = await reader.all<StoredRecord>(
      'select code, document from occupation where code > $1 order by code limit $2',
      [last, batch],
    )
    const end = records.at(-1)
    if (end === undefined) return
    yield records
    last = end.code
  }
}
