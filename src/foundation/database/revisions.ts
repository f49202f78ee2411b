import type { Reader, Writer } from './database.ts'

/**
 * The numbers that increase with each change, by which processes notice it. `run` numbers the runs, and `search`
 * increases whenever a search index was stored or could not be built.
 */
export type RevisionName = 'catalogue' | 'keys' | 'run' | 'search'

export interface Revision {
  readonly number: number
  /**
   * Milliseconds since 1970. Distinguishes this revision from one of another database with the same number. For the
   * catalogue, it is the date of the last import, and always increases.
   */
  readonly changed: number
}

/** SQL for a table with one row, the current revision of the catalogue, for statements that read it with their data. */
export const CATALOGUE_REVISION = `(select number, changed from revision where name = 'catalogue')`

/** Whether two revisions are the same state of the same database. */
export function isSameRevision(one: Revision, other: Revision): boolean {
  return one.number === other.number && one.changed === other.changed
}

/** Increments a revision and returns the new one. */
export async function bumpRevision(
  writer: Writer,
  name: RevisionName,
  changed = Date.now(),
): Promise<Revision> {
  const revision = await writer.get<Revision>(
    'update revision set number = number + 1, changed = $2 where name = $1 returning number, changed',
    [name, changed],
  )
  if (revision === undefined) throw new Error(`the table revision has no row ${name}`)
  return revision
}

/** All current revisions. */
export async function readRevisions(reader: Reader): Promise<Record<RevisionName, Revision>> {
  const rows = await reader.all<Revision & { name: RevisionName }>(
    'select name, number, changed from revision',
  )
  return Object.fromEntries(rows.map(({ name, ...revision }) => [name, revision])) as Record<
    RevisionName,
    Revision
  >
}

/** Whether nothing has changed since the tables were created. */
export async function isUntouched(reader: Reader): Promise<boolean> {
  const row = await reader.get<{ sum: number }>('select sum(number) as sum from revision')
  return row?.sum === 0
}
