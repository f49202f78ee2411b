import { createHash } from 'node:crypto'
import { existsSync, readdirSync, rmdirSync } from 'node:fs'
import { open, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type Definition, nameColumns } from '../../engines/checking/index.ts'
import { CsvReader, PieceWriter, readInTurns, renderRecord } from '../../engines/records/index.ts'
import type { Database, Reader } from '../../foundation/database/database.ts'
import type { Sealer } from '../../foundation/database/seal.ts'
import { fail, UserError } from '../../foundation/faults/user-error.ts'
import { makeFolder } from '../../foundation/make-folder.ts'
import { formatTimestamp } from '../../foundation/text/timestamp.ts'
import { readReceipt } from '../explanations/receipt.ts'
import { ndjsonToCsv } from '../files/convert.ts'
import { type FileForm, knownColumns, readCurrentFile } from '../files/current-file.ts'
import { type Definitions, formOf } from '../rules/definitions.ts'
import { type FileState, listFiles } from '../submission.ts'
import { describePackage, type Merged } from './describe-package.ts'

interface ExportOptions {
  readonly returnId: string
  /** A folder that does not exist yet, or is empty. */
  readonly output: string
  readonly definitions: Definitions
  readonly sealer: Sealer
  readonly onFile?: (file: string, organisations: number) => void
}

/** A submitted submission, and what its receipt says. */
interface Submitted {
  readonly eid: string
  readonly token: string
  readonly definition: string
  readonly time: number
  readonly files: readonly FileState[]
  /** The number of its receipt; absent if it was submitted before there were receipts. */
  readonly receipt?: number
  readonly digests: ReadonlyMap<string, string>
}

interface MergedFile extends Merged {
  readonly records: number
  readonly sha256: string
}

interface Exported {
  readonly returnId: string
  readonly organisations: number
  readonly files: readonly { readonly path: string; readonly records: number; readonly sha256: string }[]
}

/**
 * Writes the submitted files of all organisations as one CSV file for each kind, with the organisation as the first
 * column, and a Data Package that describes them. All of it is of one moment, whatever is submitted meanwhile. Each
 * file that is read must have the digest that its receipt states.
 *
 * @throws {UserError} and leaves nothing behind
 */
export async function exportReturn(database: Database, options: ExportOptions): Promise<Exported> {
  const { returnId, output } = options
  if (existsSync(output) && readdirSync(output).length > 0)
    fail({ field: '--output', message: 'names a folder that has files. Name a new one' })
  const folder = `${output}.partial-${process.pid}`
  makeFolder(folder, 0o700)
  try {
    const exported = await database.snapshot((reader) => writeAll(reader, folder, options))
    if (existsSync(output)) rmdirSync(output)
    await rename(folder, output)
    return { returnId, ...exported }
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

async function writeAll(
  reader: Reader,
  folder: string,
  { returnId, definitions, sealer, onFile }: ExportOptions,
): Promise<Omit<Exported, 'returnId'>> {
  const submitted = await listSubmitted(reader, returnId, sealer)
  const [first] = submitted
  if (first === undefined) throw new UserError(`nobody has submitted the return ${returnId} yet`)
  const definition = definitions.get(first.definition)
  const other = submitted.find((each) => each.definition !== first.definition)
  if (other !== undefined)
    throw new UserError(
      `organisation ${other.eid} submitted it for the definition ${other.definition}, and ${first.eid} for ${first.definition}`,
    )
  const files: MergedFile[] = []
  for (const resource of definition.resources) {
    const sources = submitted.flatMap((each) =>
      each.files.filter((file) => file.resource === resource.name).map((file) => ({ submitted: each, file })),
    )
    if (sources.length === 0) continue
    onFile?.(resource.name, sources.length)
    const form = formOf(resource)
    const merge = new Merge(reader, sealer, form)
    const path = `${resource.name}.csv`
    files.push({ path, resource, ...(await merge.write(join(folder, path), sources)) })
  }
  await describe(folder, returnId, definition, submitted, files)
  return {
    organisations: submitted.length,
    files: files.map(({ path, records, sha256 }) => ({ path, records, sha256 })),
  }
}

/** The last submitted submission of each organisation, by EID. */
async function listSubmitted(reader: Reader, returnId: string, sealer: Sealer): Promise<Submitted[]> {
  const rows = await reader.all<{ token: string; eid: string; definition: string; time: number }>(
    `select token, eid, definition, ended_at as time from submission
     where return_id = $1 and ended = 'Submitted' and created is not null order by eid, ended_at desc, token`,
    [returnId],
  )
  const submitted: Submitted[] = []
  for (const row of rows) {
    if (submitted.at(-1)?.eid === row.eid) continue
    const receipt = await readReceipt(reader, row.token, sealer)
    const digests = new Map((receipt?.files ?? []).map(({ file = '', sha256 = '' }) => [file, sha256]))
    const files = await listFiles(reader, row.token)
    const missing = [...digests.keys()].find((file) => !files.some(({ resource }) => resource === file))
    if (missing !== undefined)
      throw new UserError(
        `the file ${missing} of organisation ${row.eid} is no longer stored: RETENTION_FILES_DAYS has passed`,
      )
    submitted.push({
      ...row,
      files,
      digests,
      ...(receipt?.receipt !== undefined && { receipt: receipt.receipt }),
    })
  }
  return submitted
}

interface Source {
  readonly submitted: Submitted
  readonly file: FileState
}

/** Merges the files of one kind. */
class Merge {
  readonly #reader: Reader
  readonly #sealer: Sealer
  readonly #form: FileForm
  #records = 0

  constructor(reader: Reader, sealer: Sealer, form: FileForm) {
    this.#reader = reader
    this.#sealer = sealer
    this.#form = form
  }

  async write(path: string, sources: readonly Source[]): Promise<Omit<MergedFile, 'path' | 'resource'>> {
    const found: string[][] = []
    for (const source of sources) found.push(await this.#readHeader(source))
    const columns = this.#orderColumns(found.flat())
    const organisation = ['EID', 'organisationEid'].find((name) => !columns.includes(name)) ?? 'mahiEid'
    const digest = createHash('sha256')
    const file = await open(path, 'wx', 0o600)
    try {
      for await (const piece of this.#merge(sources, found, organisation, columns)) {
        digest.update(piece)
        await file.writeFile(piece)
      }
      await file.sync()
    } finally {
      await file.close()
    }
    const submitted = new Map(sources.map(({ submitted: { eid } }, at) => [eid, found[at] ?? []]))
    const records = this.#records
    return { columns: [organisation, ...columns], submitted, records, sha256: digest.digest('hex') }
  }

  /** @param found the columns of each source */
  async *#merge(
    sources: readonly Source[],
    found: readonly (readonly string[])[],
    organisation: string,
    columns: readonly string[],
  ): AsyncGenerator<Buffer> {
    const writer = new PieceWriter()
    writer.add(`${renderRecord([organisation, ...columns])}\n`)
    for (const [at, source] of sources.entries()) yield* this.#copy(source, found[at] ?? [], columns, writer)
    yield* writer.end()
  }

  /** The fields of the definition that occur, in their order, then all others. */
  #orderColumns(found: readonly string[]): string[] {
    const names = new Set(found)
    const known = this.#form.fields.map(({ name }) => name).filter((name) => names.has(name))
    return [...new Set([...known, ...found])]
  }

  #open({ file }: Source): AsyncGenerator<Buffer> {
    const stored = () => readCurrentFile(this.#reader, this.#sealer, file)
    return file.format === 'csv' ? stored() : ndjsonToCsv(stored, this.#form)
  }

  async #readHeader(source: Source): Promise<string[]> {
    const known = knownColumns(this.#form)
    for await (const reader of readInTurns(this.#open(source), (from) => new CsvReader(from, { known })))
      if (reader.next()) return nameColumns(this.#form.fields, reader.cells.slice(0, reader.count))
    return []
  }

  async *#copy(
    source: Source,
    own: readonly string[],
    columns: readonly string[],
    writer: PieceWriter,
  ): AsyncGenerator<Buffer> {
    await this.#assertDigest(source)
    const known = knownColumns(this.#form)
    const start = `${renderRecord([source.submitted.eid])},`
    const places = columns.map((name) => own.indexOf(name))
    const isAlike = own.length === columns.length && places.every((place, at) => place === at)
    let isHeader = true
    for await (const reader of readInTurns(this.#open(source), (from) => new CsvReader(from, { known }))) {
      while (reader.next()) {
        const { cells, count, separator } = reader
        if (isHeader) {
          isHeader = false
          continue
        }
        this.#records++
        writer.add(start)
        // The record as it was submitted, byte for byte.
        if (isAlike && separator === ',') writer.add(reader.bytes)
        else
          writer.add(
            renderRecord(places.map((place) => (place < 0 || place >= count ? '' : (cells[place] ?? '')))),
          )
        if (writer.add('\n')) yield await writer.take()
      }
    }
  }

  /** @throws {UserError} unless the file is the one that was submitted */
  async #assertDigest({ submitted: { eid, digests }, file }: Source): Promise<void> {
    const expected = digests.get(file.resource)
    if (expected === undefined) return
    const digest = createHash('sha256')
    for await (const piece of readCurrentFile(this.#reader, this.#sealer, file)) digest.update(piece)
    if (digest.digest('hex') === expected) return
    throw new UserError(`the file ${file.resource} of organisation ${eid} is not the one of its receipt`)
  }
}

async function describe(
  folder: string,
  returnId: string,
  definition: Definition,
  submitted: readonly Submitted[],
  files: readonly MergedFile[],
): Promise<void> {
  const write = (name: string, value: object) =>
    writeFile(join(folder, name), `${JSON.stringify(value, null, 2)}\n`, {
      mode: 0o600,
      flag: 'wx',
      flush: true,
    })
  await write('datapackage.json', describePackage(returnId, definition, files))
  await write('submitted.json', {
    returnId,
    definition: { name: definition.name, version: definition.version },
    files: files.map(({ path, records, sha256 }) => ({ path, records, sha256 })),
    organisations: submitted.map(({ eid, time, receipt, files, digests }) => ({
      eid,
      dateSubmitted: formatTimestamp(time),
      ...(receipt !== undefined && { receipt }),
      files: files.map(({ resource, records, sha256 }) => ({
        file: resource,
        records,
        sha256: digests.get(resource) ?? sha256,
      })),
    })),
  })
}
