import { describe, expect, test } from 'vitest'
import { describeVerdict, listGaps } from '../src/engines/checking/report/report.ts'
import { renderRecord, splitRecord } from '../src/engines/records/index.ts'
import { check, places } from './support/checking.ts'
import { makeSchool, renderSchool, type School, writeSchool } from './support/school.ts'

async function checkTexts(files: Readonly<Record<string, string>>, options = {}) {
  return await check(files, { definition: writeSchool(), complete: true, ...options })
}

/** Checks a clean school after a change of its records. */
async function checkAfter(change: (school: School) => void, options = {}) {
  const school = makeSchool()
  change(school)
  return await checkTexts(renderSchool(school), options)
}

/** Checks a clean school after some records of a file have been written in another form. */
async function checkRows(
  file: keyof School,
  isChanged: (record: number) => boolean,
  write: (row: string) => string,
) {
  const files = renderSchool(makeSchool())
  const [header, ...rows] = (files[`${file}.csv`] ?? '').trimEnd().split('\n')
  const lines = rows.map((row, index) => (isChanged(index + 1) ? write(row) : row))
  const result = await checkTexts({ ...files, [`${file}.csv`]: [header, ...lines, ''].join('\n') })
  return { ...result, changed: rows.flatMap((_, index) => (isChanged(index + 1) ? [index + 2] : [])) }
}

const PAIR =
  'enrolments.learner = results.learner and enrolments.course = results.course and enrolments.start = results.start'
const codes = (findings: readonly { errorCode: string }[]) =>
  [...new Set(findings.map((each) => each.errorCode))].sort()
const dayFirst = (date = '') => date.replace(/^(\d+)-(\d+)-(\d+)$/, '$3/$2/$1')

test('records without faults have no finding, and every check runs', async () => {
  const { findings, summary } = await checkAfter(() => undefined)
  expect([findings, summary.notRun, summary.undecided]).toEqual([[], [], []])
})

describe('an unknown value', () => {
  test.each([
    'not (exists (select 1 from enrolments where PAIR))',
    '(select enrolments.row from enrolments where PAIR) is null',
    'coalesce((select 1 from enrolments where PAIR), 0) = 0',
  ])('is no absent record for a rule written as %s', async (where) => {
    const school = makeSchool()
    for (const row of school.enrolments) if (row.learner === school.results[0]?.learner) row.start = 'soon'
    const definition = writeSchool({
      'RES-201': `select row from results where ${where.replace('PAIR', PAIR)}`,
    })
    const { findings } = await checkTexts(renderSchool(school), { definition })
    expect(codes(findings)).toEqual(['ENR-03-type'])
  })

  test('of a related record is not taken for an absent record, and what did not run is listed', async () => {
    const { findings, summary } = await checkAfter(({ enrolments }) => {
      for (const row of enrolments) row.start = dayFirst(row.start)
    })
    expect(codes(findings)).toEqual(['ENR-03-type'])
    expect(summary.undecided).toEqual([
      { code: 'ENR-201', file: 'enrolments', field: 'start', records: 24 },
      { code: 'RES-201', file: 'enrolments', field: 'start', records: 12 },
    ])
    expect(listGaps(summary)).toContain(
      'start of enrolments.csv has unknown values. Not run because of them: ENR-201 (24 records), RES-201 (12 records).',
    )
  })

  test('of some related records hides only what they explain', async () => {
    const { findings } = await checkAfter(({ enrolments, results: [one, other] }) => {
      for (const row of enrolments) if (row.learner === one?.learner && row.ended === 'Y') row.start = 'soon'
      if (other !== undefined) other.start = '2025-09-09'
    })
    expect(places(findings)).toEqual([
      'ENR-03-type enrolments.csv:2',
      'ENR-201 enrolments.csv:4',
      'RES-201 results.csv:3',
    ])
  })

  test.each(['12500,00', 'free'])('of a fee does not become "no fee": %s', async (fee) => {
    const change = ({ learners, courses }: School) => {
      for (const row of [...learners, ...courses]) if (row.fee) row.fee = fee
    }
    expect(codes((await checkAfter(change)).findings)).toEqual(['CRS-03-type', 'LEA-04-type'])
    // Whatever codes are checked.
    expect((await checkAfter(change, { only: ['ENR-202'] })).findings).toEqual([])
  })

  test('that is not permitted, or is required, is unknown to the rules, too', async () => {
    const { findings, summary } = await checkAfter(({ enrolments, results }) => {
      for (const row of enrolments.slice(0, 2)) row.ended = 'maybe'
      for (const row of results.slice(2, 4)) row.start = ''
      for (const row of results.slice(4, 5)) row.learner = ''
    })
    // Neither are these enrolments over, nor do the others lack a result.
    expect(places(findings)).toEqual([
      'ENR-04-enum enrolments.csv:2',
      'ENR-04-enum enrolments.csv:3',
      'RES-03-required results.csv:4',
      'RES-03-required results.csv:5',
      'RES-01-required results.csv:6',
    ])
    expect(summary.undecided).toContainEqual({
      code: 'RES-00-reference1',
      file: 'results',
      field: 'learner',
      records: 1,
    })
    expect(summary.undecided).toContainEqual({
      code: 'ENR-201',
      file: 'enrolments',
      field: 'ended',
      records: 2,
    })
  })

  test('of a key hides the references that are written almost like it, and no others', async () => {
    const { findings } = await checkAfter(({ learners: [learner], enrolments }) => {
      if (learner !== undefined) learner.id = learner.id?.replace('S', 's-') ?? ''
      const lost = enrolments.at(-1)
      if (lost !== undefined) lost.learner = 'S7777'
    })
    expect(findings.map(({ errorCode, value }) => [errorCode, value])).toEqual([
      ['LEA-01-pattern', 's-0010'],
      ['ENR-00-reference1', 'S7777'],
    ])
  })

  test.each([
    [5, ['LEA-01-required', 'ENR-00-reference1']],
    [6, ['LEA-01-required']],
  ])('of %i of 12 keys: from half of them, nothing is said about references', async (count, expected) => {
    const { findings, summary } = await checkAfter(({ learners, results }) => {
      for (const row of learners.slice(0, count)) row.id = ''
      results.length = 0
    })
    expect(codes(findings.filter(({ errorCode }) => /LEA|reference1/.test(errorCode)))).toEqual(
      expected.sort(),
    )
    const hidden = summary.undecided.filter(({ code }) => code === 'ENR-00-reference1')
    expect(hidden.map(({ records }) => records)).toEqual(count === 6 ? [12] : [])
  })
})

const by = (separator: string) => (row: string) => renderRecord(splitRecord(row, ',') ?? [], separator)
const quoted = (row: string) => renderRecord([row])

const FORMS: readonly (readonly [string, (row: string) => string])[] = [
  ['separated by semicolons', by(';')],
  ['separated by tabs', by('\t')],
  ['separated by spaces', (row) => row.replaceAll(' ', '').replaceAll(',', ' ')],
  ['quoted as a whole', quoted],
  ['quoted as a whole and separated by vertical bars', (row) => quoted(by('|')(row))],
  ['separated by semicolons in its first half', (row) => row.replace(',', ';')],
  ['with a value too many', (row) => `${row},more`],
  ['with a value too few', (row) => row.slice(0, row.lastIndexOf(','))],
  ['with a misplaced quote', (row) => `${row} "x" y`],
]

describe.each(['learners', 'courses', 'enrolments', 'results'] as const)('a record of %s', (file) => {
  test.each(FORMS)('%s is not taken for absent', async (_form, write) => {
    const { findings, changed } = await checkRows(file, (record) => record === 1 || record === 4, write)
    expect(findings.map(({ errorCode, line }) => [errorCode.slice(3), line])).toEqual(
      changed.map((line) => ['-00-record', line]),
    )
  })

  test('that is a line of NDJSON, cut off, is not taken for absent', async () => {
    const school = makeSchool()
    const { [`${file}.csv`]: _, ...files } = renderSchool(school)
    const lines = school[file].map((row) => JSON.stringify(row))
    for (const at of [0, 3]) lines[at] = (lines[at] ?? '').slice(0, -1)
    const { findings } = await checkTexts({ ...files, [`${file}.ndjson`]: `${lines.join('\n')}\n` })
    expect(findings.map(({ errorCode, line }) => [errorCode.slice(3), line])).toEqual([
      ['-00-record', 1],
      ['-00-record', 4],
    ])
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
])('records in a form other than their file are one cause that says so: %#', async (write, some, fix) => {
  const { summary, findings, changed } = await checkRows('enrolments', (record) => record % 3 === 0, write)
  expect(findings).toHaveLength(changed.length)
  expect(summary.causes.map((cause) => [cause.sentence, cause.fix])).toEqual([
    [`${changed.length} ${some}`, fix],
  ])
})

test('a file whose records are all in another form holds back the checks that need it', async () => {
  const { findings, summary } = await checkRows('enrolments', () => true, by(';'))
  expect(codes(findings)).toEqual(['ENR-00-record'])
  const undecided = summary.undecided.filter((each) => each.file === 'enrolments').map(({ code }) => code)
  expect(undecided).toEqual(['LEA-101', 'RES-201'])
})

test('what may have another reason is not called another separator, and a long record is not read to its end', async () => {
  const long = `M1${';1'.repeat(100_000)}`
  const { findings } = await check({
    'members.csv': `memberId,born,kind\nM1;x,01\nM1;1990-01-31;01\nM1;;;;;;01\n${`${long}\n`.repeat(20)}`,
  })
  const one = 'The record has 1 value, but the header has 3 columns.'
  expect(findings.map(({ errorDescription }) => errorDescription)).toEqual([
    'The record has 2 values, but the header has 3 columns.',
    'The record is separated by semicolons, but the header is not.',
    ...Array(21).fill(one),
  ])
})

test('an empty record, a row of totals and a repeated header are one finding each', async () => {
  const files = renderSchool(makeSchool())
  const [header = '', first = '', ...rows] = (files['enrolments.csv'] ?? '').trimEnd().split('\n')
  const lines = [header, first, header, ...rows, `Total,${rows.length},,`, ',,,']
  const { findings, summary } = await checkTexts({ ...files, 'enrolments.csv': lines.join('\n') })
  expect(findings.map(({ line, errorDescription }) => [line, errorDescription])).toEqual([
    [3, 'The row repeats the header.'],
    [rows.length + 4, 'The row has totals, and is no record.'],
    [rows.length + 5, 'The record is empty.'],
  ])
  expect(summary.causes.map(({ fix }) => fix)).toEqual([
    'Delete the empty rows.',
    'Delete the row.',
    'Delete the row.',
  ])
})

test('files that are swapped are not read as each other', async () => {
  const { 'learners.csv': learners = '', 'courses.csv': courses = '', ...files } = renderSchool(makeSchool())
  const { findings, summary } = await checkTexts({
    ...files,
    'learners.csv': courses,
    'courses.csv': learners,
  })
  expect(codes(findings)).toEqual(['CRS-00-file', 'LEA-00-file'])
  expect(summary.causes.map(({ sentence, fix }) => [sentence, fix])).toEqual([
    [
      expect.stringMatching(
        /Is this the file learners\? If so, send it as learners, or name it learners\.csv\.$/,
      ),
      undefined,
    ],
    [
      expect.stringMatching(
        /Is this the file courses\? If so, send it as courses, or name it courses\.csv\.$/,
      ),
      undefined,
    ],
  ])
})

test('a missing file is an error, and the checks that need it are listed and counted', async () => {
  const { enrolments: _, ...school } = makeSchool()
  const { findings, summary } = await checkTexts(renderSchool(school))
  expect(codes(findings)).toEqual(['ENR-00-file'])
  const reason = 'The file enrolments.csv is missing.'
  for (const code of ['LEA-101', 'RES-201', 'ENR-00-reference1'])
    expect(summary.notRun).toContainEqual({ code, reason })
  expect(describeVerdict(summary)).toBe(
    `1 error and no warnings. 3 files were checked; enrolments.csv is missing, so ${summary.notRun.length} checks did not run.`,
  )
})
