import { nameColumns } from '../../engines/checking/index.ts'
import {
  CsvReader,
  type JsonRecord,
  LineReader,
  PieceWriter,
  parseRecord,
  readInTurns,
  renderRecord,
  Turns,
  toCell,
  toRecord,
} from '../../engines/records/index.ts'
import type { Reader } from '../../foundation/database/database.ts'
import type { Sealer } from '../../foundation/database/seal.ts'
import { UserError } from '../../foundation/faults/user-error.ts'
import { type Slot, Slots } from '../../foundation/slots.ts'
import { formatNumber } from '../../foundation/text/format-number.ts'
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

/** The properties of a file that its definition specifies. */
export interface FileForm {
  /** The field with the `localId` of a record. */
  readonly localId: string
  /** The fields in column order. */
  readonly fields: readonly { readonly name: string; readonly delimiter: string }[]
  /** Whether the definition says how its lines end: another end is no fault to repair then. */
  readonly hasOwnDialect?: boolean
  /** The encoding in which it arrives, by its definition, unless that is UTF-8. */
  readonly encoding?: string
}

/** The names of the columns that a CSV file may have, by which its separator is found. */
export function knownColumns({ fields }: FileForm): readonly string[] {
  return fields.map(({ name }) => name)
}

/** Bytes that the changes by batches to a file may occupy while it is read, and those to all files together. */
const MOST_BATCH_CHANGES = 64 * 2 ** 20

/** One file is read in any case, whatever its caller: so there is no share. */
export function createChangeSlots(): Slots {
  return new Slots({
    capacity: MOST_BATCH_CHANGES,
    detail: 'Too many files with batches are being read. Try again later.',
    retryAfter: 30,
  })
}

/**
 * Reads the current file: the uploaded one without the records that batches replaced or deleted, then the records of
 * the batches in the order of their last change. Without batches, it is the uploaded file, byte for byte.
 *
 * @param takeMemory takes the memory of the changes, which holds nothing yet
 * @throws {Exhausted} if other files hold too much of it
 */
export async function* readCurrentFile(
  reader: Reader,
  sealer: Sealer,
  file: CurrentFile,
  form: FileForm,
  takeMemory: () => Slot,
): AsyncGenerator<Buffer> {
  if (file.batches === 0) {
    for await (const { content } of readChunks(reader, sealer, file)) yield content
    return
  }
  const memory = takeMemory()
  const hold = (bytes: number) => {
    if (memory.amount + bytes > MOST_BATCH_CHANGES)
      throw new TooManyChanges(
        'Batches changed too many records of this file. Upload the file again as a whole.',
      )
    memory.add(bytes)
  }
  try {
    for await (const chunk of readMerged(reader, sealer, file, form, hold)) {
      yield chunk
    }
  } finally {
    memory.release()
  }
}

async function* readMerged(
  reader: Reader,
  sealer: Sealer,
  file: CurrentFile,
  form: FileForm,
  hold: (bytes: number) => void,
): AsyncGenerator<Buffer> {
  const changes = await readChanges(reader, sealer, file, hold)
  const merge = file.format === 'csv' ? new CsvMerge(changes, form) : new NdjsonMerge(changes, form)
  const writer = new PieceWriter()
  for await (const lines of merge.read(contentOf(reader, sealer, file))) {
    for (const line of lines) {
      writer.add(line)
      if (writer.add('\n')) yield await writer.take()
    }
  }
  let index = 0
  for await (const { localId, record } of readOperations(reader, sealer, file)) {
    if (changes.last.get(localId) !== index++ || record === undefined) continue
    if (writer.add(`${merge.added(record)}\n`)) yield await writer.take()
  }
  yield* writer.end()
}

/** The uploaded file, without batches. */
async function* contentOf(reader: Reader, sealer: Sealer, file: StoredFile): AsyncGenerator<Buffer> {
  for await (const { content } of readChunks(reader, sealer, file, 'file')) yield content
}

/** The changes by batches, without the records themselves. */
interface Changes {
  /** The number of the last operation for each `localId`. */
  readonly last: ReadonlyMap<string, number>
  /** The names of all fields in the batches. */
  readonly names: ReadonlySet<string>
}

/** Bytes counted for each changed record besides its id. */
const CHANGE = 80

/** The most fields that batches may add to a CSV file: every record of it gets all of them. */
const MOST_NAMES = 2_000

/** Batches changed more records than fit in memory; the message is for the caller. */
export class TooManyChanges extends UserError {}

/** @throws {TooManyChanges} */
async function readChanges(
  reader: Reader,
  sealer: Sealer,
  file: StoredFile,
  hold: (bytes: number) => void,
): Promise<Changes> {
  const last = new Map<string, number>()
  const names = new Set<string>()
  let index = 0
  for await (const { localId, record = {} } of readOperations(reader, sealer, file)) {
    if (!last.has(localId)) hold(CHANGE + 2 * localId.length)
    last.set(localId, index++)
    for (const name of Object.keys(record)) names.add(name)
    if (names.size > MOST_NAMES)
      throw new TooManyChanges(
        `Batches of this file have more than ${formatNumber(MOST_NAMES)} fields. Upload the file again.`,
      )
  }
  return { last, names }
}

/** Reads the operations of all batches in order, and lets others have turns. */
async function* readOperations(reader: Reader, sealer: Sealer, file: StoredFile): AsyncGenerator<Operation> {
  const turns = new Turns()
  for await (const { content } of readChunks(reader, sealer, file, 'batch')) {
    for (const { operation, bytes } of parseOperations(content)) {
      yield operation
      await turns.spend(bytes)
    }
  }
}

/** Parses the operations of a batch: a JSON object on each line, which ends with LF. */
export function* parseOperations(content: Buffer): Generator<{ operation: Operation; bytes: number }> {
  for (let start = 0; start < content.length; ) {
    const end = content.indexOf(LF, start)
    const { localId, record } = JSON.parse(content.toString('utf8', start, end)) as Operation
    const operation = record === undefined ? { localId } : { localId, record: toRecord(record) }
    yield { operation, bytes: end + 1 - start }
    start = end + 1
  }
}

const LF = 0x0a

/** A line without its end: bytes as they were uploaded, which need not be UTF-8, or text. Valid until the next one. */
type Line = Buffer | string

interface Merge {
  /** The lines of an uploaded file that batches did not replace or delete, whenever some have been read. */
  read(content: AsyncIterable<Buffer>): AsyncGenerator<Iterable<Line>>
  /** Renders a record of a batch as a line. */
  added(record: JsonRecord): string
}

class NdjsonMerge implements Merge {
  readonly #changes: Changes
  readonly #form: FileForm

  constructor(changes: Changes, form: FileForm) {
    this.#changes = changes
    this.#form = form
  }

  async *read(content: AsyncIterable<Buffer>): AsyncGenerator<Iterable<Line>> {
    for await (const lines of readInTurns(content, (source) => new LineReader(source)))
      yield this.#keep(lines)
  }

  added(record: JsonRecord): string {
    return JSON.stringify(record)
  }

  *#keep(lines: LineReader): Generator<Line> {
    while (lines.next()) {
      const line = lines.bytes ?? lines.start ?? ''
      const text = line.toString()
      if (text.trim() === '') continue
      // A line that is too long, like one that is no object, has no id: it stays, and remains a finding.
      const localId = lines.bytes && localIdOf(text, this.#form)
      if (localId === undefined || !this.#changes.last.has(localId)) yield line
    }
  }
}

/** The `localId` of an uploaded record, in the same form as in batches. */
function localIdOf(text: string, { localId: field }: FileForm): string | undefined {
  const localId = parseRecord(text).record?.[field]
  if (typeof localId === 'number') return String(localId)
  return typeof localId === 'string' && localId !== '' ? localId : undefined
}

class CsvMerge implements Merge {
  readonly #changes: Changes
  readonly #form: FileForm
  readonly #delimiters: ReadonlyMap<string, string>
  #separator = ','
  #columns: string[] | undefined
  /** Separators appended to uploaded records if batches have further columns. */
  #padding = ''
  #localId = -1

  constructor(changes: Changes, form: FileForm) {
    this.#changes = changes
    this.#form = form
    this.#delimiters = new Map(form.fields.map(({ name, delimiter }) => [name, delimiter]))
  }

  async *read(content: AsyncIterable<Buffer>): AsyncGenerator<Iterable<Line>> {
    const known = knownColumns(this.#form)
    for await (const reader of readInTurns(content, (source) => new CsvReader(source, { known })))
      yield this.#keep(reader)
  }

  added(record: JsonRecord): string {
    const cells = (this.#columns ?? []).map((name) => toCell(record[name], this.#delimiters.get(name) ?? ';'))
    return renderRecord(cells, this.#separator)
  }

  *#keep(reader: CsvReader): Generator<Line> {
    while (reader.next()) {
      if (this.#columns === undefined) yield this.#readHeader(reader)
      else if (!this.#isChanged(reader)) yield appendText(reader.bytes, this.#padding)
    }
  }

  #readHeader(reader: CsvReader): Line {
    this.#separator = reader.separator
    const names = nameColumns(this.#form.fields, reader.cells.slice(0, reader.count))
    const known = new Set(names)
    const added = [...this.#changes.names].filter((name) => !known.has(name))
    this.#localId = names.indexOf(this.#form.localId)
    this.#columns = [...names, ...added]
    this.#padding = this.#separator.repeat(added.length)
    const more = added.length === 0 ? '' : `${this.#separator}${renderRecord(added, this.#separator)}`
    return appendText(reader.bytes, more)
  }

  #isChanged({ cells, count }: CsvReader): boolean {
    const localId = this.#localId < count ? cells[this.#localId] : undefined
    return localId !== undefined && localId !== '' && this.#changes.last.has(localId)
  }
}

function appendText(bytes: Buffer, text: string): Buffer {
  return text === '' ? bytes : Buffer.concat([bytes, Buffer.from(text)])
}

/** Yields the `localId` of each record of an uploaded file that has one, whenever some have been read. */
export function readLocalIds(
  reader: Reader,
  sealer: Sealer,
  file: CurrentFile,
  form: FileForm,
): AsyncGenerator<Iterable<string>> {
  const content = contentOf(reader, sealer, file)
  return file.format === 'csv' ? readCsvIds(content, form) : readNdjsonIds(content, form)
}

async function* readCsvIds(content: AsyncIterable<Buffer>, form: FileForm): AsyncGenerator<Iterable<string>> {
  const known = knownColumns(form)
  let column: number | undefined
  function* idsOf(reader: CsvReader): Generator<string> {
    while (reader.next()) {
      const { cells, count } = reader
      if (column === undefined) column = nameColumns(form.fields, cells.slice(0, count)).indexOf(form.localId)
      else if (column < count && cells[column]) yield cells[column] ?? ''
    }
  }
  for await (const reader of readInTurns(content, (source) => new CsvReader(source, { known })))
    yield idsOf(reader)
}

async function* readNdjsonIds(
  content: AsyncIterable<Buffer>,
  form: FileForm,
): AsyncGenerator<Iterable<string>> {
  function* idsOf(lines: LineReader): Generator<string> {
    while (lines.next()) {
      const localId = localIdOf(lines.bytes?.toString('utf8') ?? '', form)
      if (localId !== undefined) yield localId
    }
  }
  for await (const lines of readInTurns(content, (source) => new LineReader(source))) yield idsOf(lines)
}
