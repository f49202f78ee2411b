import type { Reader, Writer } from './database.ts'

/** What is counted up with each change, so that servers see it: the catalogue, the keys. `run` numbers the runs. */
export type RevisionName = 'catalogue' | 'keys' | 'run'

export interface Revision {
  /** Counted up with each change. */
  readonly number: number
  /**
   * Milliseconds since 1970: tells this database's revision from another's with the same number. That of the
   * catalogue is the date of its last import, which is later than any before.
   */
  readonly changed: number
}

/** Whether two revisions are one and the same state of what they count. */
export function isSameRevision(one: Revision, other: Revision): boolean {
  return one.number === other.number && one.changed === other.changed
}

/** Counts a revision up and answers the new one. */
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

/** Every revision as it is now. */
export async function readRevisions(reader: Reader): Promise<Record<RevisionName, Revision>> {
  const rows = await reader.all<Revision & { name: RevisionName }>(
    'select name, number, changed from revision',
  )
  return Object.fromEntries(rows.map(({ name, ...revision }) => [name, revision])) as Record<
    RevisionName,
    Revision
  >
}
