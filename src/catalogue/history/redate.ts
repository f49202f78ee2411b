import type { Writer } from '../../foundation/database/database.ts'
import { renderDocument } from '../records/record.ts'

const BATCH = 500

/** Sets a new date on the staged records that change. */
export async function redate(writer: Writer, date: number): Promise<void> {
  let last = ''
  for (;;) {
    const rows = await writer.all<{ code: string; document: string }>(
      `select s.code, s.document from change c join staged s on s.code = c.code
       where c.staged = 1 and s.code > $1 order by s.code limit ${BATCH}`,
      [last],
    )
    for (const { code, document } of rows) {
      await writer.run('update staged set updated = $1, document = $2 where code = $3', [
        date,
        renderDocument(withoutDate(document), date),
        code,
      ])
    }
    const end = rows.at(-1)
    if (end === undefined) return
    last = end.code
  }
}

/** A stored document without its date, which is the last field. */
function withoutDate(document: string): string {
  return `${document.slice(0, document.lastIndexOf(',"lastUpdatedDate":'))}}`
}
