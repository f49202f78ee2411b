import { createHash } from 'node:crypto'
import { readFile, stat } from 'node:fs/promises'
import { Readable } from 'node:stream'
import { createInflateRaw } from 'node:zlib'
import { refuse } from '../../foundation/faults/faults.ts'
import type { Fault } from '../../foundation/faults/user-error.ts'
import { quote } from '../../foundation/text/quote.ts'
import { suggest } from '../../foundation/text/suggest.ts'
import type { ReadBytesOptions } from './read-bytes.ts'
import type { SourceRecord } from './source-record.ts'
import { type Cell, type HeaderColumn, readHeader, readRow, type TableOptions } from './table.ts'
import { readShownNumbers } from './xlsx-formats.ts'

/** The largest spreadsheet, in bytes: it is decompressed and held in memory completely. */
const MAX_XLSX_BYTES = 20 * 1024 * 1024
/** The most bytes that the files in a spreadsheet may have together: a small ZIP file can hold gigabytes. */
const MAX_UNPACKED_BYTES = 10 * MAX_XLSX_BYTES

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
  const found = await stat(file).catch((error: NodeJS.ErrnoException) =>
    refuse({ file, message: error.code === 'ENOENT' ? 'does not exist' : `cannot be read (${error.code})` }),
  )
  if (found.size > MAX_XLSX_BYTES) {
    refuse({
      file,
      message: `is ${found.size} bytes long; a spreadsheet has at most ${MAX_XLSX_BYTES}: save it as CSV`,
    })
  }
  const bytes = await readFile(file)
  if (!(await fitsUnpacked(bytes))) {
    refuse({
      file,
      message: `unpacks to more than ${MAX_UNPACKED_BYTES} bytes, the most for a spreadsheet: save it as CSV`,
    })
  }
  options.onBytes?.(bytes.length)
  options.onFile?.({ name: file, sha256: createHash('sha256').update(bytes).digest('hex') })
  // Imported on demand: only this format needs it.
  const { default: readXlsxFile } = await import('read-excel-file/node')
  // Numbers stay text, with the digits in the file.
  const sheets = await readXlsxFile<string>(bytes, { parseNumber: String }).catch(() =>
    refuse({ file, message: 'is not a spreadsheet in the XLSX format, or is damaged' }),
  )
  const { sheet, data } = chooseSheet(file, sheets, options.mapping?.sheet ?? options.sheet)
  const shown = readShownNumbers(bytes, sheet)
  return data.map((row, index) =>
    row.map((value, column) => shown.get(`${index + 1},${column}`) ?? toCell(value)),
  )
}

const FILE_HEADER = Buffer.from('PK\u0003\u0004', 'latin1')
const DEFLATED = 8

/**
 * Unpacks whatever looks like a compressed file of the ZIP archive, and forgets it. The sizes that an archive states
 * need not be true, nor need its directory list every file that a reader finds.
 */
async function fitsUnpacked(bytes: Buffer): Promise<boolean> {
  let total = 0
  for (let at = bytes.indexOf(FILE_HEADER); at >= 0; at = bytes.indexOf(FILE_HEADER, at + 1)) {
    if (at + 30 > bytes.length || bytes.readUInt16LE(at + 8) !== DEFLATED) continue
    const start = at + 30 + bytes.readUInt16LE(at + 26) + bytes.readUInt16LE(at + 28)
    const unpacked = Readable.from([bytes.subarray(start)]).pipe(createInflateRaw())
    try {
      for await (const chunk of unpacked as AsyncIterable<Buffer>) {
        total += chunk.length
        if (total > MAX_UNPACKED_BYTES) return false
      }
    } catch {
      // The reader reports a damaged file; and these four bytes can also occur within one.
    }
  }
  return true
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
