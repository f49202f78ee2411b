import type { Reader } from '../../foundation/database/database.ts'
import { MAX_FAULTS } from '../../foundation/faults/faults.ts'
import type { Fault } from '../../foundation/faults/user-error.ts'
import { quote } from '../../foundation/text/quote.ts'
import { hasLostMarks, MARKED } from '../records/lost-marks.ts'
import { MOST_NAMED, NamedRecords } from './named-records.ts'

/** Finds the column and the cell of a field, by the file and the line of its record. */
export type LocateLater = (file: string, line: number, field: string) => Pick<Fault, 'column' | 'cell'>

/** Records compared at once. */
const BATCH = 200

/** The beginning of a text that is a number with leading zeros. */
const ZEROS = /"0\d/

/** The end of a message about damage: how it can be stored nevertheless. */
export const OR_ACCEPT = 'or give --accept-damaged if it is right'

/**
 * Finds the fields of updates, in the tables `change` and `staged`, that differ from the catalogue only in what a
 * spreadsheet removes without a word: macrons and other marks, which have become bare letters or question marks, or
 * are gone, and leading zeros of codes.
 *
 * @returns the first faults, one more than are reported
 */
export async function findLosses(reader: Reader, locate: LocateLater): Promise<Fault[]> {
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
      if (!MARKED.test(before) && !ZEROS.test(before)) continue
      for (const { field, had, has } of compare(JSON.parse(before), JSON.parse(after), '')) {
        const cause = hasLostZeros(had, has) ? LOST_ZEROS : LOST_MARKS
        const message = `is ${quote(has)}, and the catalogue has ${quote(had)}: ${cause}, ${OR_ACCEPT}`
        faults.push({ file, line, field, ...locate(file, line, field), message })
        if (faults.length > MAX_FAULTS) return faults
      }
    }
    const end = rows.at(-1)
    if (end === undefined) return faults
    last = end.code
  }
}

const LOST_MARKS = 'the file has lost its macrons. Save it as UTF-8'
const LOST_ZEROS = 'the file has lost leading zeros. Import the column as text'

/**
 * Finds the new codes that are codes of the catalogue without their leading zeros, and do not stand beside them in the
 * input. With `--replace`, the true codes would be deleted. One that is marked as removed would leave the true code.
 *
 * @returns the first faults, one more than are reported
 */
export async function findLostZeros(reader: Reader, locate: LocateLater): Promise<Fault[]> {
  const rows = await reader.all<{ code: string; had: string; file: string; line: number }>(
    `select s.code, o.code as had, s.file, s.line
     from occupation o join (
         select position, file, line, code from staged
         union all select 0, file, line, code from replacement
         where code not in (select code from occupation_removed)
       ) s on s.code = ltrim(o.code, '0')
     where o.code >= '0' and o.code < '1' and s.code <> o.code and trim(s.code, '0123456789.') = ''
       and not exists (select 1 from occupation known where known.code = s.code)
       and not exists (select 1 from staged beside where beside.code = o.code)
     order by s.position limit ${MAX_FAULTS + 1}`,
  )
  return rows.map(({ code, had, file, line }) => ({
    file,
    line,
    field: 'occupationCode',
    ...locate(file, line, 'occupationCode'),
    message: `is ${quote(code)}, and the catalogue has ${quote(had)}: ${LOST_ZEROS}, ${OR_ACCEPT}`,
  }))
}

/**
 * Finds the numeric codes of a first import that are shorter than its longest numeric code. Nothing shows whether they
 * have lost leading zeros.
 */
export async function findShortCodes(reader: Reader): Promise<NamedRecords> {
  const short = `from staged where ${isNumeric('code')} and not exists (select 1 from occupation)
    and length(code) < (select max(length(code)) from staged where ${isNumeric('code')})`
  const rows = await reader.all<{ code: string; file: string; line: number }>(
    `select code, file, line ${short} order by position limit ${MOST_NAMED}`,
  )
  const { count = 0 } = (await reader.get<{ count: number }>(`select count(*) as count ${short}`)) ?? {}
  const records = new NamedRecords()
  for (const { code, file, line } of rows) records.add({ file, line, occupationCode: code })
  records.count = count
  return records
}

const isNumeric = (code: string) => `trim(${code}, '0123456789') = ''`

/** Whether a text is a number without the leading zeros of another. Codes of ISCO and ESCO may have a point. */
function hasLostZeros(before: string, after: string): boolean {
  return /^0[\d.]*$/.test(before) && before !== after && before.replace(/^0+/, '') === after
}

interface Loss {
  readonly field: string
  readonly had: string
  readonly has: string
}

function compare(before: unknown, after: unknown, field: string): Loss[] {
  if (typeof before === 'string' && typeof after === 'string') {
    return hasLostMarks(before, after) || hasLostZeros(before, after)
      ? [{ field, had: before, has: after }]
      : []
  }
  if (Array.isArray(before) && Array.isArray(after)) {
    return before.flatMap((each, index) => compare(each, after[index], `${field}[${index}]`))
  }
  if (typeof before !== 'object' || typeof after !== 'object' || before === null || after === null) return []
  return Object.entries(before).flatMap(([name, value]) =>
    compare(value, (after as Record<string, unknown>)[name], field === '' ? name : `${field}.${name}`),
  )
}
