import { readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { findDefinition } from '../src/engines/checking/definition/load.ts'
import { describeVerdict, listGaps } from '../src/engines/checking/report/report.ts'
import { splitRecord } from '../src/engines/records/index.ts'
import { checkFolder, checkInputs } from './support/checking.ts'
import { InstallationHere } from './support/command-here.ts'
import { makeTables, type Tables, writeReturn } from './support/sdr/small.ts'
import { temporaryFolder } from './support/temporary.ts'

/** Checks a small clean return after a change of its files. */
async function checkAfter(change: (tables: Tables) => void, options = {}) {
  const place = temporaryFolder()
  const tables = makeTables()
  change(tables)
  writeReturn(place, tables)
  return { ...(await checkFolder(place, 'sdr', options)), place }
}

const codes = (findings: readonly { errorCode: string }[]) => [
  ...new Set(findings.map((each) => each.errorCode)),
]

describe('an unknown value', () => {
  test('of a related record is not taken for an absent record', async () => {
    const { findings, summary } = await checkAfter(({ enrolments }) => {
      for (const row of enrolments)
        row.courseStartDate = (row.courseStartDate ?? '').replace(/^(\d+)-(\d+)-(\d+)$/, '$3/$2/$1')
    })
    expect(codes(findings)).toEqual(['ENR-06-type'])
    const undecided = summary.undecided.find(({ code, file }) => code === 'CCO-201' && file === 'enrolments')
    expect(undecided).toMatchObject({ field: 'courseStartDate', records: expect.any(Number) })
    expect(listGaps(summary).join('\n')).toMatch(
      /courseStartDate of enrolments\.csv is unknown in some records\. Not run for them: .*CCO-201 \(\d+ records\)/,
    )
  })

  test('of some related records hides only what they explain', async () => {
    const { findings } = await checkAfter(({ enrolments, 'course-completions': completions }) => {
      const [one, other] = completions.filter((row) => (row.courseEndDate ?? '') >= '2025')
      const isOf = (row: Record<string, string>, of = one) =>
        row.studentIdentificationCode === of?.studentIdentificationCode && row.courseCode === of?.courseCode
      for (const row of enrolments) if (isOf(row)) row.courseStartDate = 'soon'
      if (other !== undefined) other.courseStartDate = '2025-01-02'
    })
    expect(codes(findings).sort()).toEqual(['CCO-201', 'ENR-06-type', 'ENR-211'])
    expect(findings.filter(({ errorCode }) => errorCode === 'CCO-201')).toHaveLength(1)
  })

  test('of a fee does not become "no fee"', async () => {
    const { findings } = await checkAfter(({ learners, courses }) => {
      for (const row of [...learners, ...courses]) if (row.foreignFee) row.foreignFee = '12500,00'
    })
    expect(codes(findings).sort()).toEqual(['CRS-12-type', 'LEA-09-type'])
  })

  test('of a key hides the references that are written almost like it', async () => {
    const { findings } = await checkAfter(({ learners, enrolments }) => {
      const [learner] = learners
      if (learner !== undefined)
        learner.studentIdentificationCode = learner.studentIdentificationCode?.replace('S', 'S-') ?? ''
      const lost = enrolments.at(-1)
      if (lost !== undefined) lost.studentIdentificationCode = 'S7654321'
    })
    const references = findings.filter(({ errorCode }) => errorCode === 'ENR-00-reference1')
    expect(references.map(({ value }) => value)).toEqual(['S7654321'])
  })

  test.each([
    ['learners', (cells: string[]) => cells.with(3, 'Broken "x" y')],
    ['courses', (cells: string[]) => cells.with(2, 'Broken "x" y')],
    ['courses', (cells: string[]) => cells.toSpliced(2, 0, 'one too many')],
    ['enrolments', (cells: string[]) => cells.with(-1, 'Broken "x" y')],
    ['course-completions', (cells: string[]) => cells.slice(0, -1)],
  ] as const)('of a record of %s that cannot be read is not taken for absent', async (file, change) => {
    const { place } = await checkAfter(() => undefined)
    const path = join(place, `${file}.csv`)
    const lines = readFileSync(path, 'utf8').split('\n')
    for (const line of [1, 4, 9]) lines[line] = change((lines[line] ?? '').split(',')).join(',')
    writeFileSync(path, lines.join('\n'))
    const { findings, summary } = await checkFolder(place, 'sdr')
    expect(findings.map(({ errorCode, line }) => [errorCode.slice(3), line])).toEqual([
      ['-00-record', 2],
      ['-00-record', 5],
      ['-00-record', 10],
    ])
    expect(summary.undecided.filter((each) => each.file === file)).not.toEqual([])
  })

  test.each(['learners', 'courses', 'enrolments', 'course-completions'] as const)(
    'of a line of %s that is cut off is not taken for absent',
    async (file) => {
      const { place } = await checkAfter(() => undefined)
      const path = join(place, `${file}.csv`)
      const [header = '', ...rows] = readFileSync(path, 'utf8').trimEnd().split('\n')
      const names = header.split(',')
      const lines = rows.map((row) =>
        JSON.stringify(
          Object.fromEntries((splitRecord(row, ',') ?? []).map((cell, at) => [names[at], cell])),
        ),
      )
      for (const at of [1, 4, 9]) lines[at] = (lines[at] ?? '').slice(0, -1)
      rmSync(path)
      writeFileSync(join(place, `${file}.ndjson`), `${lines.join('\n')}\n`)
      const files = readdirSync(place).map((name) => ({
        resource: name.replace(/\.\w+$/, ''),
        path: join(place, name),
        name,
      }))
      const { findings } = await checkInputs(files, { definition: findDefinition('sdr'), complete: true })
      expect(findings.map(({ errorCode, line }) => [errorCode.slice(3), line])).toEqual([
        ['-00-record', 2],
        ['-00-record', 5],
        ['-00-record', 10],
      ])
    },
  )

  test('is unknown whatever codes are checked', async () => {
    const { findings } = await checkAfter(
      ({ learners, courses }) => {
        for (const row of [...learners, ...courses]) if (row.foreignFee) row.foreignFee = '12500,00'
      },
      { only: ['ENR-203', 'LEA-103'] },
    )
    expect(findings).toEqual([])
  })
})

test('an empty record is one finding', async () => {
  const { findings } = await checkAfter((tables) => {
    for (const rows of Object.values(tables)) rows.push({}, {}, {})
  })
  expect(findings).toHaveLength(15)
  expect(new Set(findings.map(({ errorDescription }) => errorDescription))).toEqual(
    new Set(['The record is empty.']),
  )
})

test('a row of totals and a repeated header are one finding each', async () => {
  const { place } = await checkAfter(() => undefined)
  const path = join(place, 'enrolments.csv')
  const [header = '', ...rows] = readFileSync(path, 'utf8').trimEnd().split('\n')
  const totals = `Total,${rows.length}${','.repeat(header.split(',').length - 2)}`
  writeFileSync(path, [header, rows[0], header, ...rows.slice(1), totals].join('\n'))
  const { findings, summary } = await checkFolder(place, 'sdr')
  expect(findings.map(({ line, errorDescription }) => [line, errorDescription])).toEqual([
    [3, 'The row repeats the header.'],
    [rows.length + 3, 'The row has totals, and is no record.'],
  ])
  expect(summary.causes.map(({ fix }) => fix)).toEqual(['Delete the row.', 'Delete the row.'])
})

test('a file with the columns of another one is not read as if it were this one', async () => {
  const { place } = await checkAfter(() => undefined)
  renameSync(join(place, 'learners.csv'), join(place, 'other'))
  renameSync(join(place, 'courses.csv'), join(place, 'learners.csv'))
  renameSync(join(place, 'other'), join(place, 'courses.csv'))
  const { findings, summary } = await checkFolder(place, 'sdr')
  expect(findings.map(({ errorCode }) => errorCode)).toEqual(['LEA-00-file', 'CRS-00-file'])
  expect(summary.causes.map(({ sentence, fix }) => [sentence.replace(/\d+/g, '#'), fix])).toEqual([
    [
      'The first line has # of the columns of courses, and # of learners. Is this the file learners? If so, rename it to learners.csv.',
      undefined,
    ],
    [
      'The first line has # of the columns of learners, and # of courses. Is this the file courses? If so, rename it to courses.csv.',
      undefined,
    ],
  ])
})

test('a repeated record counts once, and names the earlier line', async () => {
  const { findings } = await checkAfter(({ learners }) => learners.push({ ...learners[4] }))
  expect(findings.map(({ errorCode, line }) => [errorCode, line])).toEqual([['LEA-00-key', 42]])
  expect(findings[0]?.errorDescription).toMatch(/ too\. See line 6\.$/)
})

describe('a file', () => {
  test('that is missing is an error, except where the return does not need it', async () => {
    const without = (tables: Partial<Tables>) => {
      delete tables['course-completions']
    }
    const december = await checkAfter(without)
    expect(codes(december.findings)).toEqual(['CCO-00-file'])
    expect(describeVerdict(december.summary)).toMatch(
      /^1 error and no warnings\. 4 files were checked; course-completions\.csv is missing, so \d+ checks did not run\.$/,
    )
    const march = await checkAfter(without, { returnId: '202503' })
    expect(codes(march.findings)).not.toContain('CCO-00-file')
    expect(describeVerdict(march.summary)).toContain('course-completions.csv is missing, so')
  })

  test.each(['course-completion.csv', 'Course_Completions final.csv', 'what they finished.csv'])(
    'that has almost the right name, or its header, is an error that says how to rename it: %s',
    async (name) => {
      const { place } = await checkAfter(() => undefined)
      renameSync(join(place, 'course-completions.csv'), join(place, name))
      writeFileSync(join(place, '~$courses.xlsx'), 'the lock of a spreadsheet program')
      const result = await new InstallationHere().run(['check', place, '--json'])
      expect(result.code).toBe(1)
      expect(result.stdout).toContain(
        `${name} looks like course-completions.csv: rename it, or use --file course-completions=`,
      )
      expect(JSON.stringify(result)).not.toContain('~$')
    },
  )
})
