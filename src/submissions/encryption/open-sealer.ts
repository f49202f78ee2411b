import { type Database, DatabaseUnusable, type Reader } from '../../foundation/database/database.ts'
import { keepValue, readValues } from '../../foundation/database/instance.ts'
import {
  DecryptionFailed,
  readKeyId,
  readSealedText,
  Sealer,
  type SealKey,
} from '../../foundation/database/seal.ts'
import { chunkContext } from '../files/file-store.ts'
import { blockContext, DOCUMENTS } from '../findings/blocks.ts'
import { entryContext } from '../findings/finding-rows.ts'
import { summaryContext } from '../findings/runs.ts'
import { countByKey } from './reencrypt.ts'

/** The settings with the encryption keys. */
export interface KeySettings {
  readonly ENCRYPTION_KEYS?: readonly SealKey[]
}

/** The prefix of the rows of `instance` that hold the check value of a key. */
const CHECK = 'key-check/'

/**
 * Returns what encrypts and decrypts the data of a database, once it is known that the configured keys are those of the
 * database. Each key that has been used has a check value there. A database of an earlier version has none, so the keys
 * must decrypt its data.
 *
 * @throws {DatabaseUnusable} if a key is missing, or is not the one of this name
 */
export async function openSealer(database: Database, settings: KeySettings): Promise<Sealer> {
  const sealer = new Sealer(settings.ENCRYPTION_KEYS)
  const unchecked = await findUnchecked(database, sealer)
  if (unchecked.length === 0) return sealer
  const values = unchecked.map((id) => sealer.begin(id).sealText(id, CHECK + id))
  await database.write('keys', async (writer) => {
    for (const [index, id] of unchecked.entries()) await keepValue(writer, CHECK + id, values[index] ?? '')
  })
  // Another process with other keys may have been first.
  await findUnchecked(database, sealer)
  return sealer
}

/**
 * Checks the keys without writing, and returns the ids of those without a check value.
 *
 * @throws {DatabaseUnusable} as `openSealer` does
 */
export async function findUnchecked(reader: Reader, sealer: Sealer): Promise<string[]> {
  const checks = await readValues(reader, CHECK)
  const stored = (await countByKey(reader)).flatMap(({ id }) => (id === null ? [] : [id]))
  const [known = stored[0]] = checks.keys()
  if (known !== undefined && sealer.keyId === null)
    throw new DatabaseUnusable(
      `the data is encrypted with the key "${known}", and ENCRYPTION_KEYS is not set. Set it, or ENCRYPTION_KEYS_FILE, to the keys that the service has used`,
    )
  const missing = stored.find((id) => !sealer.keyIds.includes(id))
  if (missing !== undefined)
    throw new DatabaseUnusable(
      `data is encrypted with the key "${missing}", which ENCRYPTION_KEYS does not have. Add it; a key that is not the first one only decrypts, and is needed until "mahi submissions reencrypt" has replaced it`,
    )
  const unchecked: string[] = []
  for (const id of sealer.keyIds) {
    const check = checks.get(id)
    if (check === undefined) unchecked.push(id)
    const right =
      check === undefined
        ? !stored.includes(id) || (await decryptsData(reader, sealer, id))
        : opens(() => sealer.openText(check, CHECK + id))
    if (!right)
      throw new DatabaseUnusable(
        `the key "${id}" in ENCRYPTION_KEYS is not the key of this name with which the data is encrypted. Set the original key, or give a new key another name`,
      )
  }
  return unchecked
}

function opens(open: () => unknown): boolean {
  try {
    open()
    return true
  } catch (error) {
    if (error instanceof DecryptionFailed) return false
    throw error
  }
}

/** Whether a key decrypts at least one of the oldest and newest pieces that name it. */
async function decryptsData(reader: Reader, sealer: Sealer, id: string): Promise<boolean> {
  const pieces = [...(await readPieces(reader, id, 'asc')), ...(await readPieces(reader, id, 'desc'))]
  return pieces.length === 0 || pieces.some(({ data, context }) => opens(() => sealer.open(data, context)))
}

interface Piece {
  readonly data: Uint8Array
  readonly context: string
}

/** One piece of each kind of data that is encrypted with a key. */
async function readPieces(reader: Reader, id: string, order: 'asc' | 'desc'): Promise<Piece[]> {
  const chunk = await reader.get<{ version: string; ordinal: number; data: Uint8Array }>(
    `select c.version, c.ordinal, c.data from file_version v
     join file_chunk c on c.version = v.version and c.ordinal = 0
     where v.sealed = $1 order by v.received ${order} limit 1`,
    [id],
  )
  const run = await reader.get<{ run: number; summary: string }>(
    `select run, summary from submission_run where sealed = $1 and summary is not null order by run ${order} limit 1`,
    [id],
  )
  const block = await reader.get<{ run: number; content: Uint8Array }>(
    `select b.run, b.content from submission s
     join result_block b on b.run = s.run and b.part = ${DOCUMENTS} and b.block = 0
     where s.sealed = $1 order by s.run ${order} limit 1`,
    [id],
  )
  const entry = await reader.get<{ run: number; ordinal: number; document: string }>(
    `select e.run, e.ordinal, e.document from submission s
     join result_entry e on e.run = s.run and e.ordinal = 0
     where s.sealed = $1 order by s.run ${order} limit 1`,
    [id],
  )
  const pieces: Piece[] = []
  if (chunk !== undefined)
    pieces.push({ data: chunk.data, context: chunkContext(chunk.version, chunk.ordinal) })
  if (run !== undefined) pieces.push({ data: readSealedText(run.summary), context: summaryContext(run.run) })
  if (block !== undefined)
    pieces.push({ data: block.content, context: blockContext(block.run, DOCUMENTS, 0) })
  if (entry !== undefined)
    pieces.push({ data: readSealedText(entry.document), context: entryContext(entry.run, entry.ordinal) })
  // A part may still be plain, or have another key, while it is encrypted again.
  return pieces.filter(({ data }) => readKeyId(data) === id)
}
