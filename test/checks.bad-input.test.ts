import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { expect, test } from 'vitest'
import { DefinitionRefused } from '../src/engines/checking/definition/node.ts'
import { findTextFault } from '../src/foundation/text/normalise.ts'
import { check, checkInputs, places, toInputs } from './support/checking.ts'
import { LIBRARY, writeDefinition } from './support/definition.ts'
import { temporaryFolder } from './support/temporary.ts'

const HEADER = 'memberId,born,kind'
const LOANS = 'loanId,memberId,lent,returned,fee\nL1,M1,2025-01-01,2025-03-01,\nL2,M1,x,,\n'
/** What is found in the loans, whatever is wrong with the members. */
const OF_LOANS = ['LOA-201 book-loans.csv:2', 'LOA-03-type book-loans.csv:3']

/** Checks members that have something wrong, beside loans whose findings must stay intact. */
async function checkMembers(content: string | Uint8Array, name = 'members.csv') {
  const { findings, summary } = await check({ [name]: content, 'book-loans.csv': LOANS }, { complete: true })
  const own = findings.filter(({ file }) => file === name)
  const others = places(
    findings.filter(({ errorCode }) => OF_LOANS.some((place) => place.startsWith(`${errorCode} `))),
  )
  expect(others).toEqual(OF_LOANS)
  return {
    found: own.map(({ errorCode, line, errorDescription }) => [errorCode, line, errorDescription]),
    texts: own.map(({ recordText = '' }) => recordText),
    summary,
  }
}

const good = `${HEADER}\nM1,1990-01-31,01\n`

const NO_HEADER = 'The first line has none of the expected columns, such as memberId, born, kind.'

test.each<[string, string | Buffer]>([
  ['The file is empty: it has no header.', ''],
  ['The file has no header.', '\n\r\n\n'],
  [
    'The header cannot be read. A quote that opens in this record, on line 1, is not closed.',
    '"memberId,born\nM1,\n',
  ],
  [NO_HEADER, 'one,two\n1,2\n'],
  [
    `${NO_HEADER} Line 4 has them: delete the lines above it.`,
    'Members 2025\nPrinted on 03/01/2026,,\n\nmemberId;born;kind\nM1;1990-01-31;01\n',
  ],
  [
    'The file is a ZIP archive, not CSV. Unpack it.',
    'PK\x03\x04junk, and by chance xl/ and Index/, which are no names',
  ],
  [
    'The file is a spreadsheet (ODS), not CSV. Save it as XLSX or CSV.',
    `PK\x03\x04${'.'.repeat(26)}mimetypeapplication/vnd.oasis.opendocument.spreadsheet, and xl/ by chance`,
  ],
  [
    'The file is an Excel workbook (XLSX), not CSV. Give it a name that ends with .xlsx, or export it as CSV in UTF-8.',
    `PK\x03\x04${'.'.repeat(26)}[Content_Types].xml`,
  ],
  [
    'The file is an Excel workbook in the old format (XLS), or one with a password, not CSV. Save it as XLSX without a password.',
    Buffer.from('\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1', 'latin1'),
  ],
  ['The file is gzip, but it is damaged or incomplete. Pack it again.', gzipSync(good).subarray(0, 20)],
])('%s The other files are checked', async (message, content) => {
  const { found, summary } = await checkMembers(content)
  expect(found).toEqual([['MEM-00-file', 1, message]])
  expect(summary.notRun).toContainEqual({
    code: 'LOA-00-reference1',
    reason: 'The file members.csv cannot be read.',
  })
})

test.each([
  ['a header without records', `${HEADER}\n`],
  ['a byte order mark', Buffer.from(`\ufeff${good}`)],
  ['lines that end with CRLF', good.replaceAll('\n', '\r\n')],
  ['columns separated by ;', good.replaceAll(',', ';')],
  ['columns separated by |', good.replaceAll(',', '|')],
  ['a first line that names the separator', `sep=;\n${good.replaceAll(',', ';')}`],
  ['columns separated by tabs', good.replaceAll(',', '\t')],
  ['another order of the columns', 'kind,born,memberId\n01,1990-01-31,M1\n'],
  ['quoted names of columns', '"memberId","born","kind"\n"M1",1990-01-31,01\n'],
  ['gzip', gzipSync(good)],
  ['NDJSON', '{"memberId":"M1","born":"1990-01-31","kind":"01"}\n{"memberId":"M2","born":null}\n'],
])('%s is accepted', async (_case, content) => {
  expect((await checkMembers(content)).found).toEqual([])
})

test.each([
  ['UTF-16', Buffer.from(`\ufeff${HEADER}\nMā,x,01\n`, 'utf16le')],
  ['Windows-1252', Buffer.from(`${HEADER}\nM\xe9,x,01\n`, 'latin1')],
])('%s is converted, which a note says, and its records are checked', async (encoding, content) => {
  const { found, summary } = await checkMembers(content)
  expect(found).toEqual([['MEM-02-type', 2, expect.any(String)]])
  const notes = [`The file was read as ${encoding}, because it is not UTF-8.`]
  expect(summary.files[0]).toMatchObject({ encoding, records: 1, notes })
})

test.each<[string, string, string[]]>([
  ['a missing column', 'memberId,kind\nM1,9\n', ['The column born is missing.']],
  [
    'a misspelt column',
    'memberId,borne,kind\nM1,x,9\n',
    ['The column born is missing (did you mean "borne"?).'],
  ],
  [
    'a repeated column',
    `${HEADER},kind\nM1,,9,9\n`,
    ['The column kind is repeated: column 4 has this name too.'],
  ],
  [
    'many wrong columns',
    `${HEADER},,,kind,kind,a,b,c,d,e,f\nM1,,9,,,,,,,,,,\n`,
    [
      '2 columns have no name: 4, 5.',
      '2 columns repeat the name of an earlier one: kind (column 6), kind (column 7).',
      '6 columns are unknown: a, b, c, d, e and others.',
    ],
  ],
])('%s is a finding of the header, and the other columns are checked', async (_case, content, messages) => {
  const { found } = await checkMembers(content)
  expect(found.map(([code, , message]) => (code === 'MEM-00-header' ? message : code))).toEqual([
    ...messages,
    'MEM-03-enum',
  ])
})

test('a header of 40,000 columns more is one finding of a few kilobytes', async () => {
  for (const more of [',', ',kind']) {
    const { found, summary } = await checkMembers(gzipSync(`${HEADER}${more.repeat(40_000)}\nM1,,01\n`))
    expect(found.map(([code]) => code)).toEqual(['MEM-00-header', 'MEM-00-record'])
    expect(found[0]?.[2]).toMatch(/^More than 1,000 columns /)
    expect(summary.codes.find(({ code }) => code === 'MEM-00-header')?.count).toBe(1)
  }
})

test('checks that need a missing column or file are listed as not run', async () => {
  const files = toInputs({ 'book-loans.csv': 'loanId,memberId,lent,fee\nL1,M1,2025-01-01,1\n' })
  const { summary } = await checkInputs(files.map((each) => ({ ...each, name: 'Book Loans.csv' })))
  const missing = { reason: 'The file members.csv is missing.' }
  expect(summary.notRun).toEqual([
    { code: 'LOA-00-reference1', ...missing },
    { code: 'LOA-101', reason: 'The file Book Loans.csv has no column returned.' },
    { code: 'LOA-201', reason: 'The file Book Loans.csv has no column returned.' },
    { code: 'MEM-00-key', ...missing },
  ])
})

test('records that cannot be read are findings, and the others are checked', async () => {
  const long = `M5,${'x'.repeat(2 * 1024 * 1024)},`
  const lines = ['M1,', 'M2,,01,x', 'M3,"open,01', 'M4\0,,', long, 'M\xe9,,', 'M6,x,01']
  const bytes = Buffer.from(`${lines.join('\n')}\n`, 'latin1')
  const { found } = await checkMembers(Buffer.concat([Buffer.from(`${HEADER}\nMā,,\n`), bytes]))
  expect(found).toEqual([
    ['MEM-00-record', 3, 'The record has 2 values, but the header has 3 columns.'],
    ['MEM-00-record', 4, 'The record has 4 values, but the header has 3 columns.'],
    ['MEM-00-record', 5, 'A quote that opens in this record, on line 5, is not closed.'],
    ['MEM-00-record', 6, 'The record contains the character NUL (U+0000).'],
    ['MEM-00-record', 7, 'The record is longer than 256 KiB.'],
    ['MEM-00-record', 8, 'The record is not valid UTF-8.'],
    ['MEM-02-type', 9, expect.any(String)],
  ])
})

/** Its last character has two UTF-16 units, the first of which is the last one that a sentence shows. */
const LONG = `${'x'.repeat(59)}😀`

test.each<[string, Readonly<Record<string, string>>, RegExp]>([
  ['a control character', { 'members.csv': `${HEADER}\nM\u0007,\u0085x,\n` }, /^M␇,\ufffdx,$/],
  ['NUL', { 'members.csv': `${HEADER}\nM\0,,\n` }, /^M␀,,$/],
  ['a long value in a message', { 'members.csv': `${HEADER}\n${LONG},,\n` }, /^x+😀,,$/],
  ['a long name of a column', { 'members.csv': `${HEADER},${LONG}\nM1,,,\n` }, /^memberId/],
  ['an unpaired surrogate of JSON', { 'members.ndjson': '{"memberId":"M1","born":"\\ud800"}\n' }, /^\{/],
  ['a long record', { 'members.csv': `${HEADER}\n${'x'.repeat(2 ** 17)},,\n` }, /^x{4096}…$/],
])('%s leaves nothing in a finding that a publish refuses', async (_case, files, recordText) => {
  const library = structuredClone(LIBRARY)
  Object.assign(library.resources[0]?.schema.fields[0] ?? {}, {
    'mahi:checks': { length: { message: '{memberId} is too long.' } },
  })
  const { findings } = await check(files, { definition: writeDefinition(library) })
  expect(findings).toHaveLength(1)
  expect(findings[0]?.recordText).toMatch(recordText)
  const texts = findings.flatMap((finding) => Object.values(finding)).map(String)
  expect(texts.filter((text) => text.length > 4097 || findTextFault(text) !== undefined)).toEqual([])
})

test.each([
  ['{"memberId":"M1"', 'The line is not valid JSON.'],
  ['["M1"]', 'The line is not a JSON object.'],
  ['{"memberId":"M1\\u0000"}', 'The record contains the character NUL (U+0000).'],
])('the NDJSON line %s is a finding', async (line, message) => {
  const { found } = await checkMembers(`${line}\n{"memberId":"M2","born":"x"}\n`, 'members.ndjson')
  expect(found).toEqual([
    ['MEM-00-record', 1, message],
    ['MEM-02-type', 2, expect.any(String)],
  ])
})

test('an NDJSON file without one field of its definition is one finding', async () => {
  const { found } = await checkMembers('{"a":1,"b":2}\n{"__proto__":1,"b":2}\n', 'members.ndjson')
  expect(found).toEqual([
    ['MEM-00-file', 1, 'The records have none of the expected fields, such as memberId, born, kind.'],
  ])
})

const rule = (code: string, query: string) => `/*
code: ${code}
file: members
fields: [memberId]
message: Found.
why: A test.
fix: None.
examples: []
*/
${query}`

test('a rule that writes, reads another file or is not SQL is refused before any record is read', async () => {
  const other = join(temporaryFolder(), 'other.db')
  writeFileSync(other, '')
  const library = structuredClone(LIBRARY)
  const definition = writeDefinition(library, {
    'rules/MEM-201.sql': rule('MEM-201', 'with x as (select 1) delete from members'),
    'rules/MEM-202.sql': rule('MEM-202', `select row from members; attach '${other}' as other`),
    'rules/MEM-203.sql': rule('MEM-203', 'select row from mambers'),
    'rules/MEM-204.sql': rule('MEM-204', 'select memberId, row from members'),
    'rules/MEM-206.sql': rule('MEM-206', 'select row from members where memberId = :returnid'),
    'rules/MEM-207.sql': rule('MEM-207', `select row from members where memberId = 'M1'`),
    'rules/MEM-208.sql': rule('MEM-208', 'select row from (select row, born as born2 from members)').replace(
      'Found.',
      'Found {born2}.',
    ),
  })
  const refusal = await check({ 'members.csv': good }, { definition }).catch((error: unknown) => error)
  expect(refusal).toBeInstanceOf(DefinitionRefused)
  expect((refusal as DefinitionRefused).faults.map(({ file, message }) => `${file}: ${message}`)).toEqual([
    expect.stringMatching(/^rules\/MEM-201\.sql: The query must be one select that only reads\.$/),
    expect.stringMatching(/^rules\/MEM-202\.sql: SQLite refuses the query: .*more than one statement/),
    expect.stringMatching(/^rules\/MEM-203\.sql: SQLite refuses the query: no such table: mambers\.$/),
    expect.stringMatching(/^rules\/MEM-204\.sql: The first column of the query must be row\.$/),
    expect.stringMatching(
      /^rules\/MEM-206\.sql: SQLite refuses the query: Missing named parameter "returnid"/,
    ),
    expect.stringMatching(/^rules\/MEM-208\.sql: The message uses \{born2\}/),
  ])
})

test('a rule that fails on a record is not run; the others are', async () => {
  const definition = writeDefinition(LIBRARY, {
    'rules/MEM-205.sql': rule('MEM-205', `select row, load_extension('x') from members`),
    'rules/MEM-206.sql': rule('MEM-206', 'select row from members where abs(-9223372036854775807 - 1) > row'),
    'rules/MEM-207.sql': rule('MEM-207', `select row from members where memberId = 'M1'`),
  })
  const { findings, summary } = await check({ 'members.csv': good }, { definition })
  expect(places(findings)).toEqual(['MEM-207 members.csv:2'])
  const own = summary.notRun.filter(({ code }) => code.startsWith('MEM-2'))
  expect(own.map(({ code, reason }) => `${code}: ${reason}`)).toEqual([
    expect.stringMatching(/^MEM-205: SQLite stopped the rule: /),
    'MEM-206: SQLite stopped the rule: integer overflow.',
  ])
})

test.each([
  ['4611686018427387904', '4611686018427388000'],
  ['-1', '-1'],
  ['9e999', 'Infinity'],
  ["'x'", 'x'],
  ['1.5', '1.5'],
  ['(select count(*) + 1 from members)', '4'],
])('a rule that returns the row %s has no finding, and is listed as not run', async (row, shown) => {
  const definition = writeDefinition(LIBRARY, {
    'rules/MEM-205.sql': rule('MEM-205', `select row from members union all select ${row} as row`),
    'rules/MEM-206.sql': rule('MEM-206', 'select row from members where row = 1 union all select null'),
  })
  const text = 'memberId,born,kind\nM1,,\nM2,,\nM3,,\n'
  const { findings, summary } = await check({ 'members.csv': text }, { definition })
  expect(places(findings)).toEqual(['MEM-206 members.csv:2'])
  expect(summary.notRun).toContainEqual({
    code: 'MEM-205',
    reason: `The rule returned row ${shown}, which its file does not have.`,
    blocks: true,
  })
})

test('rules that need more disk than is allowed are not run; everything else is', async () => {
  const lines = Array.from({ length: 20_000 }, (_, index) => `L${index},M1,2025-01-01,2025-03-01,`)
  const { summary } = await check(
    {
      'members.csv': good,
      'book-loans.csv': `loanId,memberId,lent,returned,fee\n${lines.join('\n')}\nL0,,,,\n`,
    },
    { diskBytes: 300_000 },
  )
  expect(summary.notRun).toEqual([
    { code: 'LOA-201', reason: 'The rules need more disk space than is allowed.' },
  ])
  expect(summary.codes.map(({ code }) => code)).toEqual(['LOA-02-required', 'LOA-00-key'])
})

test('all copies of packed and converted files share the disk that is allowed', async () => {
  const members = gzipSync(`${HEADER}\n${',,\n'.repeat(30_000)}`)
  const loans = gzipSync(`loanId,memberId,lent,returned,fee\n${',,,,\n'.repeat(10_000)}`)
  const { findings, summary } = await check(
    { 'members.csv': members, 'book-loans.csv': loans },
    { diskBytes: 120_000, findingsOfCode: 1 },
  )
  expect(summary.files.map(({ file, state }) => [file, state])).toEqual([
    ['members.csv', 'checked'],
    ['book-loans.csv', 'unreadable'],
  ])
  expect(findings.find(({ errorCode }) => errorCode === 'LOA-00-file')?.errorDescription).toBe(
    'Unpacking or converting the file needs more disk space than is allowed.',
  )
  // One that does not fit takes no room from the others.
  const large = gzipSync(`${HEADER}\n${',,\n'.repeat(60_000)}`)
  const others = await check(
    { 'members.csv': large, 'book-loans.csv': loans },
    { diskBytes: 120_000, findingsOfCode: 1 },
  )
  expect(others.summary.files.map(({ state }) => state)).toEqual(['unreadable', 'checked'])
})
