import type { Reader, Writer } from './database.ts'

/** What is counted up with each change, so that servers see it: the catalogue, the keys. `run` numbers the runs. */
export type RevisionName = 'catalogue' | 'keys' | 'run'

export interface Revision {
  /** Counted up with each change. */
  readonly number: number
  /** Milliseconds since 1970: tells this database's revision from another's with the same number. */
  readonly changed: number
}

/** Counts a revision up and answers the new one. */
export async function bumpRevision(writer: Writer, name: RevisionName): Promise<Revision> {
  const revision = await writer.get<Revision>(
    'update revision set number = number + 1, changed = $2 where name = $1 returning number, changed',
    [name, Date.now()],
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
