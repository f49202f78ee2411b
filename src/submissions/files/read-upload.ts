import { closeSync, openSync, readdirSync, readSync, renameSync } from 'node:fs'
import { join } from 'node:path'
import { Problem } from '../../api/request/problems.ts'
import {
  Containers,
  type Definition,
  describeTwo,
  EMPTY_NOTE,
  isDiskFull,
  judgeFirstLine,
  MARK_PREFIX,
  selectFiles,
} from '../../engines/checking/index.ts'
import {
  CsvReader,
  EncodingLook,
  findFormat,
  isWorkbook,
  PieceWriter,
  readAsArriving,
  renderRecord,
} from '../../engines/records/index.ts'
import { type Fault, fail, UserError } from '../../foundation/faults/user-error.ts'
import { type FileForm, formOf } from '../rules/definitions.ts'
import { type Refusal, toRefusal } from '../submission/refusal.ts'
import { csvToNdjson, ndjsonToCsv } from './convert.ts'
import { knownColumns, readHeader } from './current-file.ts'
import { CR_NOTE, decode, decodeWide, describeEncoding, describeLoss, unpack } from './decode.ts'
import { readFile, writeNew } from './disk-file.ts'
import { type Format, refuseFormat, Scanner } from './scan.ts'

/** What a child process does with files on disk. It writes into their folder, which only this work uses. */
export type FileOrder = ReadOrder | ConvertOrder

/** Reads an upload as `mahi check` reads its files. */
interface ReadOrder {
  readonly kind: 'read'
  readonly folder: string
  readonly path: string
  readonly definition: Definition
  /** The only file that it must contain, whatever its name. */
  readonly only: string | undefined
  readonly format: Format
  readonly gzip: boolean
  readonly isContainer: boolean
  /** The most bytes of a file, and of all files in an archive together. */
  readonly maxBytes: number
}

/** Converts a file of a submission. */
interface ConvertOrder {
  readonly kind: 'convert'
  readonly folder: string
  readonly path: string
  readonly form: FileForm
  readonly to: Format
}

/** A file as it is to be stored: in UTF-8, with plain line ends. */
export interface ReadFile {
  readonly resource: string
  readonly format: Format
  readonly path: string
  readonly records: number
  readonly bytes: number
  readonly sha256: string
  /** What was guessed about it, as full sentences. */
  readonly notes: readonly string[]
}

/** The files that were written, or why the content was refused. */
export type FileResult =
  | { readonly files: readonly ReadFile[]; readonly refused?: never }
  | { readonly files?: never; readonly refused: Refusal }

export async function readUpload(order: FileOrder): Promise<FileResult> {
  try {
    return { files: order.kind === 'read' ? await readAll(order) : [await convert(order)] }
  } catch (error) {
    if (error instanceof Problem) return { refused: toRefusal(error) }
    if (!(error instanceof UserError) || isDiskFull(error.cause)) throw error
    return { refused: toRefusal(new Problem('invalid-body', explain(error, order.folder))) }
  }
}

/** The most reasons that are named, and the most characters of one, which contains a name in the archive. */
const MOST_REASONS = 10
const MOST_CHARACTERS = 500

/** The faults contain names within the container, and no data. */
function explain({ faults }: UserError, folder: string): string {
  const reasons = faults.map(({ file, message }: Fault) =>
    `${file === undefined ? '' : `${file.replace(`${folder}/`, '')} `}${message}.`.slice(0, MOST_CHARACTERS),
  )
  return [...new Set(reasons)].slice(0, MOST_REASONS).join(' ')
}

/** What is read as one file. */
interface Source {
  readonly resource: string
  readonly path: string
  /** Its name in messages, such as `archive.zip/learners.csv`. */
  readonly name: string
  readonly format: Format
  readonly gzip: boolean
}

async function readAll(order: ReadOrder): Promise<ReadFile[]> {
  const isContainer = !order.gzip && startsLikeContainer(order.path)
  if (order.isContainer && !isContainer)
    throw new Problem(
      'unsupported-media-type',
      'The content is neither a ZIP archive nor a workbook in the format XLSX. Send any other file separately, as the file that it is.',
    )
  const containers = new Containers({ unpackedBytes: order.maxBytes })
  try {
    return await readFiles(order, containers, isContainer)
  } finally {
    await containers.remove()
  }
}

async function readFiles(
  order: ReadOrder,
  containers: Containers,
  isContainer: boolean,
): Promise<ReadFile[]> {
  const { path, only, format, gzip, folder } = order
  const opened: { files: readonly Source[]; notes: readonly string[] } =
    isContainer || only === undefined
      ? await openContainer(containers, order)
      : { files: [{ resource: only, path, name: only, format, gzip }], notes: [] }
  const files: ReadFile[] = []
  for (const [index, source] of opened.files.entries()) {
    // What was not read belongs to no file: the first one says so.
    const notes = index === 0 ? opened.notes : []
    files.push(await readText(order, source, join(folder, `${index}`), notes))
  }
  return files
}

/** An archive with files begins like this, and an empty one like that. */
const STARTS = ['PK\u0003\u0004', 'PK\u0005\u0006']

const startsLikeContainer = (path: string): boolean => STARTS.includes(readStart(path, 4).toString('latin1'))

function readStart(path: string, bytes: number): Buffer {
  const start = Buffer.alloc(bytes)
  const file = openSync(path, 'r')
  const read = readSync(file, start)
  closeSync(file)
  return start.subarray(0, read)
}

/** Opens an archive or a workbook as `mahi check` does, by the same names. */
async function openContainer(
  containers: Containers,
  { path, folder, definition, only }: ReadOrder,
): Promise<{ files: Source[]; notes: string[] }> {
  const isSheets = isWorkbook(path)
  const format = findFormat(readStart(path, 4096))
  const name = isSheets ? `${only ?? 'workbook'}.xlsx` : `${only ?? 'archive'}.zip`
  // Its own name decides how it is read, and is that in messages.
  const container = join(folder, name)
  renameSync(path, container)
  const paths = await containers.openArchives([container])
  const named = only === undefined || isSheets ? [] : nameOnly(paths, only)
  const { files, unread, spare, notes } = await selectFiles(containers, paths, definition, named).catch(
    (error: unknown) => {
      // A spreadsheet of another program is an archive, too, but none that somebody has packed.
      if (!(error instanceof UserError) || format === undefined || format.isContainer) throw error
      throw new Problem(
        'unsupported-media-type',
        `${only === undefined ? 'The content' : `${only}: The file`} is ${format.name}. ${format.advice}`,
      )
    },
  )
  const other = files.find(({ resource }) => resource !== only)
  if (only !== undefined && other !== undefined)
    fail({
      file: other.name,
      message: `is the file ${other.resource}, not ${only}: send an archive or a workbook of several files as a whole`,
    })
  // An upload replaces files, so that the surer name does not decide which of two is meant.
  for (const { name, resource, read } of spare) {
    const { title = resource } = definition.resources.find((each) => each.name === resource) ?? {}
    fail(describeTwo({ title }, read, name))
  }
  for (const { name, path } of files) {
    const message = containers.faultOf(path)
    if (message !== undefined) fail({ file: name, message })
  }
  return {
    files: definition.resources.flatMap(({ name: resource }) =>
      files.flatMap(({ path, name, ...file }) =>
        file.resource === resource ? [{ resource, path, name, format: 'csv', gzip: false } as const] : [],
      ),
    ),
    notes: [
      ...notes,
      ...unread.map((name) => `${name} was not read: it is no file of the definition ${definition.name}.`),
    ],
  }
}

/** The only file of an archive, whatever its name. A workbook in it is recognised by its own name, or its sheets. */
function nameOnly([folder = '']: readonly string[], only: string): string[] {
  const [name = '', ...others] = readdirSync(folder)
  return others.length === 0 && !/\.xls[xm]$/i.test(name) ? [`${only}=${join(folder, name)}`] : []
}

/** The bytes at the start of a file that show its header, which is compared with that of each file of its definition. */
const JUDGED = 16 * 1024

/** @throws {Problem} which names the file, if its content is no text of its kind */
async function readText(
  order: ReadOrder,
  source: Source,
  target: string,
  notes: readonly string[],
): Promise<ReadFile> {
  try {
    return await normalise(order, source, target, notes)
  } catch (error) {
    if (!(error instanceof Problem)) throw error
    throw new Problem(error.slug, `${source.name}: ${error.detail}`, error)
  }
}

async function normalise(
  { definition, maxBytes }: ReadOrder,
  { resource: name, path, format, gzip }: Source,
  target: string,
  before: readonly string[],
): Promise<ReadFile> {
  const resource = definition.resources.find((each) => each.name === name)
  const form = formOf(resource)
  const look = new EncodingLook()
  let wide: 'UTF-16' | undefined
  const content = decodeWide(await unpack(readFile(path), gzip), () => {
    wide = 'UTF-16'
  })
  let start = Buffer.alloc(0)
  async function* arrive(): AsyncGenerator<Buffer> {
    let bytes = 0
    for await (const piece of content) {
      bytes += piece.length
      if (bytes > maxBytes)
        throw new Problem('content-too-large', `The file must be at most ${maxBytes} bytes, uncompressed.`)
      if (start.length === 0) refuseFormat(piece)
      // UTF-16 is UTF-8 by now, and no text file has this character.
      if (piece.includes(0))
        throw new Problem(
          'unsupported-media-type',
          'The content has NUL characters, so it is not a text file. Send CSV, NDJSON, a ZIP archive or a workbook (XLSX). Nothing was replaced.',
        )
      look.push(piece)
      if (start.length < JUDGED) start = Buffer.concat([start, piece.subarray(0, JUDGED - start.length)])
      yield piece
    }
  }
  let written = await write(target, arrive(), format, form)
  const encoding = look.end(wide === undefined ? form.encoding : undefined)
  const lineEnds = look.endsWithCr && form.hasOwnDialect !== true
  const read = wide ?? encoding
  const notes = [...before]
  const wrong =
    written.format === 'csv' && resource !== undefined
      ? judgeFirstLine(start, resource, definition.resources)
      : undefined
  if (wrong !== undefined) notes.push(wrong)
  if (read !== 'UTF-8') notes.push(describeEncoding(read, form.encoding))
  if (lineEnds) notes.push(CR_NOTE)
  if (encoding !== 'UTF-8' || lineEnds) {
    let isLoss = false
    const onLoss = () => {
      isLoss = true
    }
    const decoded = decode(readFile(written.path), { encoding, lineEnds, onLoss })
    written = await write(`${target}-decoded`, decoded, format, form)
    if (isLoss) notes.push(describeLoss(encoding))
  }
  const names = written.format === 'csv' ? await readHeader(readFile(written.path), knownColumns(form)) : []
  if (names?.some(isMarkOf(form))) {
    written = await write(`${target}-plain`, withoutMarks(readFile(written.path), form), format, form)
    notes.push(`The columns that begin with ${MARK_PREFIX} are notes of Mahi. They were left out.`)
  }
  if (wrong === undefined && written.records === 0) notes.push(EMPTY_NOTE)
  return { resource: name, ...written, notes }
}

/** Writes content to a new file, and counts its records and bytes. */
async function write(
  path: string,
  content: AsyncIterable<Buffer>,
  stated: Format,
  form: FileForm,
): Promise<Omit<ReadFile, 'resource' | 'notes'>> {
  const scanner = new Scanner(stated, knownColumns(form))
  async function* scan(): AsyncGenerator<Buffer> {
    for await (const piece of content) {
      scanner.push(piece)
      yield piece
    }
  }
  const measured = await writeNew(path, scan())
  const records = scanner.end()
  return { path, format: scanner.format, records, ...measured }
}

/** Whether a column was added by `--mark`. */
function isMarkOf(form: FileForm): (name: string) => boolean {
  const known = knownColumns(form)
  return (name) => name.trim().startsWith(MARK_PREFIX) && !known.includes(name.trim())
}

/** The content without the columns that `--mark` has added. */
async function* withoutMarks(content: AsyncIterable<Buffer>, form: FileForm): AsyncGenerator<Buffer> {
  const known = knownColumns(form)
  const isMark = isMarkOf(form)
  const writer = new PieceWriter()
  let left: Set<number> | undefined
  for await (const reader of readAsArriving(content, (source) => new CsvReader(source, { known }))) {
    while (reader.next()) {
      const cells = reader.cells.slice(0, reader.count)
      left ??= new Set(cells.flatMap((cell, index) => (isMark(cell) ? [index] : [])))
      const { fault, separator } = reader
      const kept = cells.filter((_, index) => left?.has(index) !== true)
      writer.add(fault === undefined ? renderRecord(kept, separator) : reader.bytes)
      if (writer.add('\n')) yield writer.take()
    }
  }
  yield* writer.end()
}

async function convert({ folder, path, form, to }: ConvertOrder): Promise<ReadFile> {
  const content = () => readFile(path)
  const converted = to === 'csv' ? ndjsonToCsv(content, form) : csvToNdjson(content, form)
  const target = join(folder, `converted.${to}`)
  const measured = await writeNew(target, converted)
  return { resource: '', format: to, path: target, records: 0, notes: [], ...measured }
}
