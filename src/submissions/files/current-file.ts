import {
  CsvReader,
  type JsonRecord,
  PieceWriter,
  readAsArriving,
  toRecord,
} from '../../engines/records/index.ts'
import type { Reader } from '../../foundation/database/database.ts'
import type { Sealer } from '../../foundation/database/seal.ts'
import { UserError } from '../../foundation/faults/user-error.ts'
import type { FileForm } from '../rules/definitions.ts'
import { readChunks, type StoredFile } from './file-store.ts'
import type { Format } from './scan.ts'

/** A line of a batch: a record, or the deletion of one. */
export interface Operation {
  readonly localId: string
  readonly record?: JsonRecord
}

export interface CurrentFile extends StoredFile {
  readonly format: Format
  readonly batches: number
}

/** The names of the columns that a CSV file may have, by which its separator is found. */
export function knownColumns({ fields }: FileForm): readonly string[] {
  return fields.map(({ name }) => name)
}

/** The names in the header of a CSV file, which empty lines or the name of its separator may precede. */
export async function readHeader(
  content: AsyncIterable<Buffer>,
  known: readonly string[] = [],
): Promise<string[] | undefined> {
  for await (const reader of readAsArriving(content, (source) => new CsvReader(source, { known })))
    if (reader.next()) return reader.fault === undefined ? reader.cells.slice(0, reader.count) : undefined
  return undefined
}

/** Whether a file consists of the records of batches. Any other was uploaded. */
export function isBuilt({ batches }: Pick<CurrentFile, 'batches'>): boolean {
  return batches > 0
}

/**
 * Reads the current file: the uploaded one, byte for byte, or the records of the batches in the order of their last
 * change, as NDJSON.
 *
 * @throws {TooManyChanges}
 */
export function readCurrentFile(reader: Reader, sealer: Sealer, file: CurrentFile): AsyncGenerator<Buffer> {
  return isBuilt(file) ? readBuilt(reader, sealer, file) : readChunks(reader, sealer, file)
}

/** Bytes counted for each record besides its id, and the most for all. */
const CHANGE = 80
const MOST_CHANGES = 64 * 2 ** 20

/** The file has more records than fit in memory; the message is for the caller. */
export class TooManyChanges extends UserError {}

async function* readBuilt(reader: Reader, sealer: Sealer, file: StoredFile): AsyncGenerator<Buffer> {
  const last = await findLast(reader, sealer, file)
  const writer = new PieceWriter()
  let index = 0
  for await (const { localId, record } of readOperations(reader, sealer, file)) {
    if (last.get(localId) !== index++ || record === undefined) continue
    if (writer.add(`${JSON.stringify(record)}\n`)) yield writer.take()
  }
  yield* writer.end()
}

/** The number of the last operation for each `localId`. */
async function findLast(reader: Reader, sealer: Sealer, file: StoredFile): Promise<Map<string, number>> {
  const last = new Map<string, number>()
  let index = 0
  let held = 0
  for await (const { localId } of readOperations(reader, sealer, file)) {
    if (!last.has(localId)) held += CHANGE + 2 * localId.length
    if (held > MOST_CHANGES)
      throw new TooManyChanges('The file has too many records from batches. Upload it as a whole.')
    last.set(localId, index++)
  }
  return last
}

/** Reads the operations of all batches in order. */
async function* readOperations(reader: Reader, sealer: Sealer, file: StoredFile): AsyncGenerator<Operation> {
  for await (const content of readChunks(reader, sealer, file)) {
    for (let start = 0; start < content.length; ) {
      const end = content.indexOf(LF, start)
      const { localId, record } = JSON.parse(content.toString('utf8', start, end)) as Operation
      yield record === undefined ? { localId } : { localId, record: toRecord(record) }
      start = end + 1
    }
  }
}

const LF = 0x0a
