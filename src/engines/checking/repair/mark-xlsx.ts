import { once } from 'node:events'
import { Writable } from 'node:stream'
import { WorkbookWriter } from '@cj-tech-master/excelts'
import { UserError } from '../../../foundation/faults/user-error.ts'
import { formatNumber } from '../../../foundation/text/format-number.ts'
import type { OpenFile } from '../engine/read-file.ts'
import type { CheckSummary, Finding } from '../engine/summary.ts'
import { summariseMessage } from '../explain.ts'
import { describeSubject, describeVerdict, listGaps } from '../report/report.ts'
import { describeFindings, describeFindingsOfFile, MARK_COLUMNS, severest } from './mark-text.ts'
import type { AppendBytes } from './output-folder.ts'
import type { RowFindings } from './row-findings.ts'
import type { SourceFile } from './source-file.ts'

/** The most rows and columns of a sheet, and the most characters of a cell. */
const MOST_ROWS = 1_048_576
const MOST_COLUMNS = 16_384
const MOST_TEXT = 32_767

/** The most comments of a sheet: spreadsheet programs get slow with more. The cells are still coloured. */
const MOST_COMMENTS = 10_000

/** The usual colours of bad and neutral cells. */
const COLOURS = {
  Error: { type: 'pattern', pattern: 'solid', fgColor: { argb: 'FFFFC7CE' } },
  Warning: { type: 'pattern', pattern: 'solid', fgColor: { argb: 'FFFFEB9C' } },
} as const

/** Text, so that a program neither calculates what begins with `=` nor changes codes and dates, also when edited. */
const AS_TEXT = { numFmt: '@' }

type Sheet = ReturnType<WorkbookWriter['addWorksheet']>
type Row = ReturnType<Sheet['addRow']>

/** A file and its rows, to be written to a sheet. */
export interface SheetSource {
  readonly source: SourceFile
  readonly open: () => OpenFile | undefined
}

/**
 * Writes a workbook: a summary, then a sheet for each file with the findings in its first columns, coloured cells and
 * comments. One row is in memory at a time.
 *
 * @returns the names of the files in it
 * @throws {UserError} if a file is too large for a sheet
 */
export async function writeMarkedXlsx(
  sources: readonly SheetSource[],
  summary: CheckSummary,
  findings: RowFindings,
  append: AppendBytes,
  signal: AbortSignal | undefined,
): Promise<string[]> {
  const out = new Writable({
    highWaterMark: 1 << 20,
    write: (chunk: Uint8Array, _encoding, done) => {
      append(chunk).then(() => done(), done)
    },
  })
  // The writer below sees an error too; without a listener, it would end the process.
  out.on('error', () => undefined)
  const workbook = new WorkbookWriter({ stream: out, useStyles: true, useSharedStrings: false })
  const taken = new Set<string>()
  writeSummary(workbook.addWorksheet(nameSheet('Summary', taken)), summary)
  const names: string[] = []
  for (const { source, open } of sources) {
    const file = open()
    if (file === undefined) continue
    try {
      refuseLarge(source, file, summary)
      const sheet = workbook.addWorksheet(nameSheet(source.resource.name, taken), {
        views: [{ state: 'frozen', xSplit: MARK_COLUMNS.length, ySplit: 1 }],
      })
      await writeSheet(sheet, source, file, findings, async () => {
        signal?.throwIfAborted()
        if (out.errored !== null) throw out.errored
        if (out.writableNeedDrain) await once(out, 'drain')
      })
      names.push(source.name)
    } finally {
      file.close()
    }
  }
  await workbook.commit()
  if (out.errored !== null) throw out.errored
  return names
}

function refuseLarge({ resource, name }: SourceFile, { columns }: OpenFile, { files }: CheckSummary): void {
  const records = files.find((file) => file.resource === resource.name)?.records ?? 0
  const most = MOST_ROWS - 1
  if (records > most)
    throw new UserError(
      `${name} has ${formatNumber(records)} records, and a sheet has room for ${formatNumber(most)}: mark it as CSV, not as XLSX`,
    )
  if (columns.width > MOST_COLUMNS - MARK_COLUMNS.length)
    throw new UserError(
      `${name} has ${formatNumber(columns.width)} columns, which no sheet has room for: mark it as CSV, not as XLSX`,
    )
}

function writeSummary(sheet: Sheet, summary: CheckSummary): void {
  sheet.columns = [12, 20, 28, 12, 60, 60].map((width) => ({ width, style: AS_TEXT }))
  const notice = summary.definition.notice
  const lines = [
    describeVerdict(summary),
    describeSubject(summary),
    ...(notice === undefined ? [] : [notice]),
  ]
  for (const line of [...lines, ...listGaps(summary)]) sheet.addRow([toText(line)]).commit()
  sheet.addRow([]).commit()
  const head = sheet.addRow(['severity', 'code', 'file', 'findings', 'what', 'what to do'])
  head.font = { bold: true }
  head.commit()
  for (const { severity, code, file, count, message, fix = '' } of summary.codes) {
    const cells = [severity, code, file, formatNumber(count), summariseMessage(message), fix]
    const row = sheet.addRow(cells.map(toText))
    row.getCell(1).fill = COLOURS[severity]
    row.commit()
  }
  sheet.commit()
}

async function writeSheet(
  sheet: Sheet,
  { resource, name }: SourceFile,
  { reader, columns, headerOffset }: OpenFile,
  findings: RowFindings,
  ready: () => Promise<void>,
): Promise<void> {
  const ofFile = await findings.start(name)
  const own =
    headerOffset !== undefined
      ? reader.cells.slice(0, reader.count)
      : resource.fields.map((field) => field.name)
  const widths = [10, 10, 60, ...own.map((cell) => Math.min(Math.max(cell.length + 2, 8), 30))]
  sheet.columns = widths.map((width) => ({ width, style: AS_TEXT }))
  const marker = new Marker(resource.fields, columns.positions)
  const [line, severity, text] = MARK_COLUMNS
  const head = sheet.addRow([line, severity, text + describeFindingsOfFile(ofFile), ...own].map(toText))
  head.font = { bold: true }
  marker.mark(head, ofFile)
  head.commit()
  while (reader.next()) {
    const found = findings.has(reader.line) ? await findings.take(reader.line) : []
    // A record that cannot be read is one text.
    const [{ recordText = '' } = {}] = found
    const cells = reader.fault === undefined ? reader.cells.slice(0, reader.count) : [recordText]
    const row = sheet.addRow(
      [String(reader.line), severest(found), describeFindings(found), ...cells].map(toText),
    )
    if (found.length > 0) marker.mark(row, found)
    row.commit()
    await ready()
  }
  sheet.commit()
}

/** Colours the cells of findings and comments on them. */
class Marker {
  readonly #columns: ReadonlyMap<string, number>
  #comments = 0

  constructor(fields: readonly { readonly name: string }[], positions: readonly number[]) {
    this.#columns = new Map(
      fields.flatMap(({ name }, index) => {
        const position = positions[index] ?? -1
        return position === -1 ? [] : [[name, MARK_COLUMNS.length + 1 + position] as const]
      }),
    )
  }

  mark(row: Row, found: readonly Finding[]): void {
    const cells = Map.groupBy(found, ({ field = '' }) => this.#columns.get(field) ?? MARK_COLUMNS.length)
    for (const [column, ofCell] of cells) {
      const cell = row.getCell(column)
      cell.fill = COLOURS[severest(ofCell) === 'Error' ? 'Error' : 'Warning']
      // The text of findings without a cell is in the column itself.
      if (column > MARK_COLUMNS.length && this.#comments++ < MOST_COMMENTS)
        cell.note = toText(describeFindings(ofCell))
    }
  }
}

/** The name of a sheet: at most 31 characters, without those that programs refuse, and once. */
function nameSheet(name: string, taken: Set<string>): string {
  const plain = name.replaceAll(/[[\]:*?/\\]/g, '-').replaceAll(/^'|'$/g, '-')
  for (let number = 1; ; number++) {
    const end = number === 1 ? '' : ` ${number}`
    const sheet = plain.slice(0, 31 - end.length) + end
    if (taken.has(sheet.toLowerCase())) continue
    taken.add(sheet.toLowerCase())
    return sheet
  }
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: XML has no form of these.
const NOT_XML = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]/g

/** What the format (ECMA-376, ST_Xstring) would read as one character. */
const ESCAPE = /_(?=x[0-9A-Fa-f]{4}_)/g

/** A text as a cell can hold it. */
function toText(text: string): string {
  const short = text.length > MOST_TEXT ? `${text.slice(0, MOST_TEXT - 1)}…` : text
  return short
    .toWellFormed()
    .replaceAll(ESCAPE, '_x005F_')
    .replaceAll(NOT_XML, (character) => {
      const code = character.charCodeAt(0)
      return code < 0x20 ? String.fromCharCode(0x2400 + code) : '\ufffd'
    })
}
