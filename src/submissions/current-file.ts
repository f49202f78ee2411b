import type { Reader } from '../database/database.ts'
import type { Sealer } from '../database/seal.ts'
import { CsvSplitter, readCells, renderCell } from './csv-records.ts'
import { readChunks, type StoredFile } from './file-store.ts'
import type { Format } from './scan.ts'

/** One line of a batch: a record, or the deletion of one. */
export interface Operation {
  readonly localId: string
  readonly record?: Readonly<Record<string, unknown>>
}

export interface CurrentFile extends StoredFile {
  readonly format: Format
  readonly batches: number
}

/** What the definition says of a file's form. */
export interface FileForm {
  /** The field by which batches name a record. */
  readonly localId: string
  /** The fields, in the order of their columns. */
  readonly fields: readonly { readonly name: string; readonly delimiter: string }[]
}

/**
 * The file as it is now: the uploaded one, without the records that batches replaced or deleted, then those that they
 * added, in the order of the last change of each. Without batches it is what was uploaded, byte for byte.
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
  const changes = await readChanges(reader, sealer, file)
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

/** What batches did to each record, without the records themselves. */
interface Changes {
  /** For each `localId` the number of the last operation. */
  readonly last: ReadonlyMap<string, number>
  /** Names of the fields that the batches use. */
  readonly names: ReadonlySet<string>
}

async function readChanges(reader: Reader, sealer: Sealer, file: StoredFile): Promise<Changes> {
  const last = new Map<string, number>()
  const names = new Set<string>()
  let index = 0
  for await (const { content } of readChunks(reader, sealer, file, 'batch')) {
    for (const { localId, record = {} } of parseOperations(content)) {
      last.set(localId, index++)
      for (const name of Object.keys(record)) names.add(name)
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
  /** The line of a record that a batch added. */
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

/** The `localId` of an uploaded record, in the form in which batches name it. */
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
  /** Separators that fill up the uploaded records where batches have further columns. */
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

/** A JSON value as the check engine reads it: the text that a CSV file would have. */
export function toCell(value: unknown, delimiter: string): string {
  if (typeof value === 'string') return value
  if (value === null || value === undefined) return ''
  if (Array.isArray(value)) return value.map((item) => toCell(item, delimiter)).join(delimiter)
  return typeof value === 'object' ? JSON.stringify(value) : String(value)
}

/** The `localId` of each record of an uploaded file, where it has one. */
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
