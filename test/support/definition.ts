import { writeFiles } from './temporary.ts'

/** A definition of two files that refer to each other, small enough to be read at a glance. */
export const LIBRARY = {
  name: 'library',
  version: '1',
  'mahi:return': { default: '202512' },
  resources: [
    {
      name: 'members',
      path: 'members.csv',
      'mahi:code': 'MEM',
      'mahi:fileType': 'Learner',
      'mahi:record': { studentId: 'memberId' },
      schema: {
        fields: [
          { name: 'memberId', constraints: { required: true, maxLength: 4 } },
          { name: 'born', type: 'date' },
          { name: 'kind', constraints: { enum: ['01', '02'] }, 'mahi:synonyms': ['Member type'] },
        ],
        primaryKey: 'memberId',
      },
    },
    {
      name: 'book-loans',
      path: 'book-loans.csv',
      'mahi:code': 'LOA',
      'mahi:fileType': 'Enrolment',
      'mahi:record': { localId: 'loanId', studentId: 'memberId' },
      schema: {
        fields: [
          { name: 'loanId', constraints: { required: true } },
          { name: 'memberId', constraints: { required: true } },
          { name: 'lent', type: 'date' },
          { name: 'returned', type: 'date', 'mahi:requiredWhen': { fee: 'present' } },
          { name: 'fee', type: 'number', 'mahi:decimals': 2, constraints: { minimum: 0 } },
        ],
        primaryKey: ['loanId'],
        foreignKeys: [{ fields: 'memberId', reference: { resource: 'members', fields: 'memberId' } }],
        'mahi:recordChecks': [{ kind: 'order', code: 'LOA-101', fields: ['lent', 'returned'] }],
      },
    },
  ],
}

export const LONG_LOAN = `/*
code: LOA-201
file: book-loans
fields: [returned]
severity: Warning
message: The loan lasted {days} days, until {returned}.
why: Others wait.
fix: Check the dates.
examples:
  - records:
      book-loans:
        - { lent: 2025-01-01, returned: 2025-02-01 }
        - { lent: 2025-01-01, returned: 2025-01-31 }
    finds: [1]
  - records:
      book-loans:
        - { lent: 2025-01-01 }
    finds: []
*/
select row, cast(julianday(returned) - julianday(lent) as integer) as days
from book_loans
where julianday(returned) - julianday(lent) > 30
`

/** Writes a definition to a new folder. */
export function writeDefinition(
  descriptor: unknown = LIBRARY,
  files: Readonly<Record<string, string>> = { 'rules/LOA-201.sql': LONG_LOAN },
): string {
  return writeFiles({ 'datapackage.json': JSON.stringify(descriptor), ...files })
}

/** A file of `define`: its fields, what else its schema has, and properties of its resource. */
interface Table {
  readonly fields: readonly object[]
  readonly resource?: object
  readonly [property: string]: unknown
}

/** Writes a definition to a new folder: its tables by name, whose codes begin with three letters of it. */
export function define(
  tables: Readonly<Record<string, Table>>,
  more: object = {},
  files: Readonly<Record<string, string>> = {},
): string {
  const resources = Object.entries(tables).map(([name, { resource, ...schema }]) => {
    return { name, path: `${name}.csv`, 'mahi:code': name.slice(0, 3).toUpperCase(), schema, ...resource }
  })
  return writeDefinition({ name: 'test', version: '1', resources, ...more }, files)
}
