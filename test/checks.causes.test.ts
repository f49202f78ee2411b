import { describe, expect, test } from 'vitest'
import { check, checkFolder } from './support/checking.ts'
import { writeDefinition } from './support/definition.ts'
import { SCALE } from './support/properties.ts'
import { FAULTS, inject } from './support/sdr/causes.ts'
import { makeTables, type Tables, writeReturn } from './support/sdr/small.ts'
import { temporaryFolder } from './support/temporary.ts'

async function checkTables(tables: Partial<Tables>) {
  const folder = temporaryFolder()
  writeReturn(folder, tables)
  return await checkFolder(folder, 'sdr')
}

const RETURNS = Array.from({ length: SCALE > 1 ? 10 : 4 }, (_, index) => index + 1)

describe('returns of 10 to 15 injected causes', () => {
  test.each(RETURNS)('return %i: few causes, each of one injected cause', async (seed) => {
    const { tables, injected, explain } = inject(
      makeTables({ seed, learners: 200, courses: 40, enrolments: 800 }),
      seed,
    )
    const { summary, findings } = await checkTables(tables)
    const causes = new Map<string, Map<string, number>>()
    let explained = 0
    for (const finding of findings) {
      const faults = explain(finding)
      const counts = causes.get(finding.cause ?? '') ?? new Map<string, number>()
      causes.set(finding.cause ?? '', counts)
      if (faults.length > 0) explained++
      // A finding that names a changed cell belongs to the fault that changed it.
      if (faults.length === 1) counts.set(faults[0] ?? '', (counts.get(faults[0] ?? '') ?? 0) + 1)
    }
    expect(injected.length).toBeGreaterThanOrEqual(10)
    const mixed = [...causes].filter(([, counts]) => counts.size > 1)
    expect(mixed.map(([key, counts]) => [key, ...counts])).toEqual([])
    expect(explained / findings.length).toBeGreaterThanOrEqual(0.95)
    expect(summary.causes.length).toBeLessThanOrEqual(injected.length * 2)
    const named = new Set([...causes.values()].flatMap((counts) => [...counts.keys()]))
    expect(injected.filter((name) => !named.has(name))).toEqual([])
  })

  test('use every kind of fault', () => {
    const used = RETURNS.flatMap((seed) => inject(makeTables(), seed).injected)
    expect(new Set(used).size).toBeGreaterThan(FAULTS.length * 0.8)
  })
})

test('every finding belongs to exactly one cause, whose counts are exact', async () => {
  const { tables } = inject(makeTables({ seed: 7, learners: 200, courses: 40, enrolments: 800 }), 7)
  const { summary, findings } = await checkTables(tables)
  const groups = Map.groupBy(findings, ({ cause = '' }) => cause)
  expect([...groups.keys()].sort()).toEqual(summary.causes.map(({ key }) => key).sort())
  for (const cause of summary.causes) {
    const own = groups.get(cause.key) ?? []
    expect(own.length, cause.key).toBe(cause.findings)
    expect(new Set(own.map(({ file, line }) => `${file}:${line}`)).size, cause.key).toBe(cause.records)
    const learners = new Set(own.flatMap(({ studentId }) => studentId ?? []))
    expect(learners.size, cause.key).toBe(cause.learners)
    expect(own.map(({ file, line }) => `${file}:${line}`)).toContain(
      `${cause.example.file}:${cause.example.line}`,
    )
  }
  expect(summary.causes.reduce((sum, { findings: count }) => sum + count, 0)).toBe(
    summary.errors + summary.warnings,
  )
  const severities = summary.causes.map(({ severity }) => severity)
  expect(severities).toEqual([...severities].sort())
})

/** Two files that only a rule in SQL compares. */
const ROOMS = {
  name: 'rooms',
  version: '1',
  resources: [
    {
      name: 'rooms',
      path: 'rooms.csv',
      'mahi:code': 'ROO',
      schema: { fields: [{ name: 'roomId' }, { name: 'floor', type: 'integer' }], primaryKey: 'roomId' },
    },
    {
      name: 'bookings',
      path: 'bookings.csv',
      'mahi:code': 'BOO',
      schema: { fields: [{ name: 'bookingId' }, { name: 'roomId' }, { name: 'floor', type: 'integer' }] },
    },
  ],
}
const NO_ROOM = `/*
code: BOO-201
file: bookings
fields: [roomId]
severity: Error
message: 'There is no room {roomId}.'
why: Nobody can use it.
fix: Correct the room.
examples:
  - records:
      rooms: [{ roomId: A }]
      bookings: [{ roomId: A }, { roomId: B }]
    finds: [2]
*/
select row from bookings
where not exists (select 1 from rooms where rooms.roomId = bookings.roomId and rooms.floor = bookings.floor)
`

describe('a key that is written differently where no foreign key says so', () => {
  const COURSE =
    /^courseCode of course-completions\.csv is written differently from enrolments\.csv, such as (\S.*) instead of (\S+)\.$/
  test.each([
    ['of all records', () => true],
    ['of some records', (index: number) => index % 3 === 0],
  ])('is one cause, whatever rules miss it: %s', async (_which, isChanged) => {
    const tables = makeTables()
    for (const [index, row] of tables['course-completions'].entries())
      if (isChanged(index)) row.courseCode = row.courseCode?.toLowerCase() ?? ''
    const { summary } = await checkTables(tables)
    expect(summary.causes).toMatchObject([
      {
        key: 'column:course-completions.courseCode:alike',
        kind: 'column',
        codes: ['CCO-201', 'ENR-211'],
        sentence: expect.stringMatching(COURSE),
        example: { file: 'course-completions.csv', field: 'courseCode' },
      },
    ])
    const [, wrong, right = ''] = COURSE.exec(summary.causes[0]?.sentence ?? '') ?? []
    expect(wrong).toBe(right.toLowerCase())
    expect(summary.causes[0]?.fix).toBe(
      `Write courseCode exactly as in enrolments.csv: ${right}, not ${wrong}.`,
    )
  })

  test.each([
    ['another case', 'B-07', 'b-07'],
    ['spaces', 'B-07', 'B - 07'],
    ['no leading zeros', '0071', '71'],
    ['more leading zeros', '71', '0071'],
  ])('may have %s, in any two files that a rule in SQL compares', async (_what, room, written) => {
    const definition = writeDefinition(ROOMS, { 'rules/BOO-201.sql': NO_ROOM })
    const { summary } = await check(
      {
        'rooms.csv': `roomId,floor\n${room},1\n0099,2\n`,
        'bookings.csv': `bookingId,roomId,floor\nB1,${written},1\nB2,${room},1\nB3,100,1\n`,
      },
      { definition },
    )
    expect(summary.causes.map(({ sentence }) => sentence)).toEqual([
      `roomId of bookings.csv is written differently from rooms.csv, such as ${written} instead of ${room}.`,
      'There is no room 100.',
    ])
  })

  test('is not put down to a file that has it right, if a rule misses a record for two reasons', async () => {
    const tables = makeTables()
    for (const [index, row] of tables.enrolments.entries()) {
      row.studentIdentificationCode = row.studentIdentificationCode?.toLowerCase() ?? ''
      if (index % 3 === 0) row.courseCode += '\u200b'
    }
    const { summary } = await checkTables(tables)
    expect(summary.causes.map(({ key }) => key).toSorted()).toEqual([
      'column:enrolments.courseCode:invisible',
      'column:enrolments.studentIdentificationCode:alike',
    ])
  })

  test('may be several fields, and does not explain what is really absent', async () => {
    const tables = makeTables()
    const [lost, ...others] = tables['course-completions'].filter(
      ({ courseEndDate }) => (courseEndDate ?? '') >= '2025',
    )
    for (const row of others.slice(0, 5)) {
      row.courseCode = row.courseCode?.toLowerCase() ?? ''
      row.studentIdentificationCode = row.studentIdentificationCode?.toLowerCase() ?? ''
    }
    if (lost !== undefined) lost.courseStartDate = '2025-01-02'
    const { summary } = await checkTables(tables)
    const keys = summary.causes.map(({ key }) => key)
    expect(keys).toEqual([
      'column:course-completions.studentIdentificationCode, courseCode:alike',
      'rule:CCO-201',
      'rule:ENR-211',
    ])
  })
})

describe('a file that has only its header', () => {
  test.each([
    ['learners', ['ENR-00-reference1', 'QCO-00-reference1']],
    ['courses', ['ENR-00-reference2']],
    ['enrolments', ['CCO-201', 'LEA-104', 'QCO-202']],
    ['course-completions', ['ENR-211']],
  ] as const)('is the cause of what others miss in it: %s', async (name, codes) => {
    const { summary } = await checkTables({ ...makeTables(), [name]: [] })
    expect(summary.causes).toMatchObject([
      {
        key: `file:${name}:empty`,
        kind: 'file',
        codes,
        sentence: `${name}.csv has no records, but other files need them.`,
        fix: `Export ${name}.csv again with its records.`,
      },
    ])
  })

  test('is not blamed for a record that another file lacks', async () => {
    const tables = { ...makeTables(), 'qualification-completions': [] }
    const [row] = tables.learners
    tables.learners.push({ ...row, studentIdentificationCode: 'S7654321', nationalStudentNumber: '' })
    const { summary } = await checkTables(tables)
    expect(summary.causes.map(({ key }) => key)).toContain('rule:LEA-104')
    expect(summary.causes.filter(({ key }) => key.endsWith(':empty'))).toEqual([])
  })
})
