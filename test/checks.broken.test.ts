import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { renderRecord, splitRecord } from '../src/engines/records/index.ts'
import { check, checkFolder } from './support/checking.ts'
import { makeTables, writeReturn } from './support/sdr/small.ts'
import { temporaryFolder } from './support/temporary.ts'

/** Checks a clean return after some rows of a file have been written in another form. */
async function checkRows(
  file: string,
  isChanged: (record: number) => boolean,
  write: (cells: string[]) => string,
) {
  const folder = temporaryFolder()
  writeReturn(folder, makeTables())
  const path = join(folder, `${file}.csv`)
  const [header, ...rows] = readFileSync(path, 'utf8').trimEnd().split('\n')
  const lines = rows.map((row, index) => (isChanged(index + 1) ? write(splitRecord(row, ',') ?? []) : row))
  writeFileSync(path, `${[header, ...lines].join('\n')}\n`)
  const result = await checkFolder(folder, 'sdr')
  return { ...result, changed: rows.flatMap((_, index) => (isChanged(index + 1) ? [index + 2] : [])) }
}

const by = (separator: string) => (cells: string[]) => renderRecord(cells, separator)
const quoted = (cells: string[]) => renderRecord([renderRecord(cells)])

const FORMS: readonly (readonly [string, (cells: string[]) => string])[] = [
  ['separated by semicolons', by(';')],
  ['separated by tabs', by('\t')],
  ['separated by vertical bars', by('|')],
  ['separated by spaces', (cells) => cells.map((cell) => cell.replaceAll(' ', '')).join(' ')],
  ['quoted as a whole', quoted],
  ['quoted as a whole and separated by semicolons', (cells) => renderRecord([renderRecord(cells, ';')])],
  [
    'separated by semicolons in its first half',
    (cells) => `${by(';')(cells.slice(0, 7))},${by(',')(cells.slice(7))}`,
  ],
]

describe.each(['learners', 'courses', 'enrolments', 'course-completions'])('a record of %s', (file) => {
  test.each(FORMS)('%s is not taken for absent', async (_form, write) => {
    const { findings, changed } = await checkRows(file, (record) => record === 3 || record === 8, write)
    expect(findings.map(({ errorCode, line }) => [errorCode.slice(3), line])).toEqual(
      changed.map((line) => ['-00-record', line]),
    )
  })
})

test.each([
  [
    by(';'),
    'records are separated by semicolons, but the header is not.',
    'Export the file again, or replace the semicolons with the separator of the header.',
  ],
  [
    quoted,
    'records are one value each, because they are quoted as a whole.',
    'Export the file again, or remove the quotes around the record.',
  ],
])('records in another form than their file are one cause that says so: %#', async (write, some, fix) => {
  const { summary, findings, changed } = await checkRows('enrolments', (record) => record % 3 === 0, write)
  expect(findings).toHaveLength(changed.length)
  expect(summary.causes.map((cause) => [cause.sentence, cause.fix])).toEqual([
    [`${changed.length} ${some}`, fix],
  ])
})

test('the values of records may contain their separator', async () => {
  const { summary, changed } = await checkRows(
    'learners',
    () => true,
    (cells) => cells.join(';'),
  )
  expect(summary.causes.map(({ sentence }) => sentence)).toEqual([
    `${changed.length} records are separated by semicolons, but the header is not.`,
  ])
})

test('a file whose records are all in another form holds back the rules that need it', async () => {
  const { findings, summary } = await checkRows('enrolments', () => true, by(';'))
  expect(new Set(findings.map(({ errorCode }) => errorCode))).toEqual(new Set(['ENR-00-record']))
  const undecided = summary.undecided.filter((each) => each.file === 'enrolments').map(({ code }) => code)
  expect(undecided).toEqual(expect.arrayContaining(['CCO-201', 'LEA-104', 'QCO-202']))
})

test('what may have another reason is not called another separator', async () => {
  const { findings } = await check({
    'members.csv': 'memberId,born,kind\nM1;x,01\nM1;1990-01-31;01\nM1;;;;;;01\n',
  })
  expect(findings.map(({ errorDescription }) => errorDescription)).toEqual([
    'The record has 2 values, but the header has 3 columns.',
    'The record is separated by semicolons, but the header is not.',
    'The record has 1 value, but the header has 3 columns.',
  ])
})

test('a long record is not read to its end', async () => {
  const row = `M1${';1'.repeat(100_000)}`
  const { findings } = await check({ 'members.csv': `memberId,born,kind\n${`${row}\n`.repeat(20)}` })
  expect(findings).toHaveLength(20)
  expect(findings[0]?.errorDescription).toBe('The record has 1 value, but the header has 3 columns.')
})
