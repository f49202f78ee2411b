import { randomBytes } from 'node:crypto'
import { setImmediate as takeTurn } from 'node:timers/promises'
import type { Database, Writer } from '../database/database.ts'
import type { Sealer } from '../database/seal.ts'
import { type FileForm, type Operation, parseOperations, readLocalIds } from './current-file.ts'
import { insertChunk, packChunk, readChunks } from './file-store.ts'
import { Refusal } from './refusal.ts'
import { assertOpen, type FileState, listFiles, reread } from './submission.ts'
import { claimWriter } from './upload.ts'

export interface Batch {
  readonly token: string
  readonly eid: string
  readonly resource: string
  /** Records to add or replace, each with its `localId`. */
  readonly operations: readonly Operation[]
  readonly maxRecords: number
  readonly form: FileForm
}

/** The result for each record, in the order of the batch. */
export interface Acknowledgement {
  readonly localId: string
  readonly errors: readonly string[]
}

const UNKNOWN_RECORD = 'No record of this file has this localId.'

/**
 * Adds, replaces or deletes records of a file. A record replaces an earlier one with the same `localId`; within a
 * batch, the last one applies.
 *
 * @throws {Refusal}
 */
export async function applyBatch(
  database: Database,
  sealer: Sealer,
  batch: Batch,
): Promise<Acknowledgement[]> {
  const { token, resource, operations, maxRecords, form } = batch
  if (operations.length > maxRecords) {
    throw new Refusal(
      'invalid',
      `The batch has ${operations.length} records; at most ${maxRecords} are allowed.`,
      { errorCode: 'MP1' },
    )
  }
  return await database.write(`upload:${token}/${resource}`, async (writer) => {
    assertOpen(await reread(writer, batch))
    // Fails during an upload of the file, and prevents another one until this transaction ends.
    await claimWriter(writer, batch, null, 0)
    const known = (await listFiles(writer, token)).find((each) => each.resource === resource)
    if (known === undefined && operations.every(({ record }) => record === undefined))
      return operations.map(({ localId }) => ({ localId, errors: [UNKNOWN_RECORD] }))
    const file = known ?? (await createFile(writer, sealer, batch))
    await indexRecords(writer, sealer, file, form)
    const { acknowledgements, records, changed } = await count(writer, sealer, file, operations)
    if (changed) await append(writer, sealer, batch, file, records)
    return acknowledgements
  })
}

/** A file created by a batch is NDJSON. */
async function createFile(writer: Writer, sealer: Sealer, { token, resource }: Batch): Promise<FileState> {
  const version = randomBytes(16).toString('hex')
  const received = Date.now()
  await writer.run(
    `insert into file_version (version, token, resource, format, chunks, records, size, digest, batches, received, sealed, stored)
     values ($1, $2, $3, 'ndjson', 0, 0, 0, '', 0, $4, $5, 1)`,
    [version, token, resource, received, sealer.keyId],
  )
  await writer.run('update submission_file set version = $3 where token = $1 and resource = $2', [
    token,
    resource,
    version,
  ])
  return {
    resource,
    version,
    format: 'ndjson',
    chunks: 0,
    batches: 0,
    records: 0,
    bytes: 0,
    sha256: '',
    received,
    sealed: sealer.keyId,
  }
}

/** Ids that are indexed in one statement. */
const INDEXED = 5_000

/**
 * Indexes the records of a file once for each key, so that batches know which records they replace. An uploaded id may
 * be as long as a record, and a file has any number of them: memory holds the hashes of one block or batch.
 */
async function indexRecords(writer: Writer, sealer: Sealer, file: FileState, form: FileForm): Promise<void> {
  const { version, chunks } = file
  if (chunks === 0) return
  const known = await writer.get('select version from file_record where version = $1 limit 1', [version])
  if (known !== undefined) return
  const { texts } = writer.dialect
  const add = async (hashes: readonly string[]) => {
    await writer.run(
      `insert into file_record (version, local_id, copies)
       select cast($1 as text), value, count(*) from ${texts('$2', 'read')} where true group by value
       on conflict (version, local_id) do update set copies = file_record.copies + excluded.copies`,
      [version, JSON.stringify(hashes)],
    )
    // SQLite inserts without giving others a turn.
    await takeTurn()
  }
  let hashes: string[] = []
  for await (const localId of readLocalIds(writer, sealer, file, form)) {
    hashes.push(hashLocalId(sealer, file, localId))
    if (hashes.length < INDEXED) continue
    await add(hashes)
    hashes = []
  }
  await add(hashes)
  for await (const { content } of readChunks(writer, sealer, file, 'batch')) {
    const stays = new Map<string, boolean>()
    for (const { localId, record } of parseOperations(content))
      stays.set(hashLocalId(sealer, file, localId), record !== undefined)
    await writer.run(
      `delete from file_record where version = $1 and local_id in (select value from ${texts('$2', 'changed')})`,
      [version, JSON.stringify([...stays.keys()])],
    )
    await add([...stays].flatMap(([hash, isLeft]) => (isLeft ? [hash] : [])))
  }
}

/** Equal for equal ids within a file, and readable only without encryption. */
function hashLocalId(sealer: Sealer, { version, sealed }: FileState, localId: string): string {
  return sealer.hash(sealed, localId, `record/${version}`)
}

async function count(writer: Writer, sealer: Sealer, file: FileState, operations: readonly Operation[]) {
  const { version } = file
  const names = JSON.stringify([
    ...new Set(operations.map(({ localId }) => hashLocalId(sealer, file, localId))),
  ])
  const named = `version = $1 and local_id in (select value from ${writer.dialect.texts('$2', 'wanted')})`
  const rows = await writer.all<{ name: string; copies: number }>(
    `select local_id as name, copies from file_record where ${named}`,
    [version, names],
  )
  const copies = new Map(rows.map(({ name, copies }) => [name, copies]))
  let { records } = file
  let changed = false
  const acknowledgements = operations.map(({ localId, record }): Acknowledgement => {
    const name = hashLocalId(sealer, file, localId)
    const known = copies.get(name) ?? 0
    if (record === undefined && known === 0) return { localId, errors: [UNKNOWN_RECORD] }
    changed = true
    const after = record === undefined ? 0 : 1
    records += after - known
    copies.set(name, after)
    return { localId, errors: [] }
  })
  await writer.run(`delete from file_record where ${named}`, [version, names])
  const left = [...copies].filter(([, count]) => count > 0)
  await writer.load(
    'file_record',
    ['version', 'local_id', 'copies'],
    left.map(([name, count]) => [version, name, count]),
  )
  return { acknowledgements, records, changed }
}

async function append(
  writer: Writer,
  sealer: Sealer,
  { token, operations }: Batch,
  { version, chunks, bytes, sealed }: FileState,
  records: number,
): Promise<void> {
  const content = Buffer.from(`${operations.map((each) => JSON.stringify(each)).join('\n')}\n`)
  const data = await packChunk(sealer.begin(sealed), version, chunks, content)
  await insertChunk(writer, { version, ordinal: chunks, kind: 'batch', data })
  await writer.run(
    `update file_version set chunks = chunks + 1, batches = batches + 1, records = $2, size = $3, received = $4
     where version = $1`,
    [version, records, bytes + content.length, Date.now()],
  )
  await writer.run('update submission set revision = revision + 1 where token = $1', [token])
}
