import { once } from 'node:events'
import { Writable } from 'node:stream'
import { WorkbookWriter } from '@cj-tech-master/excelts'
import { UserError } from '../../../foundation/faults/user-error.ts'
import { formatNumber } from '../../../foundation/text/format-number.ts'
import type { Field } from '../definition/definition.ts'
import type { OpenFile } from '../engine/read-file.ts'
import type { CheckSummary, Finding } from '../engine/summary.ts'
import { placeOf } from '../report/causes.ts'
import { describeSubject, describeVerdict, listGaps } from '../report/report.ts'
import { describeFindings, describeFindingsOfFile, MARK_COLUMNS, severest } from './mark-text.ts'
import type { AppendBytes } from './output-folder.ts'
import type { RowFindings } from './row-findings.ts'
import { openSource, type SourceFile } from './source-file.ts'

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

const TOP = { vertical: 'top' } as const
/** Text, so that a program neither calculates what begins with `=` nor changes codes and dates, also when edited. */
const AS_TEXT = { numFmt: '@', alignment: TOP }
/** Away from the text in the next column. */
const AS_NUMBER = { numFmt: 'General', alignment: { ...TOP, horizontal: 'right', indent: 1 } } as const
const AS_COUNT = { numFmt: '#,##0', alignment: TOP }
const WRAPPED = { numFmt: '@', alignment: { vertical: 'top', wrapText: true } } as const

/** A page of A4, as wide as the sheet. */
const PAGE = { paperSize: 9, orientation: 'landscape', fitToWidth: 1, fitToHeight: 0 } as const
const FOOTER = { oddFooter: '&L&F, &A&R&P/&N' }

const BOLD = { name: 'Calibri', size: 11, bold: true } as const

/** The height of a line, and the most of a row, in points. Not every program finds the height of wrapped text. */
const LINE = 15
const MOST_HEIGHT = 405

/** The height of a row with wrapped texts, each with the characters that fit into a line of its column. */
function heightOf(...cells: readonly (readonly [text: string, width: number])[]): number {
  const lines = cells.map(([text, width]) => Math.ceil(text.length / width))
  return Math.min(MOST_HEIGHT, LINE * Math.max(1, ...lines))
}

/** The columns of a file that are printed beside the findings: they say which record it is. */
const PRINTED = 5

type Sheet = ReturnType<WorkbookWriter['addWorksheet']>
type Row = ReturnType<Sheet['addRow']>

/** A file that is open, and the name of its sheet. */
interface OpenSheet {
  readonly source: SourceFile
  readonly file: OpenFile
  readonly name: string
}

/**
 * Writes a workbook: a summary, then a sheet for each file with the findings in its first columns, coloured cells and
 * comments. One row is in memory at a time.
 *
 * @throws {UserError} if a file is too large for a sheet
 */
export async function writeMarkedXlsx(
  sources: readonly SourceFile[],
  summary: CheckSummary,
  findings: RowFindings,
  append: AppendBytes,
): Promise<void> {
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
  const summaryName = nameSheet('Summary', taken)
  const opened: OpenSheet[] = []
  try {
    for (const source of sources) {
      const file = openSource(source)
      if (file === undefined) continue
      opened.push({ source, file, name: nameSheet(source.resource.name, taken) })
      refuseLarge(source, file, summary)
    }
    writeSummary(
      workbook.addWorksheet(summaryName, {
        pageSetup: { ...PAGE, printTitlesRow: '1:1' },
        headerFooter: FOOTER,
      }),
      summary,
      new Map(opened.map(({ source, name }) => [source.name, name])),
    )
    for (const { source, file, name } of opened) {
      const sheet = workbook.addWorksheet(name, {
        views: [{ state: 'frozen', xSplit: MARK_COLUMNS.length, ySplit: 1 }],
        pageSetup: { ...PAGE, printTitlesRow: '1:1' },
        headerFooter: FOOTER,
      })
      await writeSheet(sheet, source, file, findings, async () => {
        if (out.errored !== null) throw out.errored
        if (out.writableNeedDrain) await once(out, 'drain')
      })
    }
  } finally {
    for (const { file } of opened) file.close()
  }
  await workbook.commit()
  if (out.errored !== null) throw out.errored
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

const WHAT = 60
const TODO = 50
const SUMMARY = [
  { head: 'severity', width: 10, style: AS_TEXT },
  { head: 'first', width: 26, style: AS_TEXT },
  { head: 'what is wrong', width: WHAT, style: WRAPPED },
  { head: 'what to do', width: TODO, style: WRAPPED },
  { head: 'findings', width: 11, style: AS_COUNT },
] as const
const LEARNERS = { head: 'learners', width: 11, style: AS_COUNT } as const

/** @param sheets the names of the sheets by those of the files */
function writeSummary(sheet: Sheet, summary: CheckSummary, sheets: ReadonlyMap<string, string>): void {
  // Not every definition has learners.
  const hasLearners = summary.causes.some(({ learners }) => learners > 0)
  const columns = hasLearners ? [...SUMMARY, LEARNERS] : SUMMARY
  sheet.columns = columns.map(({ width, style }) => ({ width, style }))
  const { notice } = summary.definition
  const lines = [
    describeVerdict(summary),
    describeSubject(summary),
    ...(notice === undefined ? [] : [notice]),
  ]
  for (const line of [...lines, ...listGaps(summary)]) {
    const row = sheet.addRow([toText(line)])
    row.getCell(1).style = WRAPPED
    sheet.mergeCells(row.number, 1, row.number, columns.length)
    row.height = heightOf([line, columns.reduce((sum, { width }) => sum + width, 0)])
    row.commit()
  }
  sheet.addRow([]).commit()
  const head = sheet.addRow(columns.map(({ head }) => head))
  head.font = BOLD
  head.commit()
  for (const cause of summary.causes) {
    const { severity, sentence, fix = '', findings, learners, example } = cause
    const name = sheets.get(example.file)
    // A file that is missing, or cannot be read, has no line.
    const place = toText(name === undefined ? example.file : placeOf(cause))
    const row = sheet.addRow([
      severity,
      place,
      toText(sentence),
      toText(fix),
      findings,
      learners > 0 ? learners : null,
    ])
    row.height = heightOf([sentence, WHAT], [fix, TODO])
    row.getCell(1).fill = COLOURS[severity]
    if (name !== undefined) {
      const cell = row.getCell(2)
      cell.value = { text: place, hyperlink: `#'${name.replaceAll("'", "''")}'!A1` }
      cell.font = { name: 'Calibri', size: 11, underline: true, color: { argb: 'FF0B5A70' } }
    }
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
  const isNumber = own.map((_, position) =>
    isPlainNumber(resource.fields[columns.positions.indexOf(position)]),
  )
  sheet.columns = [
    { width: 10, style: AS_NUMBER },
    { width: 14, style: AS_TEXT },
    { width: WHAT, style: WRAPPED },
    ...own.map((cell, position) => ({
      width: Math.min(Math.max(cell.length + 2, 12), 30),
      style: isNumber[position] ? AS_NUMBER : AS_TEXT,
    })),
  ]
  const marker = new Marker(resource.fields, columns.positions)
  const [line, severity, text] = MARK_COLUMNS
  const head = sheet.addRow([line, severity, text + describeFindingsOfFile(ofFile), ...own].map(toCell))
  head.font = BOLD
  marker.mark(head, ofFile)
  head.commit()
  let last = 1
  while (reader.next()) {
    const found = await findings.take(reader.line)
    // A record that cannot be read is one text.
    const [{ recordText = '' } = {}] = found
    const cells = reader.fault === undefined ? reader.cells.slice(0, reader.count) : [recordText]
    const values = cells.map(
      (cell, position) => (isNumber[position] ? toNumber(cell) : undefined) ?? toCell(cell),
    )
    const text = describeFindings(found)
    const row = sheet.addRow([reader.line, severest(found), toText(text), ...values])
    row.height = heightOf([text, WHAT])
    last++
    for (const [position, value] of values.entries()) {
      const cell = cells[position] ?? ''
      if (typeof value === 'number' && cell.includes('.'))
        row.getCell(MARK_COLUMNS.length + 1 + position).numFmt = formatOf(cell)
    }
    if (found.length > 0) marker.mark(row, found)
    row.commit()
    await ready()
  }
  sheet.autoFilter = { from: { row: 1, col: 1 }, to: { row: last, col: MARK_COLUMNS.length } }
  const printed = sheet.getColumn(Math.min(own.length, PRINTED) + MARK_COLUMNS.length).letter
  sheet.pageSetup.printArea = `A1:${printed}${last}`
  sheet.commit()
}

/** Whether a field holds numbers that a sheet writes in the same way. */
function isPlainNumber(field: Field | undefined): boolean {
  return (
    (field?.type === 'integer' || field?.type === 'number') &&
    field.decimalChar === '.' &&
    field.groupChar === undefined
  )
}

/** The most digits of a number that a sheet keeps. */
const MOST_DIGITS = 15

const NUMBER = /^-?(?:0|[1-9]\d*)(?:\.\d+)?$/

/** The number that a text is; a text with leading zeros, or with more digits than a sheet keeps, is no number. */
function toNumber(cell: string): number | undefined {
  return cell.length <= MOST_DIGITS && NUMBER.test(cell) ? Number(cell) : undefined
}

/** A format that shows all decimals of a number. */
function formatOf(cell: string): string {
  const decimals = cell.length - 1 - cell.indexOf('.')
  return `0.${'0'.repeat(decimals)}`
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
const toText = (text: string): string => toXml(text).replaceAll(ESCAPE, '_x005F_')

/** A text of a file. A program keeps the spaces at its ends only in rich text, which the writer escapes. */
function toCell(text: string) {
  return /^\s|\s$/.test(text) ? { richText: [{ text: toXml(text) }] } : toText(text)
}

function toXml(text: string): string {
  const short = text.length > MOST_TEXT ? `${text.slice(0, MOST_TEXT - 1)}…` : text
  return short.toWellFormed().replaceAll(NOT_XML, (character) => {
    const code = character.charCodeAt(0)
    return code < 0x20 ? String.fromCharCode(0x2400 + code) : '\ufffd'
  })
}
