import { count } from '../../../foundation/text/format-number.ts'
import { quote } from '../../../foundation/text/quote.ts'
import { detectSeparator, namesSeparator, SEPARATED, SEPARATORS, splitRecord } from '../../records/index.ts'
import type { Resource } from '../definition/definition.ts'
import { mapColumns } from './columns.ts'
import { isUnusual } from './dialect.ts'
import { EXPORT_AGAIN, type FileFault } from './file-fault.ts'

/** The most lines above a header, such as a title and the date of an export. */
const LINES_ABOVE = 20

function nameSeparator(separator: string): string {
  return SEPARATED[SEPARATORS.indexOf(separator)] ?? quote(separator)
}

/** The lines at the start of a text of which one may be its header. */
export function splitStart(text: string): string[] {
  // A line end within a cell of a sheet is CR.
  return text.split(text.includes('\n') ? /\r?\n/ : '\r', LINES_ABOVE + 1)
}

/** Those lines, and the first that is neither empty nor the name of a separator, with all lines of its quoted names. */
function readLines(text: string): { lines: readonly string[]; first: string } {
  const lines = splitStart(text)
  const at = lines.findIndex((each) => each !== '' && !namesSeparator(each))
  if (at < 0) return { lines, first: '' }
  const isWhole = (end: number) => lines.slice(at, end).join().split('"').length % 2 === 1
  const end = lines.findIndex((_, index) => index >= at && isWhole(index + 1))
  return { lines, first: lines.slice(at, Math.max(at, end) + 1).join('\n') }
}

/**
 * Says why the first line of a CSV file is not its header, if it lacks columns of its definition: it is separated or
 * quoted in another way, or a line below it has more of them. Words of a title can be names of columns by chance.
 *
 * @param found the columns of the definition that it has
 */
export function describeHeader(text: string, resource: Resource, found: number): FileFault | undefined {
  const { lines, first } = readLines(text)
  const { delimiter } = resource.dialect
  const isHeader = (cells: readonly string[]) => {
    const known = countColumns(cells, resource)
    return known > found && known * 2 > cells.length
  }
  const [whole = '', ...others] = splitRecord(first, '\0') ?? []
  if (others.length === 0 && whole !== first && isHeader(splitLine(whole, resource)))
    return {
      message:
        'Each line is one value, because it is in quotes as a whole. Export the file again without quotes around whole lines.',
    }
  const other = SEPARATORS.find((each) => each !== delimiter && isHeader(splitRecord(first, each) ?? []))
  if (delimiter !== undefined && other !== undefined)
    return {
      message: `The file is separated by ${nameSeparator(other)}, but the definition says ${nameSeparator(delimiter)}. Export the file again with ${nameSeparator(delimiter)}, or correct the delimiter in the definition.`,
    }
  const line = 1 + lines.findIndex((each) => each !== first && isHeader(splitLine(each, resource)))
  const start =
    found === 0
      ? `The first line has none of the expected columns, such as ${nameExpected(resource)}.`
      : `The first line has ${found === 1 ? 'the name' : 'the names'} of only ${count(found, 'column')}.`
  if (line > 0)
    return {
      message: `${start} Line ${line} has ${found === 0 ? 'them' : 'more'}: delete the ${line === 2 ? 'line' : 'lines'} above it.`,
    }
  return found === 0 && !resemblesHeader(splitLine(first, resource), resource)
    ? { message: start, fix: EXPORT_AGAIN }
    : undefined
}

/** The fewest letters of a name that a value hardly resembles by chance. */
const LEAST_NAME = 4

/** Whether most cells are names of columns with another ending or a slip, such as a mark of required columns. */
function resemblesHeader(cells: readonly string[], resource: Resource): boolean {
  const { faults } = mapColumns(resource, cells)
  const meant = faults.filter(({ group, field = '' }) => group === 'renamed' && field.length >= LEAST_NAME)
  return meant.length * 2 > cells.length
}

/** The first fields of a definition, in a message that asks for them. */
export function nameExpected({ fields }: Resource): string {
  return fields
    .slice(0, 3)
    .map(({ name }) => name)
    .join(', ')
}

/**
 * What is wrong with the first line of a CSV file, which is known before the file is checked: it is no header, or that
 * of another file of the definition.
 *
 * @param start of the file, in UTF-8 or another encoding that has ASCII
 */
export function judgeFirstLine(
  start: Buffer,
  resource: Resource,
  all: readonly Resource[],
): string | undefined {
  if (isUnusual(resource.dialect) || resource.dialect.headerRows.length === 0) return undefined
  const text = start.toString('utf8').replace(/^\ufeff/, '')
  const { first } = readLines(text)
  const { own, other } = compareColumns((each) => splitLine(first, each), resource, all)
  if (other !== undefined) return describeOther(own, resource, other).message
  return first === '' ? undefined : describeHeader(text, resource, own)?.message
}

/** Says that a header is that of another file: it has twice as many of its columns, and lacks some of its own. */
export function describeOtherHeader(
  header: readonly string[],
  resource: Resource,
  all: readonly Resource[],
): FileFault | undefined {
  const { own, other } = compareColumns(() => header, resource, all)
  const isOther = other !== undefined && own < resource.fields.length && own * 2 < other.found
  return isOther ? describeOther(own, resource, other) : undefined
}

interface Other {
  readonly found: number
  readonly name: string
  readonly path: string
}

/**
 * The number of a file's columns in a header, and the other file that has the most of more columns.
 *
 * @param readCells the cells of the header if it is that of this file: files can have different separators
 */
function compareColumns(
  readCells: (resource: Resource) => readonly string[],
  resource: Resource,
  all: readonly Resource[],
): { own: number; other: Other | undefined } {
  const own = countColumns(readCells(resource), resource)
  let other: Other | undefined
  for (const each of all) {
    const found = countColumns(readCells(each), each)
    if (found > (other?.found ?? own)) other = { found, name: each.name, path: each.path }
  }
  return { own, other }
}

function describeOther(own: number, resource: Resource, { found, name, path }: Other): FileFault {
  const message = `The first line has ${own === 0 ? 'no column' : `${own} of the columns`} of ${resource.name}, and ${found} of ${name}. Is this the file ${name}? If so, send it as ${name}, or name it ${path}.`
  return { message }
}

function splitLine(line: string, { fields, dialect }: Resource): readonly string[] {
  const known = fields.map(({ name }) => name)
  return splitRecord(line, dialect.delimiter ?? detectSeparator(line, known)) ?? []
}

function countColumns(cells: readonly string[], resource: Resource): number {
  return mapColumns(resource, cells).positions.filter((position) => position !== -1).length
}
