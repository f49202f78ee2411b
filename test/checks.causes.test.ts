import { describe, expect, test } from 'vitest'
import { describeCause } from '../src/engines/checking/report/causes.ts'
import { advise, check, checkFolder } from './support/checking.ts'
import { define } from './support/definition.ts'
import { makeSchool, renderSchool, type School, writeSchool } from './support/school.ts'
import { inject } from './support/sdr/causes.ts'
import type { FileName, Row } from './support/sdr/columns.ts'
import { makeTables, type Tables, writeReturn } from './support/sdr/small.ts'
import { temporaryFolder } from './support/temporary.ts'

async function checkSchool(files: Readonly<Record<string, string>>, options = {}) {
  return await check(files, { definition: writeSchool(), complete: true, ...options })
}

/** The summary of a school after a change of its records. */
async function summarise(change: (school: School) => void) {
  const school = makeSchool()
  change(school)
  return (await checkSchool(renderSchool(school))).summary
}

/** The sentence and the fix of each cause that a change of the lines of one file has. */
async function listCauses(file: keyof School, change: (lines: string[]) => string[]): Promise<string[]> {
  const files = renderSchool(makeSchool())
  const lines = (files[`${file}.csv`] ?? '').trimEnd().split('\n')
  const { summary } = await checkSchool({ ...files, [`${file}.csv`]: `${change(lines).join('\n')}\n` })
  return advise(summary)
}

const append = (header: string, values: string) => (lines: string[]) =>
  lines.map((line, at) => `${line}${at === 0 ? header : values}`)
const DELETE = 'or name it as the definition does.'
describe('each fault of a file is one cause, and its fix is what to do:', () => {
  test.each<[string, keyof School, (lines: string[]) => string[], unknown[]]>([
    [
      'columns without and with names',
      'learners',
      append(',,Notes', ',,x'),
      [
        `Column 5 has no name. Delete what has no name, ${DELETE}`,
        `The column Notes is unknown. Delete what the definition does not have, ${DELETE}`,
      ],
    ],
    [
      'a note below the records, whose only value is also wrong',
      'learners',
      (lines) => [...lines, ',,Printed 26/11/2026,'],
      [
        'A row has one value only, "Printed 26/11/2026". Delete the row if it is a note; otherwise fill in its other columns.',
      ],
    ],
    [
      'values in small letters, beside a row that is no record',
      'results',
      ([header = '', ...lines]) => [
        header,
        ...lines.slice(0, 5).map((line) => line.replace(/[AB]$/, (grade) => grade.toLowerCase())),
        header,
        ...lines.slice(5).map((line) => line.replace(/[AB]$/, (grade) => grade.toLowerCase())),
      ],
      [
        'The row repeats the header. Delete the row.',
        'grade: all 12 values are in the wrong case. Write capital and small letters as in the permitted values.',
      ],
    ],
    [
      'keys that several records repeat',
      'courses',
      (lines) => [...lines, ...lines.slice(1, 3)],
      [
        '2 records repeat an earlier one. The first of them: An earlier record has the same key: code "FIC01". See line 2. Keep one record for each key.',
      ],
    ],
    [
      'one reference to nothing',
      'enrolments',
      ([header = '', first = '', ...lines]) => [header, first.replace(/FIC\d+/, 'FIC99'), ...lines],
      ['There is no enrolment of S0010 in FIC01. Correct it.', 'course "FIC99" is not in courses.csv.'],
    ],
  ])('%s', async (_what, file, change, expected) => {
    expect((await listCauses(file, change)).toSorted()).toEqual(expected)
  })
})

/** Six columns: more than a row of another file, or one whose cells have moved, can have wrong by chance. */
const WIDE = ['one', 'two', 'three', 'four', 'five', 'six'].map((name, at) =>
  at === 0
    ? { name, constraints: { pattern: 'K[0-9]+' } }
    : { name, type: at % 2 === 1 ? 'date' : 'number', constraints: { required: true } },
)

async function checkWide(change: (rows: string[][]) => void) {
  const rows = Array.from({ length: 40 }, (_, at) => [
    ...[
      `K${at}`,
      `2025-01-${10 + (at % 20)}`,
      `${at}.5`,
      `2025-02-${10 + (at % 18)}`,
      `${at}.25`,
      '2025-03-01',
    ],
  ])
  change(rows)
  const text = `one,two,three,four,five,six\n${rows.map((row) => `${row.join()}\n`).join('')}`
  const { summary } = await check({ 'wide.csv': text }, { definition: define({ wide: { fields: WIDE } }) })
  return advise(summary)
}

test('rows whose cells have moved, or that belong to another file, are one cause', async () => {
  const fix = 'Put the cells of such a row back into their columns, or delete a row of another file.'
  const moved = (row: string[] = []) => row.push(row.shift() ?? '')
  expect(await checkWide((rows) => moved(rows[3]))).toEqual([
    `A record has wrong values in 4 or more columns, as if its cells had moved or it belonged to another file. ${fix}`,
  ])
  expect(await checkWide((rows) => rows.push(...[1, 2].map(() => ['a', 'b', 'c', 'd', 'e', 'f'])))).toEqual([
    `2 records have wrong values in 4 or more columns, as if their cells had moved or they belonged to another file. ${fix}`,
  ])
})

test('what several have to fix is said without a value, and with the number of columns', async () => {
  const { causes } = await summarise(({ learners, enrolments }) => {
    for (const [at, row] of learners.entries()) {
      for (const field of ['id', 'name', 'born']) row[field] = ` ${row[field]}`
      row.fee = `${at},5`
    }
    for (const row of enrolments.slice(0, 9)) row.course = 'K9'
  })
  const said = causes.map(({ general, columns = 1 }) => `${columns}: ${general}`)
  expect(said).toEqual(
    expect.arrayContaining([
      '3: Several columns have spaces at their ends in some records.',
      '1: fee has values that have a decimal comma.',
      '1: Some values of course are not in courses.csv.',
    ]),
  )
  expect(said.filter((each) => each.includes('K9'))).toEqual([])
})

test('a column of free text with numbers does not show that it was swapped', async () => {
  const rows = Array.from({ length: 9 }, (_, at) => `60-${at},${at}\n`)
  const fields = [{ name: 'id', type: 'integer' }, { name: 'district' }]
  const { summary } = await check(
    { 'voters.csv': `id,district\n${rows.join('')}` },
    { definition: define({ voters: { fields } }) },
  )
  expect(advise(summary)).toEqual([
    'id is wrong in all 9 records: id must be a whole number such as 2025. Write the value in the expected form.',
  ])
})

test('columns that are swapped are one cause, with the references that miss their values', async () => {
  const sentence =
    'two and three are swapped: the values of each fit the other. Swap the two names in the header.'
  const swap = (row: string[]) => row.splice(1, 2, row[2] ?? '', row[1] ?? '')
  expect(await checkWide((rows) => rows.forEach(swap))).toEqual([sentence])
  const { causes } = await summarise(({ enrolments, courses }) => {
    for (const [at, row] of courses.entries()) row.code = `${at}`
    for (const [at, row] of enrolments.entries())
      Object.assign(row, { course: row.start, start: `${at % 4}` })
  })
  expect(causes.map(({ key, findings }) => [key, findings])).toEqual([
    ['column:enrolments:course:swapped', expect.any(Number)],
    // Nothing else is said of these columns.
    ...causes.slice(1).map(({ key, findings }) => [key, findings]),
  ])
  expect(causes.filter(({ field = '' }) => ['start', 'course'].includes(field))).toEqual([])
})

/** The causes of a return after a change of its records, without those that the return has anyway. */
async function listReturn(change: (tables: Tables) => void) {
  const tables = makeTables()
  change(tables)
  const folder = temporaryFolder()
  writeReturn(folder, tables)
  const { summary } = await checkFolder(folder, 'sdr', { returnId: '202512' })
  return summary.causes
}

describe('columns by which files refer to each other, swapped, are one cause with all that follows:', () => {
  test.each<[FileName, string, string]>([
    ['enrolments', 'studentIdentificationCode', 'courseCode'],
    ['enrolments', 'qualificationCode', 'courseCode'],
    ['course-completions', 'studentIdentificationCode', 'courseCode'],
    ['qualification-completions', 'studentIdentificationCode', 'qualificationCode'],
    ['learners', 'localId', 'studentIdentificationCode'],
    ['courses', 'courseCode', 'qualificationCode'],
  ])('%s: %s and %s', async (name, one, other) => {
    const causes = await listReturn((tables) => {
      for (const row of tables[name]) Object.assign(row, { [one]: row[other], [other]: row[one] })
    })
    expect(causes).toMatchObject([
      {
        sentence: `${one} and ${other} are swapped: the values of each fit the other.`,
        fix: 'Swap the two names in the header.',
        file: `${name}.csv`,
      },
    ])
    expect(causes[0]?.learners).toBeLessThanOrEqual(makeTables().learners.length)
  })
})

describe('a file of another year is one cause, with the proof:', () => {
  const earlier = (rows: readonly Row[]) => {
    for (const row of rows)
      for (const [name, value] of Object.entries(row)) row[name] = value.replace(/^2025-/, '2024-')
  }
  test.each<[FileName, string, FileName]>([
    ['course-completions', 'courseStartDate', 'enrolments'],
    ['qualification-completions', 'qualificationCompletionDate', 'qualification-completions'],
    ['enrolments', 'courseStartDate', 'enrolments'],
  ])('%s', async (name, field, place) => {
    const causes = await listReturn((tables) => earlier(tables[name]))
    expect(causes).toMatchObject([
      {
        key: `file:${name}:year`,
        sentence: expect.stringMatching(
          new RegExp(
            `^${name}\\.csv is of 2024: (?:all \\d+|\\d+ of \\d+) values of ${field} are in that year, and the return is of 2025\\.$`,
          ),
        ),
        fix: 'Export the file again for 2025, or check it with the return of 2024.',
        file: `${name}.csv`,
        example: { file: `${place}.csv` },
      },
    ])
  })

  test('some dates of another year are not the file', async () => {
    const causes = await listReturn((tables) => earlier(tables['course-completions'].slice(0, 20)))
    expect(causes.map(({ kind }) => kind)).not.toContain('file')
  })
})

/** A date of which a spreadsheet with American settings has read that it has the day first. */
const turn = (date = '') =>
  date.replace(/^(\d+)-(\d+)-(\d+)$/, (_, year, month, day) =>
    Number(day) <= 12 ? `${year}-${day}-${month}` : `${day}/${month}/${year}`,
  )

test('dates that a spreadsheet has turned around are one cause with all that the rules find by them', async () => {
  const causes = await listReturn(({ enrolments }) => {
    for (const row of enrolments) row.courseStartDate = turn(row.courseStartDate)
  })
  expect(causes.map(({ sentence }) => sentence)).toEqual([
    expect.stringMatching(/^courseStartDate: .* turned day and month around\.$/),
  ])
  expect(causes[0]?.codes.length).toBeGreaterThan(2)
})

test('what swapped columns miss is theirs, also where dates of the other file are turned around', async () => {
  const causes = await listReturn((tables) => {
    for (const row of tables.enrolments) row.courseStartDate = turn(row.courseStartDate)
    for (const row of tables['course-completions']) {
      const { studentIdentificationCode = '', nationalStudentNumber = '' } = row
      Object.assign(row, {
        studentIdentificationCode: nationalStudentNumber,
        nationalStudentNumber: studentIdentificationCode,
      })
    }
  })
  const swapped = 'column:course-completions:studentIdentificationCode:swapped'
  const turned = 'column:enrolments.courseStartDate:turned'
  expect(causes.map(({ key }) => key).sort()).toEqual([swapped, turned])
  expect(causes.find(({ codes }) => codes.includes('CCO-201'))?.key).toBe(swapped)
})

test('dates that a spreadsheet has turned around are named, with the proof', async () => {
  const turned = (rows: string[][]) => {
    for (const row of rows) row[1] = turn(row[1])
  }
  expect(await checkWide(turned)).toEqual([
    'two: 34 of 40 values have a day after the 12th and are left as they were, while none of the others has one: there, a spreadsheet has turned day and month around. Export the file again from its source, with dates as year-month-day: in this file, nobody can tell which dates are right.',
  ])
  // One date that is right says that nothing was turned.
  const [cause] = await checkWide((rows) => {
    turned(rows)
    const [, , row = []] = rows
    row[1] = '2025-01-31'
  })
  expect(cause).toContain('are in a form other than year-month-day')
  // In two digits with hyphens, the year may be first.
  const [short] = await checkWide((rows) => {
    for (const [at, row] of rows.entries())
      row[1] = at % 2 ? `25-02-${10 + (at % 3)}` : `2025-02-0${1 + (at % 9)}`
  })
  expect(short).toBe(
    'two: 20 of 40 values are written with two digits of the year. Write dates as year-month-day, such as 2025-02-17.',
  )
})

test('columns that are wrong in the same way are one cause', async () => {
  expect(
    await checkWide((rows) => {
      for (const row of rows)
        for (const at of [1, 3, 5]) row[at] = (row[at] ?? '').replace(/^(\d+)-(\d+)-(\d+)$/, '$3/$2/$1')
    }),
  ).toEqual([
    'two, four and six: 120 values are in a form other than year-month-day. Write dates as year-month-day, such as 2025-02-17.',
  ])
  expect(
    await checkWide((rows) => {
      for (const row of rows.slice(0, 10)) row.fill('', 1, 5)
    }),
  ).toEqual([expect.stringMatching(/^two, three and 2 more columns are empty in 10 of 40 records\. /)])
})

describe('the order of causes is that in which to fix them:', () => {
  const enumOfWarnings = { constraints: { enum: ['red'] }, 'mahi:checks': { enum: { severity: 'Warning' } } }
  const things = {
    fields: [
      { name: 'id' },
      { name: 'size', type: 'integer' },
      { name: 'colour', ...enumOfWarnings },
      { name: 'from', type: 'date' },
      { name: 'to', type: 'date' },
    ],
    'mahi:recordChecks': [{ kind: 'order', code: 'THI-101', fields: ['from', 'to'] }],
  }
  const listKeys = async (lines: readonly string[], header = 'id,size,colour,from,to') => {
    const files = { 'things.csv': `${header}\n${lines.join('\n')}\n` }
    const { summary } = await check(files, {
      definition: define({ things, others: { fields: [{ name: 'id' }] } }),
      complete: true,
    })
    return summary.causes.map(({ key }) => key)
  }
  const MISSING = 'file:others'

  test('files, what concerns more records, rules of records, and last what is only a warning', async () => {
    expect(
      await listKeys([
        ...Array(9).fill('a,1,blue,2025-01-01,2025-01-02'),
        ...Array(2).fill('b,x,red,2025-01-01,2025-01-02'),
        ...Array(5).fill('c,1,red,2025-01-02,2025-01-01'),
        ...Array(3).fill('d,1,red,soon,2025-01-02'),
      ]),
    ).toEqual([
      MISSING,
      'value:things.from:soon',
      'column:things.size:type',
      'rule:things.id:c',
      'value:things.colour:blue',
    ])
  })

  test('a missing column concerns all records', async () => {
    expect(
      await listKeys([...Array(8).fill('b,x,red,2025-01-01'), 'b,1,red,2025-01-01'], 'id,size,colour,from'),
    ).toEqual([MISSING, 'column:things:missing:header', 'value:things.size:x'])
  })

  test('the key of a fault of the header has none of its words', async () => {
    expect(await listKeys(['a,,1,2'], 'id,,other,id')).toEqual([
      MISSING,
      'column:things:missing:header',
      'column:things:repeated:header',
      'column:things:unknown:header',
      'column:things:unnamed:header',
    ])
  })
})

test('the counts of a cause are of findings, records and learners', async () => {
  const { causes } = await summarise(({ enrolments }) => {
    // The same learner is enrolled in each course twice, and both references of a record miss.
    for (const row of enrolments.slice(0, 3)) row.course = 'NONE'
  })
  expect(causes).toMatchObject([
    { key: 'reference:courses', findings: 5, records: 3, learners: 2 },
    { key: 'rule:RES-201', findings: 2, records: 2, learners: 2 },
  ])
  const file = 'learner,course,start,ended\nS1,,soon,Y\nS1,,soon,Y\n'
  const { summary } = await checkSchool({ 'enrolments.csv': file }, { complete: false })
  expect(
    summary.causes.map(({ key, findings, records, learners }) => [key, findings, records, learners]),
  ).toEqual([
    ['column:enrolments.course:required', 2, 2, 1],
    ['column:enrolments.start:type', 2, 2, 1],
  ])
})

test('the key of a cause with a long value, or a control character, is that of its findings', async () => {
  const long = 'x'.repeat(400)
  const values = [`${long}a`, `${long}b`, 'bell\u0007']
  // Where nearly all values were wrong, the column would be one cause.
  const lines = Array.from(
    { length: 30 },
    (_, index) => `M${index},,${index < 15 ? values[index % 3] : '01'}`,
  )
  const { summary, findings } = await check({ 'members.csv': `memberId,born,kind\n${lines.join('\n')}\n` })
  const keys = summary.causes.map(({ key }) => key)
  expect(new Set(keys).size).toBe(3)
  expect(new Set(findings.map(({ cause }) => cause))).toEqual(new Set(keys))
  expect(Math.max(...keys.map(({ length }) => length))).toBeLessThanOrEqual(300)
})

describe('a return with 10 to 15 injected causes', () => {
  test.each([1, 2, 3, 4])(
    'has few causes, each of one injected cause, whose counts are exact: %i',
    async (seed) => {
      const { tables, injected, explain } = inject(
        makeTables({ seed, learners: 100, courses: 40, enrolments: 400 }),
        seed,
      )
      const folder = temporaryFolder()
      writeReturn(folder, tables)
      const { summary, findings } = await checkFolder(folder, 'sdr')
      const found = new Map<string, Set<string>>()
      let explained = 0
      for (const finding of findings) {
        const faults = explain(finding)
        const known = found.get(finding.cause ?? '') ?? new Set()
        found.set(finding.cause ?? '', known)
        if (faults.length > 0) explained++
        // A finding that names a changed cell belongs to the fault that changed it.
        if (faults.length === 1) known.add(faults[0] ?? '')
      }
      expect(injected.length).toBeGreaterThanOrEqual(10)
      expect([...found].filter(([, faults]) => faults.size > 1)).toEqual([])
      expect(explained / findings.length).toBeGreaterThanOrEqual(0.95)
      expect(summary.causes.length).toBeLessThanOrEqual(injected.length * 2)
      const named = new Set([...found.values()].flatMap((faults) => [...faults]))
      expect(injected.filter((name) => !named.has(name))).toEqual([])

      const groups = Map.groupBy(findings, ({ cause = '' }) => cause)
      expect([...groups.keys()].sort()).toEqual(summary.causes.map(({ key }) => key).sort())
      for (const cause of summary.causes) {
        const own = groups.get(cause.key) ?? []
        const places = new Set(own.map(({ file, line }) => `${file}:${line}`))
        const learners = new Set(own.flatMap(({ studentId }) => studentId ?? []))
        expect([cause.key, cause.findings, cause.records, cause.learners]).toEqual([
          cause.key,
          own.length,
          places.size,
          learners.size,
        ])
        expect(places).toContain(`${cause.example.file}:${cause.example.line}`)
      }
    },
  )
})

describe('a key that is written differently where no foreign key says so', () => {
  const COURSE =
    /^course of results\.csv is written differently from enrolments\.csv, such as "(.*)" instead of "(.*)"\.$/
  test.each([
    ['of all records', () => true],
    ['of some records', (index: number) => index % 3 === 0],
  ])('is one cause, whatever rules miss it: %s', async (_which, isChanged) => {
    const { causes } = await summarise(({ results }) => {
      for (const [index, row] of results.entries())
        if (isChanged(index)) row.course = row.course?.toLowerCase() ?? ''
    })
    expect(causes).toMatchObject([
      {
        key: 'column:results.course:alike',
        kind: 'column',
        codes: ['ENR-201', 'RES-201'],
        sentence: expect.stringMatching(COURSE),
        example: { file: 'results.csv', field: 'course' },
      },
    ])
    const [, wrong, right = ''] = COURSE.exec(causes[0]?.sentence ?? '') ?? []
    expect(wrong).toBe(right.toLowerCase())
    expect(causes[0]?.fix).toBe(`Write course exactly as in enrolments.csv: "${right}", not "${wrong}".`)
  })

  test.each([
    ['spaces', 'FIC01', 'FIC 01'],
    ['no leading zeros', '0071', '71'],
    ['more leading zeros', '71', '0071'],
  ])('may have %s', async (_what, right, written) => {
    const { causes } = await summarise(({ courses, enrolments, results }) => {
      for (const row of [...enrolments, ...results]) if (row.course === 'FIC01') row.course = right
      for (const row of courses) if (row.code === 'FIC01') row.code = right
      for (const row of results) if (row.course === right) row.course = written
    })
    expect(causes.map(({ sentence }) => sentence)).toEqual([
      `course of results.csv is written differently from enrolments.csv, such as "${written}" instead of "${right}".`,
    ])
  })

  test('does not explain what is really absent', async () => {
    const { causes } = await summarise(({ results: [lost, ...others] }) => {
      for (const row of others.slice(0, 5)) row.course = row.course?.toLowerCase() ?? ''
      if (lost !== undefined) lost.start = '2025-09-09'
    })
    const keys = ['column:results.course:alike', 'rule:ENR-201', 'rule:RES-201']
    expect(causes.map(({ key }) => key)).toEqual(keys)
  })

  test('is not put down to a file that has it right, if a rule misses a record for two reasons', async () => {
    const { causes } = await summarise(({ enrolments }) => {
      for (const [index, row] of enrolments.entries()) {
        row.learner = row.learner?.toLowerCase() ?? ''
        if (index % 3 === 0) row.course += '\u200b'
      }
    })
    expect(causes.map(({ key }) => key).toSorted()).toEqual([
      'column:enrolments.course:alike',
      'column:enrolments.learner:alike',
    ])
  })
})

describe('a file that has only its header', () => {
  test.each([
    ['learners', ['ENR-00-reference1', 'RES-00-reference1']],
    ['courses', ['ENR-00-reference2']],
    ['enrolments', ['LEA-101', 'RES-201']],
    ['results', ['ENR-201']],
  ] as const)('is the cause of what others miss in it: %s', async (name, codes) => {
    const { causes } = await summarise((school) => {
      school[name].length = 0
    })
    expect(causes).toMatchObject([
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
    const { causes } = await summarise((school) => {
      school.results.length = 0
      school.learners.push({ id: 'S9999' })
      for (const row of school.enrolments) row.ended = 'N'
    })
    expect(causes.map(({ key }) => key)).toEqual(['rule:LEA-101'])
  })
})

test('a value of one letter is shown, also if the sentence has the letter', () => {
  const cause = { sentence: 'gender: all 400 values are in the wrong case.', example: { value: 'e' } }
  expect(describeCause(cause)).toBe('gender: all 400 values are in the wrong case ("e").')
  const named = { sentence: 'gender "e" is wrong: gender must be M, F or D.', example: { value: 'e' } }
  expect(describeCause(named)).toBe(named.sentence)
  // The sentence has the number of records, not the value.
  const code = { sentence: 'code is wrong in 1 of 2 records: code must be a UUID.', example: { value: '1' } }
  expect(describeCause(code)).toBe('code is wrong in 1 of 2 records: code must be a UUID ("1").')
  // A sentence that is cut shows a whole value, or none of it.
  expect(describeCause({ ...cause, fix: 'Correct it.' }, 34)).toBe(
    'gender: all 400 values are … ("e"). Correct it.',
  )
  expect(describeCause(named, 9)).toBe('gender …')
  // A value of another file is no example of what is said of this one.
  const other = { ...cause, file: 'learners.csv', example: { file: 'enrolments.csv', value: 'e' } }
  expect(describeCause(other)).toBe(cause.sentence)
})
