import type { Database, Reader } from '../database/database.ts'
import { isSameRevision, type Revision, readRevisions } from '../database/revisions.ts'
import { nameRevision } from '../occupations/catalogue.ts'
import type { OccupationRecord } from '../occupations/schema.ts'
import { readSearchNames, readSynonyms, type SearchOnlyName } from '../occupations/search-names.ts'
import { buildIndex } from './build.ts'
import type { SearchDocument } from './document.ts'
import { toSearchDocument } from './documents.ts'
import { INDEX_FORMAT, openIndex, packIndex } from './index-file.ts'

/** Records read at once. */
const BATCH = 500
/** Bytes of an index in one row. */
const PART = 2 ** 20

/** Opens the database, calls the function with it and closes it again. */
type UseDatabase = <T>(use: (database: Database) => Promise<T>) => Promise<T>

/**
 * Loads the index of the current catalogue into memory that threads can share: the stored index, or a new one, which
 * is then stored for other processes. Building one takes seconds of CPU time, in which the database is not used.
 *
 * @param onUnstored called if the index could not be stored, so that the next process has to build it again
 */
export async function loadIndex(
  useDatabase: UseDatabase,
  onUnstored: (error: unknown) => void = () => undefined,
): Promise<SharedArrayBuffer> {
  const found = await useDatabase(readStoredOrSources)
  if ('stored' in found) return found.stored
  const { revision, documents, synonyms } = found
  const memory = packIndex(buildIndex(documents, { revision: nameRevision(revision), synonyms }))
  await useDatabase((database) => store(database, revision, new Uint8Array(memory))).catch(onUnstored)
  return memory
}

async function readStoredOrSources(database: Database) {
  const { catalogue } = await readRevisions(database)
  const stored = await readStored(database, catalogue)
  return stored === undefined ? await database.snapshot(readSources) : { stored }
}

async function readSources(reader: Reader) {
  const { catalogue: revision } = await readRevisions(reader)
  const names = new Map<string, SearchOnlyName[]>()
  for (const { code, language, name } of await readSearchNames(reader)) {
    const list = names.get(code) ?? []
    list.push({ text: name, language })
    names.set(code, list)
  }
  const documents: SearchDocument[] = []
  for (let last = ''; ; ) {
    const rows = await reader.all<{ code: string; document: string }>(
      'select code, document from occupation where code > $1 order by code limit $2',
      [last, BATCH],
    )
    const end = rows.at(-1)
    if (end === undefined) break
    for (const { code, document } of rows) {
      documents.push(toSearchDocument(JSON.parse(document) as OccupationRecord, names.get(code)))
    }
    last = end.code
  }
  return { revision, documents, synonyms: await readSynonyms(reader) }
}

async function readStored(
  database: Database,
  { number, changed }: Revision,
): Promise<SharedArrayBuffer | undefined> {
  const parts = await database.all<{ bytes: Buffer }>(
    'select bytes from search_index where number = $1 and changed = $2 and format = $3 order by part',
    [number, changed, INDEX_FORMAT],
  )
  if (parts.length === 0) return undefined
  const memory = new SharedArrayBuffer(parts.reduce((sum, { bytes }) => sum + bytes.length, 0))
  let offset = 0
  for (const { bytes } of parts) {
    new Uint8Array(memory, offset, bytes.length).set(bytes)
    offset += bytes.length
  }
  return openIndex(memory) === undefined ? undefined : memory
}

/** Replaces the stored index, unless the catalogue has changed. */
async function store(database: Database, revision: Revision, bytes: Uint8Array): Promise<void> {
  const { number, changed } = revision
  await database.write('search-index', async (writer) => {
    const { catalogue } = await readRevisions(writer)
    if (!isSameRevision(catalogue, revision)) return
    await writer.run('delete from search_index')
    for (let part = 0; part * PART < bytes.length; part++) {
      await writer.run(
        'insert into search_index (number, changed, format, part, bytes) values ($1, $2, $3, $4, $5)',
        [number, changed, INDEX_FORMAT, part, bytes.slice(part * PART, (part + 1) * PART)],
      )
    }
  })
}
