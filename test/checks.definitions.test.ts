import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { listChecks } from '../src/engines/checking/definition/definition.ts'
import { loadDefinition } from '../src/engines/checking/definition/load.ts'
import { DefinitionRefused } from '../src/engines/checking/definition/node.ts'
import { summariseMessage } from '../src/engines/checking/engine/explain.ts'
import { testRules } from '../src/engines/checking/test-rules.ts'
import { check } from './support/checking.ts'
import { LIBRARY, LONG_LOAN, writeDefinition } from './support/definition.ts'
import { writeFiles } from './support/temporary.ts'

function faultsOf(folder: string): readonly string[] {
  try {
    loadDefinition(folder)
  } catch (error) {
    if (error instanceof DefinitionRefused) return error.message.split('\n')
    throw error
  }
  return []
}

function withLibrary(change: (library: typeof LIBRARY) => void): string {
  const library = structuredClone(LIBRARY)
  change(library)
  return writeDefinition(library)
}

test('the codes of derived checks come from the position of the field and the kind of the check', () => {
  const codes = [...listChecks(loadDefinition(writeDefinition()))].map(({ check }) => check.code)
  const members =
    '00-file 00-header 00-record 01-required 01-spaces 01-length 02-spaces 02-type 03-spaces 03-enum 00-key'
  expect(codes.slice(0, 11)).toEqual(members.split(' ').map((code) => `MEM-${code}`))
  expect(codes.slice(-4)).toEqual(['LOA-00-key', 'LOA-00-reference1', 'LOA-101', 'LOA-201'])
})

test('every fault of a definition is reported with its file and location', () => {
  const folder = withLibrary((library) => {
    const [members, loans] = library.resources
    Object.assign(members?.schema.fields[0] ?? {}, { type: 'text' })
    Object.assign(members?.schema.fields[1] ?? {}, { 'mahi:requiredIf': {} })
    Object.assign(loans ?? {}, { 'mahi:code': 'loans' })
    Object.assign(loans?.schema ?? {}, { primaryKey: ['loanID'] })
  })
  expect(faultsOf(folder)).toEqual([
    expect.stringMatching(/^datapackage\.json: resources\[0\]\.schema\.fields\[0\]\.type: must be string, /),
    expect.stringMatching(/fields\[1\]\["mahi:requiredIf"\]: is not a known property/),
    expect.stringMatching(
      /^datapackage\.json: resources\[1\]\["mahi:code"\]: must be 2 to 6 capital letters/,
    ),
    expect.stringMatching(/resources\[1\]\.schema\.primaryKey\[0\]: names loanID, which is not a field/),
  ])
})

test('faults of rules and code lists are reported with their line', () => {
  const library = structuredClone(LIBRARY)
  Object.assign(library.resources[0]?.schema.fields[1] ?? {}, { 'mahi:codelist': 'days' })
  const folder = writeDefinition(library, {
    'rules/LOA-201.sql': LONG_LOAN.replace('fields: [returned]', 'fields: [return]').replace(
      'why: Others wait.\n',
      '',
    ),
    'rules/LOA-202.sql': '/*\ncode: LOA-202\nfile: [\n*/\nselect row from members',
    'rules/LOA-203.sql': 'select row from members',
    'codelists/days.csv': 'code,label,from\n1,Monday,\n1,Monday,\n2,Tuesday,soon\n',
  })
  expect(faultsOf(folder)).toEqual([
    expect.stringMatching(/^rules\/LOA-201\.sql: fields\[0\]: is not a field of book-loans$/),
    expect.stringMatching(/^rules\/LOA-201\.sql: why: is missing$/),
    expect.stringMatching(
      /^rules\/LOA-202\.sql:3: front matter is not YAML or JSON: the bracket \[ at column 7 is not closed/,
    ),
    expect.stringMatching(/^rules\/LOA-203\.sql:1: must start with a comment/),
    expect.stringMatching(/^codelists\/days\.csv:3: code: has "1" twice$/),
    expect.stringMatching(/^codelists\/days\.csv:4: from: must be a date/),
  ])
})

test.each([
  [
    'a comma too many',
    `{"name": "x",\n${'\n'.repeat(30)}"resources": [{},]\n}`,
    ":32: is not JSON: Unexpected token ']'",
  ],
  [
    'a comma too few',
    '{"name": "x"\n"resources": []}',
    ":2: is not JSON: Expected ',' or '}' after property value",
  ],
  ['an end too early', '{"name": "x"', ":1: is not JSON: Expected ',' or '}' after property value"],
  ['a word', 'resources', ": is not JSON: Unexpected token 'r'"],
])('a descriptor with %s is refused with the line', (_what, text, fault) => {
  const folder = writeFiles({ 'datapackage.json': text })
  expect(faultsOf(folder)).toEqual([`${join(folder, 'datapackage.json')}${fault}`])
})

test('a code list that is not UTF-8, or whose rows differ in width, is reported by its line', () => {
  const library = structuredClone(LIBRARY)
  Object.assign(library.resources[0]?.schema.fields[1] ?? {}, { 'mahi:codelist': 'days' })
  const folder = writeDefinition(library, { 'codelists/days.csv': 'code,label\n1,Monday\n2\n' })
  expect(faultsOf(folder)).toEqual(['codelists/days.csv:3: has 1 cell, but the first line has 2'])
  writeFileSync(join(folder, 'codelists/days.csv'), Buffer.from('code,label\n1,L\xe4hi\n', 'latin1'))
  expect(faultsOf(folder)).toEqual([
    'codelists/days.csv:2: The record is not valid UTF-8. Save the file as UTF-8, which Excel calls "CSV UTF-8"',
  ])
})

test('a folder without a descriptor is reported', () => {
  expect(faultsOf('/nowhere')).toEqual([
    '/nowhere/datapackage.json: does not exist; a definition is a folder with this file, or gtfs or sdr',
  ])
  expect(faultsOf('/sdrr')).toEqual([
    '/sdrr/datapackage.json: does not exist (did you mean "sdr"?); a definition is a folder with this file, or gtfs or sdr',
  ])
})

test('a rule passes if its examples agree with it and detect every changed comparison', () => {
  const definition = loadDefinition(writeDefinition())
  expect(testRules(definition)).toEqual({ rules: 1, examples: 2, mutants: 2, faults: [] })
})

test.each([
  ['an example that expects another record', (sql: string) => sql.replace('finds: [1]', 'finds: [2]')],
  ['a changed comparison', (sql: string) => sql.replace('2025-01-31 }', '2025-01-30 }')],
  [
    'no example that finds nothing',
    (sql: string) => sql.replace(/ {2}- records:\n.*\n.*lent: 2025-01-01 }\n.*finds: \[\]\n/, ''),
  ],
  ['a query that SQLite refuses', (sql: string) => sql.replace('from book_loans', 'from book_loan')],
  [
    'a query that writes',
    (sql: string) => `${sql.slice(0, sql.indexOf('select'))}with x as (select 1 as days) delete from members`,
  ],
])('the test of a definition fails on %s', (_case, change) => {
  const definition = loadDefinition(writeDefinition(LIBRARY, { 'rules/LOA-201.sql': change(LONG_LOAN) }))
  expect(testRules(definition).faults).not.toEqual([])
})

test.each(['', 'relates: {members: [memberId]}\n'])(
  'a rule that finds more without a record relates it',
  (relates) => {
    const text = `/*
code: LOA-201
file: book-loans
fields: [memberId]
${relates}message: Nobody is {memberId}.
why: A test.
fix: Correct it.
examples:
  - records: {members: [{memberId: M1}], book-loans: [{memberId: M1}]}
    finds: []
  - records: {book-loans: [{memberId: M2}]}
    finds: [1]
*/
select row from book_loans where not (exists (select 1 from members where members.memberId is book_loans.memberId))`
    const { faults } = testRules(loadDefinition(writeDefinition(LIBRARY, { 'rules/LOA-201.sql': text })))
    expect(faults.map(({ message }) => message)).toEqual(
      relates === ''
        ? [
            'finds more without a record of members: relates must say by which fields their records are related',
          ]
        : [],
    )
  },
)

test('two rules that find the same records in every example are reported', () => {
  const twin = LONG_LOAN.replace('LOA-201', 'LOA-202')
  const rules = { 'rules/LOA-201.sql': LONG_LOAN, 'rules/LOA-202.sql': twin }
  expect(testRules(loadDefinition(writeDefinition(LIBRARY, rules))).faults).toEqual([
    { file: 'rules/LOA-201.sql', message: expect.stringContaining('LOA-202') },
  ])
})

type Library = typeof LIBRARY
const order = { kind: 'order', fields: ['lent', 'returned'] }
const recordCheck = (check: object) => (library: Library) => {
  library.resources[1]?.schema['mahi:recordChecks']?.push({ code: 'LOA-102', ...check } as never)
}
const field = (resource: number, name: string, more: object) => (library: Library) => {
  const fields = library.resources[resource]?.schema.fields ?? []
  Object.assign(fields.find((each) => each.name === name) ?? {}, more)
}

test.each<[RegExp, (library: Library) => unknown]>([
  [
    /compares values of different types: date and number/,
    recordCheck({ kind: 'order', fields: ['lent', 'fee'] }),
  ],
  [/names lent, which is of type date/, recordCheck({ kind: 'sum', total: 'fee', parts: ['lent'] })],
  [
    /refers from memberId, of type integer, to members\.memberId, of type string/,
    field(1, 'memberId', { type: 'integer' }),
  ],
  [/since: must be a date such as 2025-12-31/, recordCheck({ ...order, since: '2025-02-31' })],
  [
    /resources\[1\]\.path: is the path of an earlier resource/,
    ({ resources }) => Object.assign(resources[1] ?? {}, { path: 'members.csv' }),
  ],
  [
    /resources\[0\]\.schema: is in \0, which does not exist/,
    ({ resources }) => Object.assign(resources[0] ?? {}, { schema: '\0' }),
  ],
  [
    /LOA-102, whose message uses the unknown \{lend\} \(did you mean "lent"\?\)/,
    recordCheck({ ...order, message: 'Wrong: {lend}.' }),
  ],
  [
    /constraints\.minimum: must be a date such as 2025-02-17, not "2025"/,
    field(0, 'born', { constraints: { minimum: '2025' } }),
  ],
  [/not "int" \(did you mean "integer"\?\)$/, field(0, 'born', { type: 'int' })],
  [/not "num" \(did you mean "number"\?\)$/, field(0, 'born', { type: 'num' })],
])('a definition is refused with %s', (message, change) => {
  const folder = withLibrary((library) => void change(library))
  expect(faultsOf(folder)).toContainEqual(expect.stringMatching(message))
})

test('braces with a number in a message are a part of it', async () => {
  const folder = withLibrary(field(0, 'memberId', { constraints: { pattern: '[A-Z][0-9]{4}' } }))
  const { summary, findings } = await check(
    { 'members.csv': 'memberId,born,kind\nM1,,\n' },
    { definition: folder },
  )
  const [code] = summary.codes
  expect(summariseMessage(code?.message ?? '')).toBe('memberId must be 1 capital letter, then 4 digits.')
  expect(findings[0]?.errorDescription).toBe('memberId is "M1", but must be 1 capital letter, then 4 digits.')
})

test('the message of a rule may use every parameter of the run', async () => {
  const rule = LONG_LOAN.replace(
    'The loan lasted {days} days, until {returned}.',
    'It took {days} days in {returnId}, {returnMonth} of {returnYear}, {returnStart} to {returnEnd}, on {asOf}.',
  )
  const { findings } = await check(
    { 'book-loans.csv': 'loanId,memberId,lent,returned,fee\nL1,M1,2025-01-01,2025-03-01,\n' },
    { definition: writeDefinition(LIBRARY, { 'rules/LOA-201.sql': rule }) },
  )
  expect(findings.map(({ errorDescription }) => errorDescription)).toEqual([
    'It took 59 days in 202512, 12 of 2025, 2025-01-01 to 2025-12-31, on 2025-12-31.',
  ])
})

const GROUP_RULE = LONG_LOAN.replaceAll('book-loans', 'group').replace('from book_loans', 'from "group"')

test('a resource may have a name that SQL reserves', async () => {
  const library = structuredClone(LIBRARY)
  Object.assign(library.resources[1] ?? {}, { name: 'group', path: 'group.csv' })
  const definition = writeDefinition(library, { 'rules/LOA-201.sql': GROUP_RULE })
  expect(testRules(loadDefinition(definition)).faults).toEqual([])
  const { findings } = await check(
    { 'group.csv': 'loanId,memberId,lent,returned,fee\nL1,M1,2025-01-01,2025-03-01,\n' },
    { definition },
  )
  expect(findings.map(({ errorCode }) => errorCode)).toEqual(['LOA-201'])
})

test('fields may differ only by case, but a rule that uses one is refused', async () => {
  const files = {
    'book-loans.csv': 'loanId,memberId,lent,returned,fee,LENT\nL1,M1,2025-01-01,2025-01-02,,x\n',
  }
  const library = structuredClone(LIBRARY)
  library.resources[1]?.schema.fields.push({ name: 'LENT', type: 'date' })
  const rule = LONG_LOAN.replace(/select row[\s\S]*/, 'select row, 1 as days from book_loans where fee > 100')
  const without = writeDefinition(library, { 'rules/LOA-201.sql': rule })
  const { findings } = await check(files, { definition: without })
  expect(findings.map(({ errorCode }) => errorCode)).toEqual(['LOA-06-type'])
  const refused = check(files, { definition: writeDefinition(library) })
  await expect(refused).rejects.toThrow(
    'The query uses LENT of book-loans, which has another field of this name',
  )
})
