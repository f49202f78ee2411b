import type { Database } from '../../foundation/database/database.ts'
import { readRevisions } from '../../foundation/database/revisions.ts'
import { formatTimestamp } from '../../foundation/text/timestamp.ts'
import { nextDate } from '../import/import.ts'
import {
  applyChanges,
  type ChangeCounts,
  dropStaged,
  listChanges,
  loadReplacements,
  stagePast,
} from '../import/merge.ts'
import { changeCatalogue } from './dry-run.ts'
import { assertKept } from './past.ts'
import { previewChanges, type RecordChange } from './preview.ts'
import { redate } from './redate.ts'
import { nextRevision, type Retention, recordRevision } from './revision-log.ts'

export interface RollbackOptions {
  /** Report what would change, but change nothing. */
  readonly dryRun?: boolean
  /** Set a new date on changed records instead of restoring their old one. */
  readonly newDates?: boolean
  readonly retention?: Retention
  readonly onWait?: () => void
}

export interface RollbackSummary extends Omit<ChangeCounts, 'unchanged'> {
  /** The new revision, or the current one if nothing changed. */
  readonly revision: number
  /** The new date of changed records, if they got one. */
  readonly lastUpdatedDate?: string
  /** Of a dry run: the first changed records and their fields. */
  readonly changes?: readonly RecordChange[]
}

/**
 * Creates a new revision with the content of an old one, including its dates: an export is then identical to one of
 * the old revision.
 *
 * @throws {RevisionUnknown} if the revision is not kept
 */
export async function rollBack(
  database: Database,
  to: number,
  options: RollbackOptions = {},
): Promise<RollbackSummary> {
  const { dryRun = false, newDates = false } = options
  return await changeCatalogue(database, options, async (writer) => {
    await assertKept(writer, to)
    await stagePast(writer, to)
    await loadReplacements(writer, [])
    const counts = await listChanges(writer, { removes: { changedAfter: to }, keepDates: !newDates })
    const changes = dryRun ? await previewChanges(writer) : undefined
    const { created, updated, deleted } = counts
    let revision = (await readRevisions(writer)).catalogue
    if (created + updated + deleted > 0) {
      revision = await nextRevision(writer, await nextDate(writer))
      // The history may just have started again.
      await assertKept(writer, to)
      if (newDates) await redate(writer, revision.changed)
      await applyChanges(writer, revision)
      const origin = { command: `rollback ${to}`, files: [] }
      await recordRevision(writer, revision, origin, counts, options.retention)
    }
    await dropStaged(writer)
    return {
      created,
      updated,
      deleted,
      revision: revision.number,
      ...(newDates && created + updated > 0 && { lastUpdatedDate: formatTimestamp(revision.changed) }),
      ...(changes !== undefined && { changes }),
    }
  })
}
