import { describe, expect, test } from 'vitest'
import { check, places } from './support/checking.ts'
import { define, LIBRARY, LONG_LOAN, writeDefinition } from './support/definition.ts'

const MEMBERS = 'memberId,born,kind\nM1,1990-01-31,01\nM2,,02\n'
const LOANS =
  'loanId,memberId,lent,returned,fee\nL1,M1,2025-01-01,2025-01-31,\nL2,M2,2025-03-01,2025-03-02,1.50\n'

/** Checks one file of members, made of a header and lines. */
const members = (...lines: string[]) => check({ 'members.csv': `memberId,born,kind\n${lines.join('\n')}\n` })
const loans = (...lines: string[]) =>
  check({
    'members.csv': MEMBERS,
    'book-loans.csv': `loanId,memberId,lent,returned,fee\n${lines.join('\n')}\n`,
  })

test('files without faults have no findings, and the summary describes them', async () => {
  const { summary, findings } = await check({ 'members.csv': MEMBERS, 'book-loans.csv': LOANS })
  expect(findings).toEqual([])
  expect(summary).toMatchObject({
    definition: { name: 'library', version: '1' },
    parameters: { returnId: '202512', returnYear: 2025, asOf: '2025-12-31' },
    errors: 0,
    warnings: 0,
    notRun: [],
    codes: [],
  })
  expect(summary.files.map(({ file, records, bytes }) => [file, records, bytes])).toEqual([
    ['members.csv', 2, MEMBERS.length],
    ['book-loans.csv', 2, LOANS.length],
  ])
  expect(summary.files[0]?.sha256).toMatch(/^[0-9a-f]{64}$/)
})

test('a finding has the fields of a validation entry, its place, its value and a key', async () => {
  const { findings, text } = await loans('L1,M1,soon,,', '"L2",M9,2025-01-02,,')
  expect(findings).toEqual([
    {
      localId: 'L1',
      errorCode: 'LOA-03-type',
      errorDescription: 'lent is "soon", but must be a date such as 2025-02-17.',
      errorType: 'Error',
      fileType: 'Enrolment',
      studentId: 'M1',
      recordText: 'L1,M1,soon,,',
      file: 'book-loans.csv',
      line: 2,
      field: 'lent',
      value: 'soon',
      findingKey: expect.stringMatching(/^[\w-]{22}$/),
      cause: 'column:book-loans.lent:type',
    },
    expect.objectContaining({
      errorCode: 'LOA-00-reference1',
      errorDescription: 'No record of members has memberId "M9".',
      recordText: '"L2",M9,2025-01-02,,',
    }),
  ])
  expect(text.startsWith('{"localId":"L1","errorCode":"LOA-03-type","errorDescription":')).toBe(true)
})

test.each([
  ['M1,1990-01-31,01', []],
  [',1990-01-31,01', ['memberId is empty.']],
  ['   ,1990-01-31,01', ['memberId is empty.']],
  ['M1 ,1990-01-31,01', ['memberId is "M1 ", with spaces at its end.']],
  ['M1234,,', ['memberId has 5 characters, but must have at most 4.']],
  ['Mā😀x,,', []],
  [
    'M1,2025-02-29,',
    ['born is "2025-02-29", but must be a date such as 2025-02-17. The calendar has no such day.'],
  ],
  ['M1,, 01', ['kind is " 01", with spaces at its start.']],
  ['M1,,9', ['kind is "9", but must be 01 or 02.']],
])('members %j: %j', async (line, messages) => {
  const { findings } = await members(line)
  expect(findings.map(({ errorDescription }) => errorDescription)).toEqual(messages)
})

test.each([
  ['L1,M1,,,1.5', []],
  ['L1,M1,,2025-01-01,1.555', ['fee is "1.555", but must have at most 2 decimal places.']],
  ['L1,M1,,2025-01-01,-1', ['fee is "-1", but must be at least 0.']],
  [
    'L1,M1,2025-02-01,2025-01-01,',
    ['The values are not in ascending order: lent "2025-02-01", returned "2025-01-01".'],
  ],
  ['L1,M1,2025-01-01,2025-02-01,', ['The loan lasted 31 days, until 2025-02-01.']],
])('loans %j: %j', async (line, messages) => {
  const { findings } = await loans(line)
  const required = line.includes(',,1.5') ? ['returned is empty, but this record needs it.'] : []
  expect(findings.map(({ errorDescription }) => errorDescription)).toEqual([...required, ...messages])
})

test('a repeated key is one finding of each later record, which names the first one', async () => {
  const library = structuredClone(LIBRARY)
  Object.assign(library.resources[0]?.schema ?? {}, { uniqueKeys: [['born', 'kind']] })
  const { findings } = await check(
    {
      'members.csv':
        'memberId,born,kind\nM1,2000-02-29,01\nM2,2000-02-29,02\nM1,2000-02-29,01\nM1,,\nM4,2000-02-29,02\n',
    },
    { definition: writeDefinition(library) },
  )
  expect(findings.map(({ errorCode, line }) => `${errorCode} ${line}`)).toEqual([
    'MEM-00-key 4',
    'MEM-00-key 5',
    'MEM-00-key2 6',
  ])
  expect(findings.map(({ errorDescription }) => errorDescription.replace(/.* See/, 'See'))).toEqual([
    'See line 2.',
    'See line 2.',
    'See line 3.',
  ])
})

test('findings are in the order file, record, check, whatever the order of files and columns', async () => {
  const loans =
    'loanId,memberId,lent,returned,fee\nL1,M9,x,y,z\n\n"L2",M1,2025-01-01,2025-03-01,\nL1,,,,\n"L4,broken\n'
  const one = await check({
    'book-loans.csv': loans,
    'members.csv': 'memberId,born,kind\n,x,9\nM1,,\nM1,,9\n',
  })
  expect(places(one.findings)).toEqual([
    'MEM-01-required members.csv:2',
    'MEM-02-type members.csv:2',
    'MEM-03-enum members.csv:2',
    // A repeated key is known only at the end of the file, and a rule only after all files.
    'MEM-03-enum members.csv:4',
    'MEM-00-key members.csv:4',
    'LOA-03-type book-loans.csv:2',
    'LOA-04-type book-loans.csv:2',
    'LOA-05-type book-loans.csv:2',
    'LOA-00-reference1 book-loans.csv:2',
    'LOA-201 book-loans.csv:4',
    'LOA-02-required book-loans.csv:5',
    'LOA-00-key book-loans.csv:5',
    'LOA-00-record book-loans.csv:6',
  ])
  const other = await check({
    'members.csv': 'kind,memberId,born\n9,,x\n,M1,\n9,M1,\n',
    'book-loans.csv': loans,
  })
  expect(places(other.findings)).toEqual(places(one.findings))
})

test('files are in the order of the definition, though one that others refer to is read first', async () => {
  const [members, loans] = LIBRARY.resources
  const definition = writeDefinition({ ...LIBRARY, resources: [loans, members] })
  const { findings } = await check(
    {
      'members.csv': 'memberId,born,kind\nM1,x,\n',
      'book-loans.csv': 'loanId,memberId,lent,returned,fee\nL1,M9,,,\n',
    },
    { definition },
  )
  expect(places(findings)).toEqual(['LOA-00-reference1 book-loans.csv:2', 'MEM-02-type members.csv:2'])
  // That a file is missing is known before any is read.
  const missing = await check({ 'members.csv': 'memberId,born,kind\nM1,x,\n' }, { complete: true })
  expect(places(missing.findings)).toEqual(['MEM-02-type members.csv:2', 'LOA-00-file book-loans.csv:1'])
})

test('the keys of findings stay the same when records move', async () => {
  const lines = ['M1,x,', 'M2,,9', 'M3,x,9', 'M1,,', 'M1,,']
  const keys = async (order: readonly string[]) =>
    (await members(...order)).findings.map(({ findingKey }) => findingKey).sort()
  expect(await keys([...lines].reverse())).toEqual(await keys(lines))
  // Both repetitions of M1 are the same finding.
  expect(new Set(await keys(lines)).size).toBe(5)
})

test('counts are exact beyond the cap, and the summary shows what is kept', async () => {
  const lines = Array.from({ length: 500 }, (_, index) => `M${index},x,9`)
  const { summary, findings } = await check(
    { 'members.csv': `memberId,born,kind\n${lines.join('\n')}\n` },
    { findingsOfCode: 100 },
  )
  expect(summary.errors).toBe(1000)
  expect(summary.codes.map(({ code, count, stored, students }) => [code, count, stored, students])).toEqual([
    ['MEM-02-type', 500, 100, 100],
    ['MEM-03-enum', 500, 100, 100],
  ])
  expect(findings).toHaveLength(200)
  expect(findings.at(-1)?.line).toBe(101)
  // Those that are not kept belong to a cause, too.
  expect(summary.causes.map(({ findings: count }) => count)).toEqual([500, 500])
})

test('findings take at most the given bytes: every code keeps its first ones, and small ones all of theirs', async () => {
  // A record has at most three findings, and some have ten times the text of others.
  const lines = Array.from({ length: 600 }, (_, index) => {
    const born = index % 2 === 0 ? `x${'y'.repeat(index % 20 === 0 ? 300 : 3)}` : ''
    return `M${index},${born},${index < 20 ? '9' : '01'}`
  })
  const files = { 'members.csv': `memberId,born,kind\n${lines.join('\n')}\n` }
  const whole = await check(files)
  const bytesOf = (code: string, { text }: typeof whole) =>
    text
      .split('\n')
      .reduce((sum, line) => sum + (line.includes(`"errorCode":"${code}"`) ? line.length + 1 : 0), 0)
  for (const limit of [1e5, 2e4, 1]) {
    const { summary, findings, text } = await check(files, { findingsBytes: limit })
    expect(summary.codes.map(({ code, count }) => [code, count])).toEqual(
      whole.summary.codes.map(({ code, count }) => [code, count]),
    )
    const shares = summary.codes.map(({ code }) => bytesOf(code, { text } as typeof whole))
    if (limit > 1) expect(text.length).toBeLessThanOrEqual(limit)
    for (const [index, { code, count, stored, students, firstLine }] of summary.codes.entries()) {
      const own = findings.filter(({ errorCode }) => errorCode === code)
      // The first ones, in the order of the complete run.
      expect(own).toEqual(whole.findings.filter(({ errorCode }) => errorCode === code).slice(0, stored))
      expect(own.length).toBe(stored)
      expect(stored).toBeGreaterThanOrEqual(1)
      expect(students).toBe(new Set(own.map(({ studentId }) => studentId)).size)
      expect(firstLine).toBe(own[0]?.line)
      // A code that lacks findings has as much as any other, less one finding.
      if (limit > 1 && stored < count) expect(shares[index]).toBeGreaterThan(Math.max(...shares) - 1000)
    }
  }
})

test('values of referenced records must match; sums, alternatives and equality are exact', async () => {
  const number = (name: string) => ({ name, type: 'number' })
  const matches = [{ field: 'rate', reference: 'rate', code: 'LIN-101' }]
  const reference = { resource: 'rates', fields: 'code' }
  const definition = define({
    rates: { fields: [{ name: 'code' }, number('rate')], primaryKey: ['code'] },
    lines: {
      fields: [
        { name: 'code' },
        ...['rate', 'total', 'one', 'two'].map(number),
        { name: 'year', type: 'year' },
      ],
      foreignKeys: [{ fields: 'code', reference, 'mahi:matches': matches }],
      'mahi:recordChecks': [
        { kind: 'sum', code: 'LIN-102', total: 'total', parts: ['one', 'two'] },
        { kind: 'oneOf', code: 'LIN-103', fields: ['one', 'two'], count: 'exactly' },
        { kind: 'equal', code: 'LIN-104', fields: ['year', ':returnYear'] },
      ],
    },
  })
  const lines = [
    'A,0.10,0.3,0.1,0.2,', // 0.1 + 0.2 is 0.3 here; both have a value
    'A,0.2,0.3,0.30,,', // another rate
    'B,,1,,0.999999,2025', // the sum is short by a millionth
    'C,1,,,,2024',
  ]
  const { findings } = await check(
    {
      'lines.csv': `code,rate,total,one,two,year\n${lines.join('\n')}\n`,
      'rates.csv': 'code,rate\nA,0.1\nB,2\n',
    },
    { definition, returnId: '2025' },
  )
  expect(places(findings)).toEqual([
    'LIN-103 lines.csv:2',
    'LIN-101 lines.csv:3',
    'LIN-102 lines.csv:4',
    'LIN-00-reference1 lines.csv:5',
    'LIN-103 lines.csv:5',
    'LIN-104 lines.csv:5',
  ])
})

describe('a period includes its first and its last day', () => {
  const KINDS = 'code,label,from,until\n01,Adult,,\n02,Child,2024-02-29,2024-12-31\n'
  const library = structuredClone(LIBRARY)
  library.resources[0]?.schema.fields.splice(2, 1, { name: 'kind', 'mahi:codelist': 'kinds' } as never)
  const PERIOD = 'severity: Warning\nsince: 2024-02-29\nuntil: 2024-12-31'
  const files = {
    'members.csv': MEMBERS,
    'book-loans.csv': 'loanId,memberId,lent,returned,fee\nL1,M1,2024-01-01,2024-05-01,\n',
  }
  const ENUM = 'MEM-03-enum members.csv:3'
  const RULE = 'LOA-201 book-loans.csv:2'
  test.each([
    ['2024-02-28', [ENUM]],
    ['2024-02-29', [RULE]],
    ['2024-12-31', [RULE]],
    ['2025-01-01', [ENUM]],
  ])('of a code list and of a rule: %s', async (asOf, expected) => {
    const definition = writeDefinition(library, {
      'codelists/kinds.csv': KINDS,
      'rules/LOA-201.sql': LONG_LOAN.replace('severity: Warning', PERIOD),
    })
    const { findings } = await check(files, { definition, asOf })
    expect(places(findings)).toEqual(expected)
    if (expected[0] === ENUM)
      expect(findings[0]?.errorDescription).toContain(`The code is not valid on ${asOf}.`)
  })
})

test('a reference by several fields means a record that has all of them', async () => {
  const fields = [{ name: 'building' }, { name: 'room' }]
  const both = ['building', 'room']
  const definition = define({
    rooms: { fields, primaryKey: both },
    classes: { fields, foreignKeys: [{ fields: both, reference: { resource: 'rooms', fields: both } }] },
  })
  const { findings } = await check(
    {
      'rooms.csv': 'building,room\nA,1\nB,2\nA,2\nA,1\n',
      'classes.csv': 'building,room\nA,1\nB,1\nB,2\nC,2\n,9\n',
    },
    { definition },
  )
  expect(places(findings)).toEqual([
    'ROO-00-key rooms.csv:5',
    'CLA-00-reference1 classes.csv:3',
    'CLA-00-reference1 classes.csv:5',
  ])
})

test('with only, the other codes are not checked', async () => {
  const { findings } = await check({ 'members.csv': 'memberId,born,kind\n,x,9\n' }, { only: ['MEM-02-type'] })
  expect(places(findings)).toEqual(['MEM-02-type members.csv:2'])
})
