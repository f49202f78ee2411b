import type { Reader } from '../../foundation/database/database.ts'

/** Reads the documents of all records, ordered by code, in batches. */
export async function* readDocuments(reader: Reader, batch = 500): AsyncGenerator<string[]> {
  for (let last = ''; ; ) {
    const rows = await reader.all<{ code: string; document: string }>(
      'select code, document from occupation where code > $1 order by code limit $2',
      [last, batch],
    )
    const end = rows.at(-1)
    if (end === undefined) return
    yield rows.map(({ document }) => document)
    last = end.code
  }
}
