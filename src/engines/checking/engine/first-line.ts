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
    const { found, cells } = countColumns(line, resource)
    return found > 0 && found * 2 > cells
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
  const own = countColumns(line, resource).found
  let [best, meant]: [number, string | undefined] = [own, undefined]
  for (const each of all) {
    const { found } = countColumns(line, each)
    if (found > best) [best, meant] = [found, each.name]
  }
  if (meant !== undefined)
    return `The first line has ${own === 0 ? 'no column' : `${own} of the columns`} of ${resource.name}, and ${best} of ${meant}. Is this the file ${meant}?`
  return own === 0 ? describeNoColumns(text, resource) : undefined
}

function countColumns(line: string, resource: Resource): { found: number; cells: number } {
  const known = resource.fields.map(({ name }) => name)
  const cells = splitRecord(line, resource.dialect.delimiter ?? detectSeparator(line, known)) ?? []
  const { positions } = mapColumns(resource, cells)
  return { found: positions.filter((position) => position !== -1).length, cells: cells.length }
}
