import type { Reader, Value } from '../../foundation/database/database.ts'

interface StoredRecord {
  readonly code: string
  readonly document: string
}

export interface DocumentsOptions {
  /** The revision to read, which must be kept; the current one without it. */
  readonly at?: number | undefined
  /** Records read at once. */
  readonly batch?: number
}

/** Reads the documents of all records, ordered by code, in batches. */
export async function* readDocuments(reader: Reader, options?: DocumentsOptions): AsyncGenerator<string[]> {
  for await (const records of readRecords(reader, options)) yield records.map(({ document }) => document)
}

/** The same with their codes. */
export async function* readRecords(
  reader: Reader,
  { at, batch = 500 }: DocumentsOptions = {},
): AsyncGenerator<StoredRecord[]> {
  for (let last = ''; ; ) {
    const page: readonly Value[] = [last, batch]
    const records = await (at === undefined
      ? reader.all<StoredRecord>(CURRENT, page)
      : reader.all<StoredRecord>(PAST, [...page, at]))
    const end = records.at(-1)
    if (end === undefined) return
    yield records
    last = end.code
  }
}

/** $1: the code to start after; $2: the most records. */
const CURRENT = 'select code, document from occupation where code > $1 order by code limit $2'

/** The same in revision $3. Each half is in order and limited, so that a batch reads no more than it returns. */
const PAST = `
  select code, document from (
    select * from (
      select code, document from occupation where code > $1 and revision <= $3 order by code limit $2
    ) unchanged
    union all
    select * from (
      select code, document from occupation_past where code > $1 and until > $3 and revision <= $3
      order by code limit $2
    ) past
  ) found order by code limit $2`
