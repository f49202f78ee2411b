import { cpSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { describeCause } from '../src/engines/checking/report/causes.ts'
import { checkFolder } from './support/checking.ts'
import { temporaryFolder } from './support/temporary.ts'

const CLEAN = new URL('../samples/sdr/clean/', import.meta.url).pathname

/** The sentence and the fix of each cause that a change of one file has. */
async function listCauses(file: string, change: (lines: string[]) => string[]): Promise<string[]> {
  const folder = temporaryFolder()
  cpSync(CLEAN, folder, { recursive: true })
  const path = join(folder, file)
  const lines = readFileSync(path, 'utf8').trimEnd().split('\n')
  writeFileSync(path, `${change(lines).join('\n')}\n`)
  const { summary } = await checkFolder(folder, 'sdr')
  return summary.causes.map(({ sentence, fix = '' }) => `${sentence} ${fix}`.trim())
}

const changeHeader = (change: (header: string) => string) => (lines: string[]) =>
  lines.map((line, at) => (at === 0 ? change(line) : line))
const append = (header: string, values: string) => (lines: string[]) =>
  lines.map((line, at) => `${line}${at === 0 ? header : values}`)
const drop = (name: string) => (lines: string[]) => {
  const at = lines[0]?.split(',').indexOf(name) ?? -1
  return lines.map((line) => line.split(',').toSpliced(at, 1).join(','))
}
const UNREAD = 'Export the file again as CSV in UTF-8, with the names of its columns in the first line.'

test.each<[string, string, (lines: string[]) => string[], string[]]>([
  [
    'a column more',
    'learners.csv',
    append(',Notes', ',x'),
    [
      'The column Notes is unknown. Delete what the definition does not have, or name it as the definition does.',
    ],
  ],
  [
    'columns without names',
    'learners.csv',
    append(',,', ',,'),
    ['2 columns have no name: 25, 26. Delete what has no name, or name it as the definition does.'],
  ],
  [
    'columns without and with names',
    'learners.csv',
    append(',,Notes', ',,x'),
    [
      'Column 25 has no name. Delete what has no name, or name it as the definition does.',
      'The column Notes is unknown. Delete what the definition does not have, or name it as the definition does.',
    ],
  ],
  [
    'a column less',
    'enrolments.csv',
    drop('courseEndDate'),
    ['The column courseEndDate is missing. Add the column, or export the file with it.'],
  ],
  [
    'another name of a column',
    'learners.csv',
    changeHeader((header) => header.replace('dateOfBirth', 'DOB')),
    [
      'The column dateOfBirth is missing (did you mean "DOB"?). Rename the column if it is this one; otherwise add the missing one.',
    ],
  ],
  [
    'no header',
    'learners.csv',
    (lines) => lines.slice(1),
    [expect.stringMatching(new RegExp(`^The first line has none of the expected columns, .*\\. ${UNREAD}$`))],
  ],
  [
    'whole rows in quotes',
    'enrolments.csv',
    (lines) => lines.map((line) => `"${line}"`),
    [expect.stringContaining(UNREAD)],
  ],
  [
    'a note below the records',
    'enrolments.csv',
    (lines) => [...lines, `Printed 26/11/2026${','.repeat((lines[0]?.split(',').length ?? 1) - 1)}`],
    [
      'A row has one value only, such as Printed 26/11/2026. Delete the row if it is a note; otherwise fill in its other columns.',
    ],
  ],
  [
    'a note whose only value is also wrong',
    'enrolments.csv',
    (lines) => [...lines, `,,,,Count: 1500${','.repeat((lines[0]?.split(',').length ?? 1) - 5)}`],
    [
      'A row has one value only, such as Count: 1500. Delete the row if it is a note; otherwise fill in its other columns.',
    ],
  ],
  [
    'small letters, beside a row that is no record',
    'learners.csv',
    (lines) => {
      const [header = '', ...records] = lines
      const lower = records.map((line) => {
        const cells = line.split(',')
        return cells.with(5, cells[5]?.toLowerCase() ?? '').join(',')
      })
      return [header, ...lower.slice(0, 100), header, ...lower.slice(100)]
    },
    [
      'The row repeats the header. Delete the row.',
      'gender: all 400 values are in the wrong case. Write capital and small letters as in the permitted values.',
    ],
  ],
  [
    'names of columns that people read',
    'learners.csv',
    changeHeader((header) =>
      header
        .replace('nationalStudentNumber', 'National student number (NSN)')
        .replace('dateOfBirth', 'Birth')
        .replace('highestSchoolQualification', 'Highest'),
    ),
    [
      'The column dateOfBirth is missing (did you mean "Birth"?). Rename the column if it is this one; otherwise add the missing one.',
      'The column highestSchoolQualification is missing (did you mean "Highest"?). Rename the column if it is this one; otherwise add the missing one.',
      'The column nationalStudentNumber is missing (did you mean "National student number (NSN)"?). Rename the column if it is this one; otherwise add the missing one.',
    ],
  ],
  [
    'decimal commas in many columns',
    'enrolments.csv',
    (lines) => lines.map((line) => line.replaceAll(',', ';').replaceAll(/(\d)\.(\d)/g, '$1,$2')),
    [
      'eftsFactor, eftsMonth01 and 12 more columns: 20,693 values have a decimal comma. Use a point as the decimal separator.',
    ],
  ],
  [
    'columns that the same records leave empty',
    'enrolments.csv',
    (lines) =>
      lines.map((line, at) => {
        const cells = line.split(',')
        return (at > 1000 ? cells.fill('', 19, 31) : cells).join(',')
      }),
    [
      'eftsMonth01, eftsMonth02 and 10 more columns are empty in 500 of 1,500 records. Enter 0.0000 for a month without enrolment.',
    ],
  ],
])('%s: each fault is one cause, and its fix is what to do', async (_what, file, change, expected) => {
  expect((await listCauses(file, change)).toSorted()).toEqual(expected)
})

test('a missing column comes before what few records have', async () => {
  const [first] = await listCauses('learners.csv', (lines) =>
    lines.map((line, at) => {
      const renamed = at === 0 ? line.replace('dateOfBirth', 'DOB') : line
      return at > 0 && at < 10 ? renamed.replace(/,[MFD],/, ',x,') : renamed
    }),
  )
  expect(first).toMatch(/^The column dateOfBirth is missing/)
})

test('a value of one letter is shown, also if the sentence has the letter', () => {
  const cause = { sentence: 'gender: all 400 values are in the wrong case.', example: { value: 'e' } }
  expect(describeCause(cause)).toBe('gender: all 400 values are in the wrong case ("e").')
  const named = { sentence: 'gender e is wrong: gender must be M, F or D.', example: { value: 'e' } }
  expect(describeCause(named)).toBe(named.sentence)
})

test('rows whose cells have moved, or that belong to another file, are one cause', async () => {
  const fix = 'Put the cells of such a row back into their columns, or delete a row of another file.'
  const move = (line: string) => [...line.split(',').toSpliced(8, 1), ''].join(',')
  expect(
    await listCauses('enrolments.csv', (lines) => lines.map((line, at) => (at === 3 ? move(line) : line))),
  ).toEqual([
    `A record has wrong values in 4 or more columns, as if its cells had moved or it belonged to another file. ${fix}`,
  ])
  const learner = readFileSync(`${CLEAN}learners.csv`, 'utf8').split('\n')[1] ?? ''
  expect(
    await listCauses('enrolments.csv', (lines) => {
      const columns = lines[0]?.split(',').length ?? 0
      const pasted = Array.from({ length: columns }, (_, at) => learner.split(',')[at] ?? '').join(',')
      return [...lines, pasted, pasted]
    }),
  ).toEqual([
    `2 records have wrong values in 4 or more columns, as if their cells had moved or they belonged to another file. ${fix}`,
  ])
})
