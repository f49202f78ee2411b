import { type Actor, SERVICE } from '../../api/access/principal.ts'
import { Problem } from '../../api/request/problems.ts'
import type { Database } from '../../foundation/database/database.ts'
import type { Sealer } from '../../foundation/database/seal.ts'
import { formatNumber } from '../../foundation/text/format-number.ts'
import { TimedTurns } from '../../foundation/timed-turns.ts'
import { recordSimilar } from '../submission/activity.ts'
import { MAX_BATCH_RECORDS } from '../submission/contract.ts'
import type { SubmissionName, SubmissionWriter } from '../submission/lock.ts'
import { assertOpen, type FileState, listFiles, withSubmission } from '../submission/submission.ts'
import { isBuilt, type Operation } from './current-file.ts'
import { assertAllRead } from './file-job.ts'
import { insertChunk, insertVersion, packChunk, useVersion } from './file-store.ts'
import { noteChange } from './undo.ts'

export interface Batch extends SubmissionName {
  readonly resource: string
  /** Records to add or replace, each with its `localId`. */
  readonly operations: readonly Operation[]
  readonly actor?: Actor
}

/** The result for each record, in the order of the batch. */
export interface Acknowledgement {
  readonly localId: string
  readonly errors: string[]
}

const UNKNOWN_RECORD = 'No record of this file has this localId.'

/**
 * Adds, replaces or deletes records of a file. A record replaces an earlier one with the same `localId`; within a
 * batch, the last one applies.
 *
 * @throws {Problem}
 */
export async function applyBatch(
  database: Database,
  sealer: Sealer,
  batch: Batch,
): Promise<Acknowledgement[]> {
  const { operations } = batch
  if (operations.length > MAX_BATCH_RECORDS) {
    throw new Problem(
      'invalid-body',
      `The batch has ${formatNumber(operations.length)} records; at most ${formatNumber(MAX_BATCH_RECORDS)} are allowed.`,
      { members: { errorCode: 'MP1' } },
    )
  }
  const content = await renderOperations(operations)
  return await withSubmission(database, batch, async (writer, submission) => {
    assertOpen(submission)
    await assertAllRead(writer, batch.token)
    const known = submission.files.find((each) => each.resource === batch.resource)
    if (known !== undefined && !isBuilt(known))
      throw new Problem(
        'conflict',
        'The file was uploaded, so its records cannot be changed one by one. Upload it again as a whole.',
      )
    if (known === undefined && operations.every(({ record }) => record === undefined))
      return operations.map(({ localId }) => ({ localId, errors: [UNKNOWN_RECORD] }))
    const file = known ?? (await createFile(writer, sealer, batch))
    const { acknowledgements, records, changed } = await count(writer, sealer, file, operations)
    if (changed) {
      await append(writer, sealer, file, { content, records })
      await noteChange(writer, batch.token)
      const { token, actor = SERVICE, resource } = batch
      await recordSimilar(writer, { token, event: 'RecordsChanged', actor, file: resource })
    }
    return acknowledgements
  })
}

/** A file created by a batch is NDJSON. */
async function createFile(
  writer: SubmissionWriter,
  sealer: Sealer,
  { token, resource }: Batch,
): Promise<FileState> {
  const version = await insertVersion(writer, sealer, token, { resource, format: 'ndjson' })
  await useVersion(writer, { token, resource, version })
  const file = (await listFiles(writer, token)).find((each) => each.version === version)
  if (file === undefined) throw new Error('the file that was just stored is missing')
  return file
}

/** Renders the operations as they are stored, and lets others have turns. */
async function renderOperations(operations: readonly Operation[]): Promise<Buffer> {
  const turns = new TimedTurns()
  const lines: Buffer[] = []
  for (const operation of operations) {
    lines.push(Buffer.from(`${JSON.stringify(operation)}\n`))
    if (turns.isOver) await turns.take()
  }
  return Buffer.concat(lines)
}

async function count(
  writer: SubmissionWriter,
  sealer: Sealer,
  file: FileState,
  operations: readonly Operation[],
) {
  const { version } = file
  const turns = new TimedTurns()
  const hashes = new Map<string, string>()
  for (const { localId } of operations) {
    if (!hashes.has(localId)) hashes.set(localId, hashLocalId(sealer, file, localId))
    if (turns.isOver) await turns.take()
  }
  const names = JSON.stringify([...new Set(hashes.values())])
  const named = `version = $1 and local_id in (select value from ${writer.dialect.texts('$2', 'wanted')})`
  const rows = await writer.all<{ name: string }>(`select local_id as name from file_record where ${named}`, [
    version,
    names,
  ])
  const known = new Set(rows.map(({ name }) => name))
  let { records } = file
  let changed = false
  const acknowledgements = operations.map(({ localId, record }): Acknowledgement => {
    const name = hashes.get(localId) ?? ''
    const isKnown = known.has(name)
    if (record === undefined && !isKnown) return { localId, errors: [UNKNOWN_RECORD] }
    changed = true
    if (record === undefined) known.delete(name)
    else known.add(name)
    records += Number(known.has(name)) - Number(isKnown)
    return { localId, errors: [] }
  })
  await writer.run(`delete from file_record where ${named}`, [version, names])
  await writer.load(
    'file_record',
    ['version', 'local_id'],
    [...known].map((name) => [version, name]),
  )
  return { acknowledgements, records, changed }
}

async function append(
  writer: SubmissionWriter,
  sealer: Sealer,
  { version, chunks, bytes, sealed }: FileState,
  { content, records }: { content: Buffer; records: number },
): Promise<void> {
  const data = await packChunk(sealer.begin(sealed), version, chunks, content)
  await insertChunk(writer, { version, ordinal: chunks, data })
  await writer.run(
    `update file_version set chunks = chunks + 1, batches = batches + 1, records = $2, size = $3, received = $4
     where version = $1`,
    [version, records, bytes + content.length, Date.now()],
  )
}

/** Equal for equal ids within a file, and readable only without encryption. */
function hashLocalId(sealer: Sealer, { version, sealed }: FileState, localId: string): string {
  return sealer.hash(sealed, localId, `record/${version}`)
}
