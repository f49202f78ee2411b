import type { Reader } from '../../foundation/database/database.ts'
import { MAX_FAULTS } from '../../foundation/faults/faults.ts'
import type { Fault } from '../../foundation/faults/user-error.ts'
import { quote } from '../../foundation/text/quote.ts'

/** Finds the column and the cell of a field, by the file and the line of its record. */
export type LocateLater = (file: string, line: number, field: string) => Pick<Fault, 'column' | 'cell'>

/** Records compared at once. */
const BATCH = 200

/** A letter with a mark, such as a macron. */
const MARKED = /[^\0-\x7f]/

/**
 * Finds the updates of the tables `change` and `staged` that differ from the catalogue only in letters with macrons and
 * other marks, which have become bare letters or question marks, or are gone. A spreadsheet that saves another
 * character set than Unicode does this without a word.
 *
 * @returns the first faults, one more than are reported
 */
export async function findLostMarks(reader: Reader, locate: LocateLater): Promise<Fault[]> {
  const faults: Fault[] = []
  for (let last = ''; ; ) {
    const rows = await reader.all<{
      code: string
      file: string
      line: number
      before: string
      after: string
    }>(
      `select c.code, s.file, s.line, o.document as before, s.document as after
       from change c
         join occupation o on o.code = c.code
         join staged s on s.code = c.code
       where c.existed = 1 and c.staged = 1 and c.code > $1
       order by c.code limit ${BATCH}`,
      [last],
    )
    for (const { file, line, before, after } of rows) {
      if (!MARKED.test(before)) continue
      for (const { field, had, has } of compare(JSON.parse(before), JSON.parse(after), '')) {
        const message = `is ${quote(has)}, and the catalogue has ${quote(had)}: the file has lost its macrons. Save it as UTF-8, or give --accept-lost-macrons if they are wrong`
        faults.push({ file, line, field, ...locate(file, line, field), message })
        if (faults.length > MAX_FAULTS) return faults
      }
    }
    const end = rows.at(-1)
    if (end === undefined) return faults
    last = end.code
  }
}

interface Loss {
  readonly field: string
  readonly had: string
  readonly has: string
}

function compare(before: unknown, after: unknown, field: string): Loss[] {
  if (typeof before === 'string' && typeof after === 'string') {
    return hasLostMarks(before, after) ? [{ field, had: before, has: after }] : []
  }
  if (Array.isArray(before) && Array.isArray(after)) {
    return before.flatMap((each, index) => compare(each, after[index], `${field}[${index}]`))
  }
  if (typeof before !== 'object' || typeof after !== 'object' || before === null || after === null) return []
  return Object.entries(before).flatMap(([name, value]) =>
    compare(value, (after as Record<string, unknown>)[name], field === '' ? name : `${field}.${name}`),
  )
}

/** Whether a text is another one whose letters with marks became bare or a question mark, or are gone. */
export function hasLostMarks(before: string, after: string): boolean {
  if (before === after) return false
  let at = 0
  let lost = 0
  for (const letter of before) {
    if (after.startsWith(letter, at)) {
      at += letter.length
      continue
    }
    if (!MARKED.test(letter)) return false
    lost++
    const bare = letter.normalize('NFD').replaceAll(/\p{M}/gu, '')
    if (after.startsWith(bare, at)) at += bare.length
    else if (after[at] === '?' || after[at] === '_') at++
  }
  return lost > 0 && at === after.length
}
