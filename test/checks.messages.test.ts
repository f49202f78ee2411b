import { describe, expect, test } from 'vitest'
import { loadDefinition } from '../src/engines/checking/definition/load.ts'
import { judgeFirstLine } from '../src/engines/checking/engine/first-line.ts'
import { Containers } from '../src/engines/checking/engine/unpack.ts'
import { tabulateCauses } from '../src/engines/checking/report/cause-table.ts'
import { listGaps } from '../src/engines/checking/report/report.ts'
import { selectFiles } from '../src/engines/checking/select-files.ts'
import { advise, check, checkInputs } from './support/checking.ts'
import { define } from './support/definition.ts'
import { writeFiles } from './support/temporary.ts'

const TABLE = {
  fields: [
    { name: 'code', 'mahi:synonyms': ['NSN', 'Student ID'] },
    { name: 'name' },
    { name: 'n', type: 'integer' },
  ],
}

type Table = Parameters<typeof define>[0][string]

/** What to fix in a file `tab.csv`, as a person reads it. */
async function adviseOn(text: string, table: Table = TABLE): Promise<string[]> {
  const { summary } = await check({ 'tab.csv': text }, { definition: define({ tab: table }) })
  return advise(summary)
}

describe('a header is described by what a person sees:', () => {
  test.each<[string, string, string[], object?]>([
    [
      'another separator than that of the definition',
      'code,name,n\nA,x,1\n',
      [
        'The file is separated by commas, but the definition says semicolons. Export the file again with semicolons, or correct the delimiter in the definition.',
      ],
      { ...TABLE, resource: { dialect: { delimiter: ';' } } },
    ],
    [
      'lines that are quoted as a whole',
      '"code,name,n"\n"A,x,1"\n"B,""y, z"",2"\n',
      [
        'Each line is one value, because it is in quotes as a whole. Export the file again without quotes around whole lines.',
      ],
    ],
    [
      'short names that have no letter in common',
      'code,name,x,y\nA,x,1,2\n',
      [
        'The column n is missing. Add the column, or export the file with it.',
        '2 columns are unknown: x, y. Delete what the definition does not have, or name it as the definition does.',
      ],
    ],
    [
      'two files that are joined, the second one with a byte order mark',
      'code,name,n\nA,x,1\n\ufeffcode,name,n\nB,y,2\n',
      ['The row repeats the header. Delete the row.'],
    ],
    [
      'two files that are joined without their headers',
      'code,name,n\nA,x,1\n\ufeffB,y,2\n',
      ['code has spaces at its ends in 1 of 2 records. Remove the spaces.'],
    ],
    [
      'a title that has the name of a column',
      'name,,\nMade on 1 February,,\ncode,name,n\nA,x,1\n',
      ['The first line has the name of only 1 column. Line 3 has more: delete the lines above it.'],
    ],
    [
      'a title that has the names of two columns of three',
      'n,,code\ncode,name,n\nA,x,1\n',
      ['The first line has the names of only 2 columns. Line 2 has more: delete the line above it.'],
    ],
    [
      'a title below empty lines and the name of a separator',
      '\n\nsep=;\nMade on 1 February;;\ncode;name;n\nA;x;1\n',
      [
        'The first line has none of the expected columns, such as code, name, n. Line 5 has them: delete the lines above it.',
      ],
    ],
    [
      'a title of a sheet whose cell has a line end',
      '"Made on\r1 February",,\n\ncode,name,n\nA,x,1\n',
      [
        'The first line has none of the expected columns, such as code, name, n. Line 3 has them: delete the lines above it.',
      ],
    ],
    [
      'XML without a declaration',
      '\ufeff\n<x:list xmlns:x="urn:x">\n  <code/></x:list>',
      ['The file is an XML document, not CSV. Export it as CSV in UTF-8.'],
    ],
    [
      'names in angle brackets',
      '<code>,<name>,<n>\nA,x,1\n',
      [expect.stringContaining('<code> is probably code')],
    ],
    ['a JSON list', '[{"code": "A"}]\n', ['The file is a JSON list, not CSV. Export it as CSV in UTF-8.']],
    [
      'a page',
      '\ufeff<html><table><tr><td>code',
      ['The file is an HTML page, not CSV. Export it as CSV in UTF-8.'],
    ],
    [
      'a name that the definition knows',
      'nsn,name,n\nA,x,1\n',
      ['The column code has the name nsn. Rename the column.'],
    ],
    [
      'several other names',
      'Student_ID,nam,n\nA,x,1\n',
      [
        '2 columns have other names: Student_ID is probably code, nam is probably name. Rename the columns that are these; otherwise add the missing ones.',
      ],
    ],
    [
      'names with a mark of required columns',
      'code*,name*,n*\nA,x,1\n',
      [
        '3 columns have other names: code* is probably code, name* is probably name, n* is probably n. Rename the columns that are these; otherwise add the missing ones.',
      ],
    ],
    [
      'values without a header, of which one resembles a name',
      '5,Jane,1\nA,x,1\n',
      [expect.stringContaining('none of the expected columns')],
    ],
    [
      'several missing columns',
      'n\n1\n2\n',
      ['2 columns are missing: code, name. Add the columns, or export the file with them.'],
    ],
  ])('%s', async (_what, text, expected, table) => {
    expect(await adviseOn(text, table as Table)).toEqual(expected)
  })

  test.each([
    ['\ufeff\n\nTitle\r\ncode,name,n\r\n', /Line 4 has them: delete the lines above it\.$/],
    ['name,\ncode,name,n\n', /Line 2 has more: delete the line above it\.$/],
    ['\ufeffsep=;\ncode;name;n\n', undefined],
    ['"code","name","n,\nall"\n', undefined],
  ])('%j is described in the same way before it is checked', (text, expected) => {
    const { resources } = loadDefinition(define({ tab: TABLE }))
    const said = resources.slice(0, 1).map((each) => judgeFirstLine(Buffer.from(text), each, resources))
    expect(said).toEqual([expected && expect.stringMatching(expected)])
  })

  test('a character that nobody sees is named, and the column is read', async () => {
    const text = 'code,na\u00a0me,\u200bn\nA,x,1\n'
    const { summary } = await check({ 'tab.csv': text }, { definition: define({ tab: TABLE }) })
    expect([summary.causes, summary.files[0]?.notes]).toEqual([
      [],
      [
        'The column na\u00a0me, with U+00A0 (no-break space), was read as name.',
        'The column n, with U+200B (zero-width space), was read as n.',
      ],
    ])
  })
})

describe('values are described by what happened to them:', () => {
  const flags = ['a', 'b', 'c', 'd'].map((name) => ({ name, type: 'boolean' }))
  test.each<[string, string, string[], object]>([
    [
      'truth values of a database, in the only record that has any',
      `k,a,b,c,d\nK1,t,f,t,f\n${'K2,,,,\n'.repeat(20)}`,
      ['a, b and 2 more columns: 4 values are other words for true and false. Write true and false instead.'],
      { fields: [{ name: 'k' }, ...flags] },
    ],
    [
      'a time zone without a colon',
      'at\n2025-02-17T09:30:00+0000\n',
      ['at: the only value has a time zone without a colon. Write time zones with a colon, such as +00:00.'],
      { fields: [{ name: 'at', type: 'datetime' }] },
    ],
    [
      'only spaces, where a value may be absent and where it must not be',
      'k,s,n,must\nA,x,1,y\nB,\u00a0,\t,y\nC,x,1,  \n',
      [
        'must is empty in 1 of 3 records. Enter the value.',
        'n has spaces at its ends in 1 of 3 records. Remove the spaces.',
        's has spaces at its ends in 1 of 3 records. Remove the spaces.',
      ],
      {
        fields: [
          ...[{ name: 'k' }, { name: 's' }, { name: 'n', type: 'integer' }],
          { name: 'must', constraints: { required: true } },
        ],
      },
    ],
    [
      'a form other than that of a pattern, which nobody needs to read',
      `k\n${Array.from({ length: 20 }, (_, at) => `${at % 2 ? 'A' : 'b'}${at}-\n`).join('')}`,
      [
        'k is wrong in all 20 records: k must be 2 capital letters, then 1 to 3 digits. Write the value in the expected form.',
      ],
      { fields: [{ name: 'k', constraints: { pattern: '[A-Z]{2}[0-9]{1,3}' } }] },
    ],
  ])('%s', async (_what, text, expected, table) => {
    expect(await adviseOn(text, table as Table)).toEqual(expected)
  })
})

test.each([
  ['[0-9]{2}', undefined, 'be 2 digits'],
  ['^[A-Z]{3}|999$', undefined, 'be 3 capital letters, or "999"'],
  ['AB-?[0-9]+', undefined, 'be "AB", then 0 or 1 "-", then 1 or more digits'],
  ['(a|b)+(?:c|d){2}', undefined, 'have the form that the definition describes'],
  ['(a|b)+(?:c|d){2}', 'abcd', 'have a form such as abcd'],
])('no message shows the pattern %s to people', async (pattern, example, expected) => {
  const definition = define({ tab: { fields: [{ name: 'k', example, constraints: { pattern } }] } })
  const { summary, findings } = await check({ 'tab.csv': 'k\nx-\n' }, { definition })
  expect(findings.map(({ errorDescription }) => errorDescription)).toEqual([
    `k is "x-", but must ${expected}.`,
  ])
  const [{ sentence = '', fix = '' } = {}] = summary.causes
  expect([sentence, fix]).toEqual([
    `k is wrong in the only record: k must ${expected}.`,
    'Write the value in the expected form.',
  ])
  expect(summary.codes.map(({ message }) => message)).toEqual([`k must ${expected}.`])
})

const RULE = (more: string, query: string) => `/*
code: TAB-201
file: tab
fields: [k]
message: 'The enrolment ended on {ended}.'
why: A test.
fix: Correct it.
${more}examples: []
*/
${query}`

test.each([
  ['', '3 records: The enrolment ended on …'],
  ['many: enrolments ended without an outcome.\n', '3 enrolments ended without an outcome.'],
])('the sentence of a rule is true of all of its records', async (more, sentence) => {
  const table = { fields: [{ name: 'k' }, { name: 'ended' }], resource: { 'mahi:code': 'TAB' } }
  const rules = {
    'rules/TAB-201.sql': RULE(more, 'select row, ended from tab'),
    'rules/TAB-202.sql': RULE('', "select row, ended from tab where k <> '1'").replaceAll(
      'TAB-201',
      'TAB-202',
    ),
  }
  const definition = define({ tab: table }, {}, rules)
  const { summary } = await check({ 'tab.csv': 'k,ended\n1,a\n2,b\n3,c\n' }, { definition })
  expect(summary.causes).toMatchObject([
    // The rule of most records is the clearest, and the other one is said as well.
    { codes: ['TAB-201', 'TAB-202'], sentence: `${sentence} 2 records: The enrolment ended on …` },
  ])
  expect(tabulateCauses(summary.causes)[0]).not.toContain('learners')
})

test('a resource that is not checked is no unknown file', async () => {
  const definition = loadDefinition(
    define(
      { a: { fields: [{ name: 'id' }] } },
      {
        resources: [
          { name: 'a', path: 'a.csv', schema: { fields: [{ name: 'id' }] } },
          { name: 'b', path: 'b.csv' },
        ],
      },
    ),
  )
  const folder = writeFiles({ 'a.csv': 'id\n1\n', 'b.csv': 'x\n1\n', 'c.pdf': '%PDF-1.4', 'd.csv': 'y\n' })
  const { files, unread, notes } = await selectFiles(new Containers(), [folder], definition)
  expect(definition.notes).toEqual(['The resource b has no schema, so it is not checked.'])
  expect([unread, notes]).toEqual([
    ['d.csv'],
    [
      'c.pdf was not read. It is a PDF document, not CSV. Export the table from the program that made it, as CSV or XLSX.',
    ],
  ])
  const { summary } = await checkInputs(files as never, { definition, unread })
  expect(listGaps(summary)).toEqual(['d.csv was not read: the definition has no such file.'])
})
