import type { ReadFile } from '../../engines/records/index.ts'
import { waitingNotice } from '../../foundation/command-line/command.ts'
import type { Database, Writer } from '../../foundation/database/database.ts'
import { nextRevision, type Retention, recordRevision } from '../history/revision-log.ts'
import { nextDate } from '../import/import.ts'

/** Changes search data as a new revision of the catalogue in which no record changes. */
export async function changeSearchData<T>(
  database: Database,
  origin: { command: string; files: readonly ReadFile[] },
  retention: Retention,
  work: (writer: Writer) => Promise<{ result: T; changed: boolean }>,
): Promise<T> {
  return await database.write(
    'catalogue',
    async (writer) => {
      const { result, changed } = await work(writer)
      if (changed) {
        const revision = await nextRevision(writer, await nextDate(writer))
        const counts = { created: 0, updated: 0, unchanged: 0, deleted: 0 }
        await recordRevision(writer, revision, origin, counts, retention)
      }
      return result
    },
    waitingNotice(),
  )
}
