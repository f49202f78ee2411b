import { CsvReader, EncodingLook, findFormat, findUtf16, sourceOf } from '../engines/records/index.ts'
import { FormFault } from './faults.ts'

/** How the titles of a text are found. */
export interface Layout {
  /** The column of a table with the titles, from 0; `undefined` if each line is one. */
  readonly column?: number | undefined
  /** Whether the first line names the columns. */
  readonly hasHeader: boolean
}

/** A text, read as a layout says. */
export interface TitleTable {
  /** The names of the columns, or the places of those without one. */
  readonly names: readonly string[]
  /** Those below the header, each with its cells, in their order. */
  readonly rows: readonly (readonly string[])[]
  /** The title of each row, on one line; empty without one. */
  readonly titles: readonly string[]
}

/** The most columns of a table; text with more is none. */
const MOST_COLUMNS = 200

/** Between the cells of a text whose lines are not divided. */
const NEVER = '\0'

/** What the columns of titles are called, those that are most certain first. */
const NAMES = [/\bjob titles?\b/, /\b(?:jobs?|occupations?|positions?|roles?|professions?)\b/, /^titles?$/]
/** What is about a title, and is none. */
const ABOUT =
  /\b(?:codes?|ids?|no|numbers?|dates?|start|end|years?|status|types?|levels?|groups?|industry|salary|pay|hours)\b/
/** A name that is certainly no title itself. */
const IS_NAME =
  /^(?:(?:main|current|primary|your|name|of|jobs?|occupations?|positions?|roles?|professions?|titles?)(?: |$))+$/
/** What the separator of a table is found by. */
const KNOWN = ['job title', 'jobtitle', 'job_title', 'title', 'occupation', 'job', 'position', 'role']

/**
 * The text of a file, in the encoding that its bytes show.
 *
 * @throws {FormFault} for a file that is no text
 */
export function decode(bytes: Buffer): string {
  const format = findFormat(bytes.subarray(0, 4096))
  const look = new EncodingLook()
  look.push(bytes)
  const text = new TextDecoder(findUtf16(bytes) ?? look.end()).decode(bytes)
  if (format === undefined && !text.includes('\0')) return text
  throw new FormFault(
    `The file is ${format?.name ?? 'not text'}. Save the table with the titles as CSV, and choose that file.`,
    { field: 'file' },
  )
}

/** How the titles of a text are probably found. */
export function proposeLayout(text: string): Layout {
  const rows = readRows(text)
  const first = rows[0] ?? []
  const isNamed = first.some((name) => IS_NAME.test(toWords(name)))
  // A comma of prose is followed by a space, and the lines of a list of titles differ in how many they have.
  const isExport = !first.some((cell) => cell.startsWith(' '))
  const alike = rows.filter(({ length }) => length === first.length).length
  const isTable = first.length > 1 && isNarrow(rows) && (isNamed || (isExport && alike > rows.length / 2))
  if (!isTable) return { hasHeader: IS_NAME.test(toWords(first.join(' '))) }
  const names = first.map(toWords)
  const named = NAMES.map((form) => names.findIndex((name) => form.test(name) && !ABOUT.test(name)))
  const column = named.find((index) => index >= 0)
  if (column !== undefined) return { column, hasHeader: true }
  const below = rows.slice(1)
  const letters = first.map((_, index) => below.map((row) => countLetters(row[index])))
  const sums = letters.map((counts) => counts.reduce((sum, each) => sum + each, 0))
  return {
    column: sums.indexOf(Math.max(...sums)),
    // The first line is a name above numbers; one above letters may be a title, which would be lost.
    hasHeader: first.every((cell) => countLetters(cell) > 0) && below.length > 0 && sums.includes(0),
  }
}

const countLetters = (cell = ''): number => cell.match(/\p{L}/gu)?.length ?? 0

/** The columns that can have the titles; none if the text is no table. */
export function listColumns(text: string, { hasHeader }: Layout): readonly string[] {
  const rows = readRows(text)
  return isNarrow(rows) ? nameColumns(rows, hasHeader) : []
}

export function readTable(text: string, { column, hasHeader }: Layout): TitleTable {
  const all = readRows(text, column === undefined ? NEVER : undefined)
  const rows = hasHeader ? all.slice(1) : all
  const names = column === undefined && !hasHeader ? ['title'] : nameColumns(all, hasHeader)
  return { names, rows, titles: rows.map((row) => toLine(row[column ?? 0] ?? '')) }
}

/** A text on one line, with single spaces. */
const toLine = (text: string): string => text.trim().replaceAll(/\s+/g, ' ')

/** A name of a column as words in lower case: `jobTitle`, `job_title` and `Job Title` are one. */
const toWords = (name: string): string =>
  name
    .replaceAll(/(\p{Ll})(\p{Lu})/gu, '$1 $2')
    .replaceAll(/[^\p{L}\p{N}]+/gu, ' ')
    .trim()
    .toLowerCase()

const widthOf = (rows: TitleTable['rows']): number =>
  rows.reduce((most, { length }) => Math.max(most, length), 0)

function isNarrow(rows: TitleTable['rows']): boolean {
  const width = widthOf(rows)
  return width > 1 && width <= MOST_COLUMNS
}

function nameColumns(rows: TitleTable['rows'], hasHeader: boolean): string[] {
  const header = hasHeader ? (rows[0] ?? []) : []
  return Array.from({ length: widthOf(rows) }, (_, index) => header[index]?.trim() || `Column ${index + 1}`)
}

/** The records of a text; a line whose quotes are misplaced is read as if they were letters. */
function readRows(given: string, separator?: string): string[][] {
  const text = given.includes('\n') ? given : given.replaceAll('\r', '\n')
  // Blank lines at the end are no rows, and those between others are.
  const bytes = Buffer.from(text.trimEnd())
  const size = { longest: bytes.length, chunk: bytes.length }
  const reader = new CsvReader(sourceOf(bytes), { separator, known: KNOWN, ...size })
  reader.emptyLines = true
  const rows: string[][] = []
  while (reader.next())
    rows.push(
      reader.fault === undefined
        ? reader.cells.slice(0, reader.count)
        : reader.text.split(separator ?? reader.separator),
    )
  return rows
}
