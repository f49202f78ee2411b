import { randomBytes } from 'node:crypto'
import type { Database, Value, Writer } from '../database/database.ts'
import type { Sealer } from '../database/seal.ts'
import { type FileForm, type Operation, readLocalIds } from './current-file.ts'
import { insertChunk, packChunk } from './file-store.ts'
import { Refusal } from './refusal.ts'
import { assertOpen, type FileState, listFiles, reread } from './submission.ts'
import { claimWriter } from './upload.ts'

export interface Batch {
  readonly token: string
  readonly eid: string
  readonly resource: string
  /** Records that are added or replaced, each with its `localId`. */
  readonly operations: readonly Operation[]
  readonly maxRecords: number
  readonly form: FileForm
}

/** What became of each record, in the order of the batch. */
export interface Acknowledgement {
  readonly localId: string
  readonly errors: readonly string[]
}

/**
 * Adds a batch of records to a file, or deletes records of it. A record replaces the earlier one with its `localId`; of
 * two in one batch the later one counts.
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
    // Fails while a file is uploaded; nothing else can begin before this transaction ends.
    await claimWriter(writer, batch, null, 0)
    const file =
      (await listFiles(writer, token)).find((each) => each.resource === resource) ??
      (await createFile(writer, sealer, batch))
    if (file.batches === 0 && file.chunks > 0) await indexRecords(writer, sealer, file, form)
    const { acknowledgements, records, changed } = await count(writer, sealer, file, operations)
    if (changed) await append(writer, sealer, batch, file, records)
    return acknowledgements
  })
}

/** A file that begins as a batch is NDJSON. */
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

/** Notes which records an uploaded file has, once, so that every batch after knows what it replaces. */
async function indexRecords(writer: Writer, sealer: Sealer, file: FileState, form: FileForm): Promise<void> {
  const copies = new Map<string, number>()
  for await (const localId of readLocalIds(writer, sealer, file, form)) {
    copies.set(localId, (copies.get(localId) ?? 0) + 1)
  }
  const rows = function* (): Generator<readonly Value[]> {
    for (const [localId, count] of copies) yield [file.version, blind(sealer, file, localId), count]
  }
  await writer.load('file_record', ['version', 'local_id', 'copies'], rows())
}

/** Equal for equal records of one file, and readable only where nothing is encrypted. */
function blind(sealer: Sealer, { version, sealed }: FileState, localId: string): string {
  return sealer.blind(sealed, localId, `record/${version}`)
}

async function count(writer: Writer, sealer: Sealer, file: FileState, operations: readonly Operation[]) {
  const { version } = file
  const names = JSON.stringify([...new Set(operations.map(({ localId }) => blind(sealer, file, localId)))])
  const named = `version = $1 and local_id in (select value from ${writer.dialect.texts('$2', 'wanted')})`
  const rows = await writer.all<{ name: string; copies: number }>(
    `select local_id as name, copies from file_record where ${named}`,
    [version, names],
  )
  const copies = new Map(rows.map(({ name, copies }) => [name, copies]))
  let { records } = file
  let changed = false
  const acknowledgements = operations.map(({ localId, record }): Acknowledgement => {
    const name = blind(sealer, file, localId)
    const known = copies.get(name) ?? 0
    if (record === undefined && known === 0)
      return { localId, errors: ['No record of this file has this localId.'] }
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
  { version, chunks, bytes }: FileState,
  records: number,
): Promise<void> {
  const content = Buffer.from(`${operations.map((each) => JSON.stringify(each)).join('\n')}\n`)
  const data = await packChunk(sealer.begin(), version, chunks, content)
  await insertChunk(writer, { version, ordinal: chunks, kind: 'batch', data })
  await writer.run(
    `update file_version set chunks = chunks + 1, batches = batches + 1, records = $2, size = $3, received = $4
     where version = $1`,
    [version, records, bytes + content.length, Date.now()],
  )
  await writer.run('update submission set revision = revision + 1 where token = $1', [token])
}
