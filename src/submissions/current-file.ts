import type { Reader } from '../database/database.ts'
import type { Sealer } from '../database/seal.ts'
import { UserError } from '../text/user-error.ts'
import { CsvSplitter, readCells, renderCell } from './csv-records.ts'
import { readChunks, type StoredFile } from './file-store.ts'
import { Refusal } from './refusal.ts'
import type { Format } from './scan.ts'

/** A line of a batch: a record, or the deletion of one. */
export interface Operation {
  readonly localId: string
  readonly record?: Readonly<Record<string, unknown>>
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
}

/**
 * Reads the current file: the uploaded one without the records that batches replaced or deleted, then the records of
 * the batches in the order of their last change. Without batches, it is the uploaded file, byte for byte.
 */
export async function* readCurrentFile(
  reader: Reader,
  sealer: Sealer,
  file: CurrentFile,
  form: FileForm,
): AsyncGenerator<Buffer> {
  if (file.batches === 0) {
    for await (const { content } of readChunks(reader, sealer, file)) yield content
    return
  }
  let held = 0
  const hold = (bytes: number) => {
    if (held + bytes > MOST_CHANGES)
      throw new TooManyChanges(
        'Batches changed too many records of this file. Upload the file again as a whole.',
      )
    // One file is read in any case.
    if (changesInMemory + bytes > MOST_CHANGES && changesInMemory > held) throw new Refusal('busy', BUSY)
    held += bytes
    changesInMemory += bytes
  }
  try {
    yield* readMerged(reader, sealer, file, form, hold)
  } finally {
    changesInMemory -= held
  }
}

const BUSY = 'Too many files with batches are being read. Try again later.'

async function* readMerged(
  reader: Reader,
  sealer: Sealer,
  file: CurrentFile,
  form: FileForm,
  hold: (bytes: number) => void,
): AsyncGenerator<Buffer> {
  const changes = await readChanges(reader, sealer, file, hold)
  const merge = file.format === 'csv' ? new CsvMerge(changes, form) : new NdjsonMerge(changes, form)
  for await (const { content } of readChunks(reader, sealer, file, 'file')) yield* merge.base(content)
  yield* merge.endBase()
  let index = 0
  for await (const { content } of readChunks(reader, sealer, file, 'batch')) {
    const kept: string[] = []
    for (const { localId, record } of parseOperations(content)) {
      if (changes.last.get(localId) === index++ && record !== undefined) kept.push(merge.added(record))
    }
    if (kept.length > 0) yield Buffer.from(`${kept.join('\n')}\n`)
  }
}

/** The changes by batches, without the records themselves. */
interface Changes {
  /** The number of the last operation for each `localId`. */
  readonly last: ReadonlyMap<string, number>
  /** The names of all fields in the batches. */
  readonly names: ReadonlySet<string>
}

/** Bytes that the changes of a file may occupy, and those of all files that are read at once. */
const MOST_CHANGES = 64 * 2 ** 20

/** Bytes counted for each changed record besides its id. */
const CHANGE = 80

/** The most fields that batches may add to a CSV file: every record of it gets all of them. */
const MOST_NAMES = 2_000

let changesInMemory = 0

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
  for await (const { content } of readChunks(reader, sealer, file, 'batch')) {
    for (const { localId, record = {} } of parseOperations(content)) {
      if (!last.has(localId)) hold(CHANGE + 2 * localId.length)
      last.set(localId, index++)
      for (const name of Object.keys(record)) names.add(name)
      if (names.size > MOST_NAMES)
        throw new TooManyChanges(
          `Batches of this file have more than ${MOST_NAMES} fields. Upload the file again.`,
        )
    }
  }
  return { last, names }
}

export function* parseOperations(content: Buffer): Generator<Operation> {
  for (const line of content.toString('utf8').split('\n')) {
    if (line !== '') yield JSON.parse(line) as Operation
  }
}

interface Merge {
  base(content: Buffer): Generator<Buffer>
  endBase(): Generator<Buffer>
  /** Renders a record of a batch as a line. */
  added(record: Readonly<Record<string, unknown>>): string
}

class NdjsonMerge implements Merge {
  readonly #changes: Changes
  readonly #form: FileForm
  readonly #decoder = new TextDecoder()
  #rest = ''

  constructor(changes: Changes, form: FileForm) {
    this.#changes = changes
    this.#form = form
  }

  *base(content: Buffer): Generator<Buffer> {
    const lines = (this.#rest + this.#decoder.decode(content, { stream: true })).split('\n')
    this.#rest = lines.pop() ?? ''
    yield* this.#keep(lines)
  }

  *endBase(): Generator<Buffer> {
    yield* this.#keep([this.#rest])
  }

  added(record: Readonly<Record<string, unknown>>): string {
    return JSON.stringify(record)
  }

  *#keep(lines: readonly string[]): Generator<Buffer> {
    const kept = lines.filter((line) => {
      if (line.trim() === '') return false
      const localId = localIdOf(JSON.parse(line) as Record<string, unknown>, this.#form)
      return localId === undefined || !this.#changes.last.has(localId)
    })
    if (kept.length > 0) yield Buffer.from(`${kept.join('\n')}\n`)
  }
}

/** The `localId` of an uploaded record, in the same form as in batches. */
function localIdOf(
  record: Readonly<Record<string, unknown>>,
  { localId: field }: FileForm,
): string | undefined {
  const localId = record[field]
  if (typeof localId === 'number') return String(localId)
  return typeof localId === 'string' && localId !== '' ? localId : undefined
}

class CsvMerge implements Merge {
  readonly #changes: Changes
  readonly #form: FileForm
  readonly #delimiters: ReadonlyMap<string, string>
  readonly #splitter = new CsvSplitter()
  #columns: string[] | undefined
  /** Separators appended to uploaded records if batches have further columns. */
  #padding = ''
  #localId = -1

  constructor(changes: Changes, form: FileForm) {
    this.#changes = changes
    this.#form = form
    this.#delimiters = new Map(form.fields.map(({ name, delimiter }) => [name, delimiter]))
  }

  *base(content: Buffer): Generator<Buffer> {
    yield* this.#keep(this.#splitter.push(content))
  }

  *endBase(): Generator<Buffer> {
    yield* this.#keep(this.#splitter.end())
  }

  added(record: Readonly<Record<string, unknown>>): string {
    const { separator } = this.#splitter
    return (this.#columns ?? [])
      .map((name) => renderCell(toCell(record[name], this.#delimiters.get(name) ?? ';'), separator))
      .join(separator)
  }

  *#keep(records: Iterable<string>): Generator<Buffer> {
    let kept = ''
    for (const record of records) {
      if (this.#columns === undefined) kept += `${this.#readHeader(record)}\n`
      else if (!this.#isChanged(record)) kept += `${record}${this.#padding}\n`
    }
    if (kept !== '') yield Buffer.from(kept, 'latin1')
  }

  #readHeader(record: string): string {
    const { separator } = this.#splitter
    const names = (readCells(record, separator) ?? []).map((name) => name.trim())
    const added = [...this.#changes.names].filter((name) => !names.includes(name))
    this.#localId = names.indexOf(this.#form.localId)
    this.#columns = [...names, ...added]
    this.#padding = separator.repeat(added.length)
    const cells = added.map((name) => separator + Buffer.from(renderCell(name, separator)).toString('latin1'))
    return record + cells.join('')
  }

  #isChanged(record: string): boolean {
    if (this.#localId < 0) return false
    const localId = readCells(record, this.#splitter.separator)?.[this.#localId]
    return localId !== undefined && localId !== '' && this.#changes.last.has(localId)
  }
}

/** Converts a JSON value to text as the check engine does: to the cell of a CSV file. */
export function toCell(value: unknown, delimiter: string): string {
  if (typeof value === 'string') return value
  if (value === null || value === undefined) return ''
  if (Array.isArray(value)) return value.map((item) => toCell(item, delimiter)).join(delimiter)
  return typeof value === 'object' ? JSON.stringify(value) : String(value)
}

/** Yields the `localId` of each record of an uploaded file that has one. */
export async function* readLocalIds(
  reader: Reader,
  sealer: Sealer,
  file: CurrentFile,
  form: FileForm,
): AsyncGenerator<string> {
  const splitter = new CsvSplitter()
  let column: number | undefined
  let rest = ''
  const decoder = new TextDecoder()
  function* ofCsv(records: Iterable<string>): Generator<string> {
    for (const record of records) {
      const cells = readCells(record, splitter.separator)
      if (column === undefined) column = cells?.map((name) => name.trim()).indexOf(form.localId) ?? -1
      else if (cells?.[column]) yield cells[column] ?? ''
    }
  }
  function* ofNdjson(lines: readonly string[]): Generator<string> {
    for (const line of lines) {
      const localId =
        line.trim() === '' ? undefined : localIdOf(JSON.parse(line) as Record<string, unknown>, form)
      if (localId !== undefined) yield localId
    }
  }
  for await (const { content } of readChunks(reader, sealer, file, 'file')) {
    if (file.format === 'csv') yield* ofCsv(splitter.push(content))
    else {
      const lines = (rest + decoder.decode(content, { stream: true })).split('\n')
      rest = lines.pop() ?? ''
      yield* ofNdjson(lines)
    }
  }
  if (file.format === 'csv') yield* ofCsv(splitter.end())
  else yield* ofNdjson([rest])
}
