import { type Coding, codeTitle, type OccupationSearch } from '../../engines/finding/index.ts'
import { readCells, trimName } from '../../engines/records/index.ts'
import { fail } from '../../foundation/faults/user-error.ts'
import type { TitleChecks } from './titles.ts'

/** A row of a file of titles, with the coding of its title. */
export interface CodedRow {
  readonly names: readonly string[]
  readonly row: readonly string[]
  readonly title: string
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
 * Codes the titles of a CSV file.
 *
 * @param checks collects the titles that were repaired, and those that cannot be confirmed, which are coded as they are
 */
export async function* codeRows(
  search: OccupationSearch,
  file: string,
  checks: TitleChecks,
): AsyncGenerator<CodedRow> {
  let names: readonly string[] | undefined
  for await (const { cells, line } of readCells(file, { known: ['title', 'tasks'] })) {
    if (names === undefined) {
      names = cells.map(trimName)
      if (!names.includes('title'))
        fail({ file, line, message: 'has no column "title": the first line must name the columns' })
      continue
    }
    if (cells.every((cell) => cell === '')) continue
    if (cells.length > names.length)
      fail({ file, line, message: `has ${cells.length} values, but the file has ${names.length} columns` })
    const cellOf = (name: string) => cells[names?.indexOf(name) ?? -1]
    const row = names.map((_, index) => cells[index] ?? '')
    const given = cellOf('title') ?? ''
    const checked = checks.check({ file, line, value: { title: given } })
    const title = (checked?.isRepaired ? checked.value.title : undefined) ?? given
    row[names.indexOf('title')] = title
    yield { row, names, title, coding: codeTitle(search, { title, tasks: cellOf('tasks') }) }
  }
}
