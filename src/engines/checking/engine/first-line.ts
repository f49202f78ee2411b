import { detectSeparator, splitRecord } from '../../records/index.ts'
import type { Resource } from '../definition/definition.ts'
import { mapColumns } from './columns.ts'
import { isUnusual } from './dialect.ts'

/** The most lines above a header, such as a title and the date of an export. */
const LINES_ABOVE = 20

/** Says that the first line of a CSV file has no column of its definition, and where the header is. */
export function describeNoColumns(text: string, resource: Resource): string {
  const expected = resource.fields.slice(0, 3).map(({ name }) => name)
  const line = findHeader(text, resource)
  const advice =
    line === undefined ? '' : ` Line ${line} has them: delete the ${line === 2 ? 'line' : 'lines'} above it.`
  return `The first line has none of the expected columns, such as ${expected.join(', ')}.${advice}`
}

/** The line below the first one that is the header: most of its cells are columns of the definition. */
function findHeader(text: string, resource: Resource): number | undefined {
  const lines = text.split(/\r?\n/, LINES_ABOVE + 1)
  const index = lines.findIndex((line) => {
    const cells = splitLine(line, resource)
    const found = countColumns(cells, resource)
    return found > 0 && found * 2 > cells.length
  })
  return index < 1 ? undefined : index + 1
}

/**
 * What is wrong with the first line of a CSV file, which is known before the file is checked: it has no expected
 * column, or it is the header of another file of the definition.
 *
 * @param start of the file, in UTF-8 or another encoding that has ASCII
 */
export function judgeFirstLine(
  start: Buffer,
  resource: Resource,
  all: readonly Resource[],
): string | undefined {
  if (isUnusual(resource.dialect) || resource.dialect.headerRows.length === 0) return undefined
  const text = start.toString('utf8').replace(/^\ufeff?(?:\r?\n)*/, '')
  const [line = ''] = text.split(/\r\n|\n|\r/, 1)
  const { own, other } = compareColumns((each) => splitLine(line, each), resource, all)
  if (other !== undefined) return describeOther(own, resource, other)
  return own === 0 ? describeNoColumns(text, resource) : undefined
}

/** Says that a header is that of another file: it has twice as many of its columns, and lacks some of its own. */
export function describeOtherHeader(
  header: readonly string[],
  resource: Resource,
  all: readonly Resource[],
): string | undefined {
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

function describeOther(own: number, resource: Resource, { found, name, path }: Other): string {
  return `The first line has ${own === 0 ? 'no column' : `${own} of the columns`} of ${resource.name}, and ${found} of ${name}. Is this the file ${name}? If so, rename it to ${path}.`
}

function splitLine(line: string, { fields, dialect }: Resource): readonly string[] {
  const known = fields.map(({ name }) => name)
  return splitRecord(line, dialect.delimiter ?? detectSeparator(line, known)) ?? []
}

function countColumns(cells: readonly string[], resource: Resource): number {
  return mapColumns(resource, cells).positions.filter((position) => position !== -1).length
}
