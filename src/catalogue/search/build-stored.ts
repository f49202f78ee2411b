import { IndexBuilder } from '../../engines/finding/index.ts'
import type { Database, Reader } from '../../foundation/database/database.ts'
import { type Revision, readRevisions } from '../../foundation/database/revisions.ts'
import { readSearchNames, readSynonyms, type SearchOnlyName } from '../names/names.ts'
import { nameRevision } from '../records/catalogue.ts'
import { readRecords } from '../records/read-documents.ts'
import type { OccupationRecord } from '../records/schema.ts'
import { toSearchDocument } from './documents.ts'
import { readIndexState, storeIndex } from './index-store.ts'

/** Opens the database, calls the function with it and closes it again. */
type UseDatabase = <T>(use: (database: Database) => Promise<T>) => Promise<T>

/**
 * Builds the index of the current catalogue and stores it, unless it is stored. Building takes seconds of CPU time, in
 * which the database is not used.
 *
 * @param onStep called often; what it throws ends the build
 * @returns whether the index is that of the current catalogue: it may have changed meanwhile
 */
export async function buildStoredIndex(
  useDatabase: UseDatabase,
  onStep: () => void = () => undefined,
): Promise<boolean> {
  const read = await useDatabase(async (database) => {
    if ((await readIndexState(database)).current) return undefined
    return await database.snapshot((reader) => readSources(reader, onStep))
  })
  if (read === undefined) return true
  const { revision, builder, synonyms } = read
  const data = builder.finish({ revision: nameRevision(revision), synonyms })
  return await useDatabase((database) => storeIndex(database, revision, data))
}

async function readSources(
  reader: Reader,
  onStep: () => void,
): Promise<{ revision: Revision; builder: IndexBuilder; synonyms: string[][] }> {
  const { catalogue: revision } = await readRevisions(reader)
  const builder = new IndexBuilder(onStep)
  let last = ''
  for await (const records of readRecords(reader)) {
    const upTo = records.at(-1)?.code ?? last
    const names = groupNames(await readSearchNames(reader, { after: last, upTo }))
    for (const { code, document } of records) {
      builder.add(toSearchDocument(JSON.parse(document) as OccupationRecord, names.get(code)))
    }
    last = upTo
    onStep()
  }
  return { revision, builder, synonyms: await readSynonyms(reader) }
}

function groupNames(rows: Awaited<ReturnType<typeof readSearchNames>>): Map<string, SearchOnlyName[]> {
  const names = new Map<string, SearchOnlyName[]>()
  for (const { code, language, name, weight, confirmed } of rows) {
    const list = names.get(code) ?? []
    list.push({ text: name, language, weight, confirmed })
    names.set(code, list)
  }
  return names
}
