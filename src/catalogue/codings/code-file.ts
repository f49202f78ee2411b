import { type Coding, codeTitle, type OccupationSearch } from '../../engines/finding/index.ts'
import { readCells, trimName } from '../../engines/records/index.ts'
import { fail } from '../../foundation/faults/user-error.ts'
import { count } from '../../foundation/text/format-number.ts'
import type { TitleChecks } from './titles.ts'

/** A file of titles. */
export interface CodedFile {
  /** The names of its columns. */
  readonly names: readonly string[]
  readonly rows: AsyncIterable<CodedRow>
}

/** A row of a file of titles, with the coding of its title. */
interface CodedRow {
  readonly row: readonly string[]
  readonly coding: Coding
}

const CANDIDATES = [1, 2, 3]
export const CODING_COLUMNS = [
  'code',
  'certainty',
  'group',
  ...CANDIDATES.flatMap((n) => [`candidate${n}`, `candidate${n}Title`, `candidate${n}Certainty`]),
]

export function toCells({ code, certainty, group, candidates }: Coding): (string | number)[] {
  const cells = CANDIDATES.map((n) => candidates[n - 1]).flatMap((candidate) =>
    candidate === undefined
      ? ['', '', '']
      : [candidate.occupationCode, candidate.titleEnglish ?? '', candidate.certainty],
  )
  return [code ?? '', certainty, group?.code ?? '', ...cells]
}

/**
 * Reads the header of a CSV file with titles, and codes them while its rows are read.
 *
 * @param checks collects the titles that were repaired, and those that cannot be confirmed, which are coded as they are
 * @param use reads the rows; the file is closed after it, and before a refusal is thrown
 */
export async function codeFile(
  search: OccupationSearch,
  file: string,
  checks: TitleChecks,
  use: (coded: CodedFile) => Promise<void>,
): Promise<void> {
  const lines = readCells(file, { known: ['title', 'tasks'] })
  try {
    const { value: header } = await lines.next()
    if (header === undefined)
      fail({ file, message: 'The file is empty. The first line must name the columns, such as "title"' })
    const names = header.cells.map(trimName)
    if (!names.includes('title')) {
      const message = 'has no column "title": the first line must name the columns'
      fail({ file, line: header.line, message })
    }
    const again = names.find((name) => CODING_COLUMNS.includes(name) || name === 'decision')
    if (again !== undefined) {
      const message = `has a column "${again}", which the result adds: rename or remove it`
      fail({ file, line: header.line, message })
    }
    await use({ names, rows: codeRows(search, file, checks, names, lines) })
  } finally {
    await lines.return()
  }
}

async function* codeRows(
  search: OccupationSearch,
  file: string,
  checks: TitleChecks,
  names: readonly string[],
  lines: ReturnType<typeof readCells>,
): AsyncGenerator<CodedRow> {
  for await (const { cells, line } of lines) {
    if (cells.every((cell) => cell === '')) continue
    if (cells.length > names.length)
      fail({
        file,
        line,
        message: `has ${count(cells.length, 'value')}, but the file has ${count(names.length, 'column')}`,
      })
    const cellOf = (name: string) => cells[names.indexOf(name)]
    const row = names.map((_, index) => cells[index] ?? '')
    const given = cellOf('title') ?? ''
    const checked = checks.check({ file, line, value: { title: given } })
    const title = (checked?.isRepaired ? checked.value.title : undefined) ?? given
    row[names.indexOf('title')] = title
    yield { row, coding: codeTitle(search, { title, tasks: cellOf('tasks') }) }
  }
}
