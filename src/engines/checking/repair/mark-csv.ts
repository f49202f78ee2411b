import { PieceWriter, renderRecord } from '../../records/index.ts'
import type { OpenFile } from '../engine/read-file.ts'
import type { Finding } from '../engine/summary.ts'
import { describeFindings, describeFindingsOfFile, MARK_COLUMNS, severest } from './mark-text.ts'
import type { AppendBytes } from './output-folder.ts'
import type { RowFindings } from './row-findings.ts'
import { hasMark, Passage, type SourceFile } from './source-file.ts'

/**
 * Writes a file with the findings of each row in its first columns, where no misplaced quote of a row can reach them.
 * The rows of a CSV file are copied byte for byte, with their separator, line ends and empty lines.
 */
export async function writeMarkedCsv(
  source: SourceFile,
  file: OpenFile,
  findings: RowFindings,
  append: AppendBytes,
): Promise<void> {
  const ofFile = await findings.start(source.name)
  const writeRows = file.format.kind === 'csv' ? copyRows : renderRows
  // Without a byte order mark, a spreadsheet reads macrons wrongly.
  await append('\ufeff')
  for await (const piece of writeRows(source, file, ofFile, findings)) await append(piece)
}

async function* copyRows(
  { prepared }: SourceFile,
  file: OpenFile,
  ofFile: readonly Finding[],
  findings: RowFindings,
): AsyncGenerator<Buffer> {
  const { reader, headerOffset } = file
  const [line, severity, text] = MARK_COLUMNS
  // A definition may have files without a header.
  let marks = headerOffset === undefined ? undefined : [line, severity, text + describeFindingsOfFile(ofFile)]
  const writer = new PieceWriter()
  const passage = new Passage(prepared.path)
  try {
    if (hasMark(prepared.path)) for (const _ of passage.until(3));
    for (const bytes of passage.until(headerOffset ?? 0)) writer.add(bytes)
    for (;;) {
      const more = reader.next()
      const separator = file.format.kind === 'csv' ? file.format.separator : ','
      if (marks !== undefined) writer.add(renderRecord(marks, separator) + separator)
      const end = more ? reader.offset : Number.POSITIVE_INFINITY
      for (const bytes of passage.until(end)) writer.add(bytes)
      if (writer.isFull) yield writer.take()
      if (!more) break
      marks = describeRow(reader.line, await findings.take(reader.line))
    }
  } finally {
    passage.close()
  }
  yield* writer.end()
}

async function* renderRows(
  { resource }: SourceFile,
  { reader }: OpenFile,
  ofFile: readonly Finding[],
  findings: RowFindings,
): AsyncGenerator<Buffer> {
  const [line, severity, text] = MARK_COLUMNS
  const writer = new PieceWriter()
  const names = resource.fields.map(({ name }) => name)
  writer.add(`${renderRecord([line, severity, text + describeFindingsOfFile(ofFile), ...names])}\n`)
  while (reader.next()) {
    const marks = describeRow(reader.line, await findings.take(reader.line))
    // What no column can hold is in the finding.
    const cells = reader.fault === undefined ? reader.cells.slice(0, reader.count) : []
    if (writer.add(`${renderRecord([...marks, ...cells])}\n`)) yield writer.take()
  }
  yield* writer.end()
}

function describeRow(line: number, found: readonly Finding[]): string[] {
  return [String(line), severest(found), describeFindings(found)]
}
