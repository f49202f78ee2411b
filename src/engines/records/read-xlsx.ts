import { createHash } from 'node:crypto'
import { readFile, stat } from 'node:fs/promises'
import { refuse } from '../../foundation/faults/faults.ts'
import { describeReadError } from '../../foundation/faults/read-error.ts'
import type { Fault } from '../../foundation/faults/user-error.ts'
import { count } from '../../foundation/text/format-number.ts'
import { quote } from '../../foundation/text/quote.ts'
import { suggest } from '../../foundation/text/suggest.ts'
import type { ReadBytesOptions } from './read-bytes.ts'
import type { SourceRecord } from './source-record.ts'
import { type HeaderColumn, nameCell, readHeader, readRow, type TableOptions } from './table.ts'
import type { Cell } from './xlsx-values.ts'
import { openWorkbook, type Sheet } from './xlsx-workbook.ts'

/** The largest spreadsheet, in bytes: it is decompressed and held in memory completely. */
const MAX_XLSX_BYTES = 20 * 1024 * 1024

/** How the records of files are read. */
export interface ReadOptions extends ReadBytesOptions, TableOptions {
  /** The sheet to read from a spreadsheet with several. */
  readonly sheet?: string | undefined
}

/**
 * Yields the records of a spreadsheet (XLSX) whose first row names its columns. A formula is read as its stored
 * result, and a failed one as an empty cell. Of merged cells, the first has the value and the others are empty.
 * `line` is the row number.
 *
 * @throws {InputRefused} if the file, its sheet or its columns cannot be read
 */
export async function* readXlsx(file: string, options: ReadOptions): AsyncGenerator<SourceRecord | Fault> {
  const bytes = await readWhole(file)
  options.onBytes?.(bytes.length)
  options.onFile?.({ name: file, sha256: createHash('sha256').update(bytes).digest('hex') })
  const sheets = await openWorkbook(file, bytes)
  const sheet = chooseSheet(file, sheets, options.mapping?.sheet ?? options.sheet)
  let header: HeaderColumn[] | undefined
  let names: string[] = []
  for (const { number: line, cells } of sheet.rows()) {
    const place = { file, line }
    const row = cells.map((cell) => (typeof cell === 'object' && cell.kind === 'error' ? '' : cell))
    if (row.every((cell) => cell === '')) continue
    if (header === undefined) {
      if (line < (options.mapping?.headerRow ?? 1)) continue
      names = row.map((cell) => toText(cell).trim())
      // Trailing columns that are formatted but empty have no name.
      while (names.at(-1) === '') names.pop()
      header = readHeader(place, names, options)
      continue
    }
    if (row.slice(names.length).some((cell) => toText(cell).trim() !== ''))
      yield { ...place, message: `has cells beyond the ${names.length} named columns` }
    const whole = Array.from({ length: names.length }, (_, column) => row[column] ?? '')
    yield* readRow(place, whole, header, { ...options, isSheet: true })
  }
  const row = options.mapping?.headerRow
  if (header === undefined) {
    const reason = row === undefined ? 'is empty: the first row' : `ends before row ${row}, which`
    refuse({ file, message: `${reason} must name its columns` })
  }
}

/** A sheet of a workbook, with its rows as text: an empty row has no cells. */
export interface TextSheet {
  readonly name: string
  rows(): Generator<readonly string[]>
  /** What is wrong with its cells, after its name, once all rows have been read. */
  readonly fault: string | undefined
}

/**
 * Reads all sheets of a workbook as text, as `xlsx-values.ts` says, with errors such as `#N/A`.
 *
 * @throws {InputRefused} if the file is too large, or cannot be read
 */
export async function readWorkbook(file: string): Promise<TextSheet[]> {
  const sheets = await openWorkbook(file, await readWhole(file))
  return sheets.map(toTextSheet)
}

function toTextSheet({ name, rows }: Sheet): TextSheet {
  let uncalculated: string[] = []
  return {
    name,
    *rows() {
      uncalculated = []
      let next = 1
      for (const { number, cells } of rows()) {
        for (; next < number; next++) yield []
        next = number + 1
        for (const [column, cell] of cells.entries())
          if (typeof cell === 'object' && cell.kind === 'formula') uncalculated.push(nameCell(column, number))
        yield cells.map(toText)
      }
    },
    get fault() {
      const [first, ...others] = uncalculated
      if (first === undefined) return undefined
      const more = others.length === 0 ? '' : ` and ${count(others.length, 'other cell')}`
      return `has a formula without a stored result in ${first}${more}: open the workbook in a spreadsheet program, which recalculates it, and save it`
    },
  }
}

function toText(cell: Cell): string {
  return typeof cell === 'string' ? cell : cell.shown
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
  return await readFile(file)
}

function chooseSheet(file: string, sheets: readonly Sheet[], name: string | undefined): Sheet {
  const [first, ...others] = sheets
  if (name === undefined && first !== undefined && others.length === 0) return first
  const chosen = sheets.find((each) => each.name === name)
  if (chosen !== undefined) return chosen
  const names = sheets.map((each) => each.name)
  const listed = names.map((each) => quote(each)).join(', ')
  refuse({
    file,
    message:
      name === undefined
        ? `has ${names.length} sheets: choose one with --sheet. The sheets are ${listed}`
        : `has no sheet ${quote(name)}${suggest(name, names)}. The sheets are ${listed}`,
  })
}
