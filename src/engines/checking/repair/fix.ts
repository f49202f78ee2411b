import { createReadStream } from 'node:fs'
import { join } from 'node:path'
import { replaceFile } from '../../../foundation/command-line/output-file.ts'
import { count } from '../../../foundation/text/format-number.ts'
import { type CsvReader, PieceWriter, renderRecord } from '../../records/index.ts'
import { resolveParameters } from '../definition/parameters.ts'
import type { CheckRequest, InputFile } from '../engine/check-files.ts'
import { CR_NOTE } from '../engine/prepare-file.ts'
import { type ChangeGroup, ChangeList, type LeftRows } from './change-list.ts'
import { CHANGES } from './changes-name.ts'
import {
  type AppendBytes,
  type Folders,
  nameOutside,
  nameUniquely,
  OutputFolder,
  replaceCopy,
} from './output-folder.ts'
import { type FilePlan, planRepairs, repairCell } from './repair-plan.ts'
import { isWhole, openReader, readSeparated } from './separated-file.ts'
import { Passage, prepareSources, type SourceFile } from './source-file.ts'
import { toWindows1252 } from './windows-1252.ts'

export interface Fixed {
  /** The names of the copies by resource: a file that cannot be read has none. */
  readonly copies: ReadonlyMap<string, string>
  readonly changes: number
  readonly groups: readonly ChangeGroup[]
  /** What is left because it is not certain: rows that may be records, and encodings. */
  readonly left: readonly LeftRows[]
}

/** Chooses the folder of corrected copies, before anything is read. */
export function chooseFixFolder(
  path: string,
  files: readonly InputFile[],
  { overwrite }: { overwrite: boolean },
): OutputFolder {
  const given = files.map(({ name }) => name)
  const copies = nameUniquely([...given, CHANGES], nameFixed).values()
  // A file in gzip that cannot be repaired keeps its name.
  const names = new Set([...copies, ...given.map(nameOutside)])
  const inputs = files.map((file) => file.path)
  return new OutputFolder(path, [...names], { option: '--fix', inputs, overwrite })
}

/** Separated text is unpacked; other files are copied as they are. */
function nameFixed(name: string): string {
  return nameOutside(name).replace(/(?<=\.(?:csv|tsv|txt))\.gz$/i, '')
}

/**
 * Writes corrected copies of files, and a list of every change. Only what has one possible repair is changed: see
 * docs/checks.md. A file without such faults is copied byte for byte.
 */
export async function fixFiles(
  request: CheckRequest,
  { copies: folder, temporary }: Folders,
): Promise<Fixed> {
  const { definition, files, only = [] } = request
  const parameters = resolveParameters(definition, request)
  const sources = await prepareSources(files, definition, temporary)
  const separated = sources.flatMap((source) => readSeparated(source) ?? [])
  const plans = new Map(
    planRepairs(separated, definition, parameters, only).map((plan) => [plan.file.source, plan]),
  )
  return await replaceFile(join(folder, CHANGES), async (append) => {
    const changes = new ChangeList(append)
    const copies = new Map<string, string>()
    for (const source of sources) {
      const plan = plans.get(source)
      const name = plan === undefined ? nameOutside(source.name) : nameFixed(source.name)
      await replaceCopy(folder, name, (add) => writeFixed(source, plan, changes, add))
      copies.set(source.resource.name, name)
    }
    await changes.flush()
    return { copies, changes: changes.total, groups: changes.groups, left: changes.left }
  })
}

async function writeFixed(
  source: SourceFile,
  plan: FilePlan | undefined,
  changes: ChangeList,
  append: AppendBytes,
): Promise<void> {
  if (plan === undefined) {
    for await (const chunk of createReadStream(source.input)) await append(chunk as Buffer)
    return
  }
  noteFile(plan, changes)
  const passage = new Passage(source.prepared.path)
  try {
    for await (const rows of repairRows(plan, passage, changes)) {
      await append(plan.unsure.count === 0 ? rows : toWindows1252(rows))
      await changes.flush()
    }
  } finally {
    passage.close()
  }
  await changes.flush()
}

function noteFile({ file: { source, separator }, unsure, separates }: FilePlan, changes: ChangeList): void {
  const { encoding, notes } = source.prepared
  const file = source.name
  const [line = 1] = unsure.lines
  if (unsure.count > 0) changes.leave({ file, line, why: describeUnsure(unsure) })
  if (encoding !== 'UTF-8' && unsure.count === 0)
    changes.add({ file, before: encoding, after: 'UTF-8', why: 'The encoding of the file is changed.' })
  else if (notes.includes(CR_NOTE))
    changes.add({ file, before: 'CR', after: 'LF', why: 'The line ends of the file are changed.' })
  if (!separates) return
  const before = separator === '\t' ? 'tab' : separator
  changes.add({ file, before, after: ',', why: 'The separator of the file is changed.' })
}

function describeUnsure({ count: lines, lines: first }: FilePlan['unsure']): string {
  const more = lines > first.length ? ` and ${count(lines - first.length, 'other')}` : ''
  return `Line${lines === 1 ? '' : 's'} ${first.join(', ')}${more} ${lines === 1 ? 'has' : 'have'} characters of an uncertain encoding, which is not changed. Save the file as UTF-8 in the program that made it.`
}

/** Yields the bytes of a corrected file, in pieces of whole rows. */
async function* repairRows(plan: FilePlan, passage: Passage, changes: ChangeList): AsyncGenerator<Buffer> {
  const { source } = plan.file
  const writer = new PieceWriter()
  const { reader, close } = openReader(source)
  let isRemoved = false
  /** Copies what is between two rows: of a removed one, only the empty lines behind it. */
  const copyUntil = (end: number, isOfHeader = false) => {
    const pieces = Array.from(passage.until(end), (piece) => Buffer.from(piece))
    const rest = Buffer.concat(pieces)
    // `sep=;` would name the separator that was.
    if (isOfHeader) writer.add(Buffer.from(rest.toString('latin1').replace(/sep=.\r?\n/i, ''), 'latin1'))
    else writer.add(isRemoved ? rest.subarray(rest.indexOf(10) + 1) : rest)
  }
  try {
    // The reader is synchronous and the output is not, so each row is taken in turn.
    for (let isFirst = true; reader.next(); isFirst = false) {
      copyUntil(reader.offset, isFirst && plan.separates)
      const text = repairRow(plan, reader, isFirst, changes)
      isRemoved = text === ''
      if (text !== undefined) {
        for (const _ of passage.until(reader.offset + reader.bytes.length));
        writer.add(text)
      }
      if (writer.isFull) yield writer.take()
    }
    copyUntil(Number.POSITIVE_INFINITY)
  } finally {
    close()
  }
  yield* writer.end()
}

/** The text of a repaired row; empty if the row is removed, `undefined` if it stays as it is. */
function repairRow(
  plan: FilePlan,
  reader: CsvReader,
  isFirst: boolean,
  changes: ChangeList,
): string | undefined {
  const { file, separates } = plan
  const { line } = reader
  const cells = reader.cells.slice(0, reader.count)
  const name = file.source.name
  const render = (values: readonly string[]) => renderRecord(values, separates ? ',' : file.separator)
  if (isFirst) {
    if (file.renamings.length === 0) return separates ? render(cells) : undefined
    const header = [...cells]
    for (const { column, before, after, why } of file.renamings) {
      header[column] = after
      changes.add({ file: name, line, field: after, before, after, why })
    }
    return render(header)
  }
  const none = reader.fault === undefined ? plan.findNoRecord(cells, cells.length) : undefined
  if (none?.isCertain) {
    changes.add({ file: name, line, before: reader.text, after: '', why: none.why })
    return ''
  }
  if (none !== undefined) changes.leave({ file: name, line, why: none.why })
  // A row that is not whole is left here, and then nothing is separated anew.
  if (!isWhole(reader, file.columns.width)) return separates ? render(cells) : undefined
  let repaired: string[] | undefined
  for (const [field, { name: fieldName }] of file.source.resource.fields.entries()) {
    const position = file.columns.positions[field] ?? -1
    const before = cells[position]
    if (before === undefined) continue
    const repair = repairCell(plan, field, before)
    if (repair === undefined) continue
    if (repair.value === undefined) {
      changes.leave({ file: name, line, field: fieldName, why: repair.why })
      continue
    }
    repaired ??= [...cells]
    repaired[position] = repair.value
    changes.add({ file: name, line, field: fieldName, before, after: repair.value, why: repair.why })
  }
  return repaired === undefined && !separates ? undefined : render(repaired ?? cells)
}
