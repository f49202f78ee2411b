import { waitingNotice } from '../../foundation/command-line/command.ts'
import type { Database, Writer } from '../../foundation/database/database.ts'
import type { Revision } from '../../foundation/database/revisions.ts'
import {
  type ChangeCounts,
  logRevision,
  nextDate,
  nextRevision,
  type Origin,
  type Retention,
} from '../history/revision-log.ts'
import { learnConfirmed } from './names.ts'

/** Changes search data as a new revision of the catalogue in which no record changes. */
export async function changeSearchData<T>(
  database: Database,
  origin: Origin,
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

/** Logs a revision, whose names of the search are those that reviewers have confirmed until now. */
export async function recordRevision(
  writer: Writer,
  revision: Revision,
  origin: Origin,
  counts: ChangeCounts,
  retention?: Retention,
): Promise<void> {
  await learnConfirmed(writer)
  await logRevision(writer, revision, origin, counts, retention)
}
