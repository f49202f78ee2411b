import { createHash } from 'node:crypto'
import { readFile, stat } from 'node:fs/promises'
import { Readable } from 'node:stream'
import { createInflateRaw } from 'node:zlib'
import { refuse } from '../../foundation/faults/faults.ts'
import { describeReadError } from '../../foundation/faults/read-error.ts'
import type { Fault } from '../../foundation/faults/user-error.ts'
import { quote } from '../../foundation/text/quote.ts'
import { suggest } from '../../foundation/text/suggest.ts'
import type { ReadBytesOptions } from './read-bytes.ts'
import type { SourceRecord } from './source-record.ts'
import {
  type Cell,
  type HeaderColumn,
  readHeader,
  readRow,
  type ShownNumber,
  type TableOptions,
} from './table.ts'
import { readNumber, readShownNumbers } from './xlsx-formats.ts'

/** The largest spreadsheet, in bytes: it is decompressed and held in memory completely. */
const MAX_XLSX_BYTES = 20 * 1024 * 1024
/** The most bytes that the files in a spreadsheet may have together: a small ZIP file can hold gigabytes. */
const MAX_UNPACKED_BYTES = 10 * MAX_XLSX_BYTES
/** The most cells of a spreadsheet, which take a hundred times the memory of their bytes in a file. */
const MAX_CELLS = 5_000_000

export interface XlsxOptions extends ReadBytesOptions, TableOptions {
  /** The sheet to read, if there are several. */
  readonly sheet?: string | undefined
}

/**
 * Yields the records of a spreadsheet (XLSX) whose first row names its columns. A formula is read as its stored
 * result, and a failed one as an empty cell. Of merged cells, the first has the value and the others are empty.
 * `line` is the row number.
 *
 * @throws {InputRefused} if the file, its sheet or its columns cannot be read
 */
export async function* readXlsx(file: string, options: XlsxOptions): AsyncGenerator<SourceRecord | Fault> {
  const rows = await readRows(file, options)
  let header: HeaderColumn[] | undefined
  let names: string[] = []
  for (const [index, cells] of rows.entries()) {
    if (cells.every((cell) => cell === '')) continue
    const place = { file, line: index + 1 }
    if (header === undefined) {
      if (index + 1 < (options.mapping?.headerRow ?? 1)) continue
      names = cells.map(toName)
      // Trailing columns that are formatted but empty have no name.
      while (names.at(-1) === '') names.pop()
      header = readHeader(place, names, options)
      continue
    }
    const row = cells.slice(0, names.length)
    while (row.length < names.length) row.push('')
    if (cells.slice(names.length).some((cell) => cell !== '')) {
      yield { ...place, message: `has cells beyond the ${names.length} named columns` }
    }
    yield* readRow(place, row, header, { ...options, isSheet: true })
  }
  const row = options.mapping?.headerRow
  if (header === undefined) {
    const reason = row === undefined ? 'is empty: the first row' : `ends before row ${row}, which`
    refuse({ file, message: `${reason} must name its columns` })
  }
}

async function readRows(file: string, options: XlsxOptions): Promise<Cell[][]> {
  const bytes = await readWhole(file)
  options.onBytes?.(bytes.length)
  options.onFile?.({ name: file, sha256: createHash('sha256').update(bytes).digest('hex') })
  // Numbers stay text, with the digits in the file.
  const sheets = await readSheets(file, bytes, String)
  const { sheet, data } = chooseSheet(file, sheets, options.mapping?.sheet ?? options.sheet)
  return showCells(data, readShownNumbers(bytes, sheet))
}

/** A sheet of a workbook, with its rows as text: an empty row has no cells. */
export interface TextSheet {
  readonly name: string
  rows(): Generator<readonly string[]>
}

/**
 * Reads all sheets of a workbook as text, as a person would type it: codes as their cells show them, numbers with the
 * 15 digits that a spreadsheet program shows, dates as `2025-02-17` whatever their format, and errors such as `#N/A`.
 *
 * @throws {InputRefused} if the file is too large, or cannot be read
 */
export async function readWorkbook(file: string): Promise<TextSheet[]> {
  const bytes = await readWhole(file)
  const sheets = await readSheets(file, bytes, readNumber)
  return sheets.map(({ sheet, data }) => ({
    name: sheet,
    *rows() {
      for (const cells of showCells(data, readShownNumbers(bytes, sheet, true))) yield toTexts(cells)
    },
  }))
}

function toTexts(cells: readonly Cell[]): string[] {
  const texts = cells.map((cell) => {
    if (typeof cell === 'string') return cell
    return cell instanceof Date ? toMoment(cell) : cell.shown
  })
  while (texts.at(-1) === '') texts.pop()
  return texts
}

/** A date, or a time if that is all, or both. Spreadsheets count days from the end of 1899. */
function toMoment(date: Date): string {
  if (Number.isNaN(date.getTime())) return ''
  const [day = '', time = ''] = date.toISOString().slice(0, 19).split('T')
  if (date.getUTCFullYear() < 1900) return time
  return time === '00:00:00' ? day : `${day}T${time}`
}

async function readWhole(file: string): Promise<Buffer> {
  const found = await stat(file).catch((error: NodeJS.ErrnoException) =>
    refuse({ file, message: describeReadError(error.code) }),
  )
  if (found.size > MAX_XLSX_BYTES) {
    refuse({
      file,
      message: `is ${found.size} bytes long; a spreadsheet has at most ${MAX_XLSX_BYTES}: save it as CSV`,
    })
  }
  const bytes = await readFile(file)
  const excess = await findExcess(bytes)
  if (excess !== undefined) refuse({ file, message: `${excess}, the most for a spreadsheet: save it as CSV` })
  return bytes
}

async function readSheets(file: string, bytes: Buffer, parseNumber: (stored: string) => string) {
  // Imported on demand: only this format needs it.
  const { default: readXlsxFile } = await import('read-excel-file/node')
  return await readXlsxFile<string>(bytes, { parseNumber }).catch(() =>
    refuse({ file, message: 'is not a spreadsheet in the XLSX format, or is damaged' }),
  )
}

function showCells(data: readonly (readonly unknown[])[], shown: ReadonlyMap<string, ShownNumber>): Cell[][] {
  return data.map((row, index) =>
    row.map((value, column) => shown.get(`${index + 1},${column}`) ?? toCell(value)),
  )
}

const FILE_HEADER = Buffer.from('PK\u0003\u0004', 'latin1')
const DEFLATED = 8
const CELL = Buffer.from('<c ')

/**
 * Unpacks whatever looks like a compressed file of the ZIP archive, and forgets it. The sizes that an archive states
 * need not be true, nor need its directory list every file that a reader finds.
 *
 * @returns what there is too much of
 */
async function findExcess(bytes: Buffer): Promise<string | undefined> {
  let total = 0
  let cells = 0
  for (let at = bytes.indexOf(FILE_HEADER); at >= 0; at = bytes.indexOf(FILE_HEADER, at + 1)) {
    if (at + 30 > bytes.length || bytes.readUInt16LE(at + 8) !== DEFLATED) continue
    const start = at + 30 + bytes.readUInt16LE(at + 26) + bytes.readUInt16LE(at + 28)
    const unpacked = Readable.from([bytes.subarray(start)]).pipe(createInflateRaw())
    try {
      for await (const chunk of unpacked as AsyncIterable<Buffer>) {
        total += chunk.length
        if (total > MAX_UNPACKED_BYTES) return `unpacks to more than ${MAX_UNPACKED_BYTES} bytes`
        for (let cell = chunk.indexOf(CELL); cell >= 0; cell = chunk.indexOf(CELL, cell + 1)) cells++
        if (cells > MAX_CELLS) return `has more than ${MAX_CELLS} cells`
      }
    } catch {
      // The reader reports a damaged file; and these four bytes can also occur within one.
    }
  }
  return undefined
}

function chooseSheet<Sheet extends { readonly sheet: string }>(
  file: string,
  sheets: readonly Sheet[],
  name: string | undefined,
): Sheet {
  const names = sheets.map(({ sheet }) => sheet)
  const [first, ...others] = sheets
  if (name === undefined && first !== undefined && others.length === 0) return first
  const chosen = sheets.find(({ sheet }) => sheet === name)
  if (chosen !== undefined) return chosen
  const listed = names.map((each) => quote(each)).join(', ')
  refuse({
    file,
    message:
      name === undefined
        ? `has ${names.length} sheets: choose one with --sheet. The sheets are ${listed}`
        : `has no sheet ${quote(name)}${suggest(name, names)}. The sheets are ${listed}`,
  })
}

function toName(cell: Cell): string {
  if (typeof cell === 'string') return cell.trim()
  return cell instanceof Date ? cell.toISOString() : cell.shown
}

function toCell(value: unknown): Cell {
  if (value === null || value === undefined) return ''
  return value instanceof Date ? value : String(value)
}
