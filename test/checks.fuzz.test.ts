import { join } from 'node:path'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { loadDefinition } from '../src/engines/checking/definition/load.ts'
import { UserError } from '../src/foundation/faults/user-error.ts'
import { type Checked, check, checkPaths } from './support/checking.ts'
import { LIBRARY, LONG_LOAN, writeDefinition } from './support/definition.ts'
import { cases } from './support/properties.ts'
import { writeFiles } from './support/temporary.ts'
import { makeXlsx, type XlsxCell } from './support/xlsx.ts'

type Json = null | boolean | number | string | readonly Json[] | { readonly [name: string]: Json }

/** A descriptor that uses most of what definitions have. */
const FULL = {
  ...structuredClone(LIBRARY),
  resources: [
    ...structuredClone(LIBRARY.resources),
    {
      name: 'everything',
      path: 'everything.csv',
      dialect: { delimiter: ';', quoteChar: "'", commentChar: '#', headerRows: [1] },
      bytes: 10,
      schema: {
        fields: [
          { name: 'id', type: 'integer', groupChar: '.', constraints: { minimum: 0, maximum: '1.000' } },
          { name: 'amount', type: 'number', decimalChar: ',', bareNumber: false, 'mahi:decimals': 2 },
          { name: 'on', type: 'date', format: '%d/%m/%Y', constraints: { minimum: '01/02/2025' } },
          { name: 'at', type: 'datetime', format: 'any' },
          { name: 'yes', type: 'boolean', trueValues: ['y'], falseValues: ['n'] },
          { name: 'tags', type: 'list', itemType: 'date', delimiter: '|', 'mahi:items': { unique: true } },
          {
            name: 'kind',
            categories: [{ value: 'a', label: 'A' }],
            constraints: { enum: ['a'], pattern: '[a-z]' },
          },
          { name: 'point', type: 'geopoint', format: 'object' },
          { name: 'more', type: 'object', constraints: { minLength: 1, unique: true } },
        ],
        primaryKey: ['id'],
        uniqueKeys: [['on', 'kind']],
        missingValues: ['', 'NA'],
        fieldsMatch: 'exact',
        'mahi:recordChecks': [
          { kind: 'sum', code: 'EV-101', total: 'amount', parts: ['id'] },
          { kind: 'order', code: 'EV-102', fields: ['id', 'amount'] },
          { kind: 'equal', code: 'EV-103', fields: ['id', ':returnYear'] },
          { kind: 'oneOf', code: 'EV-104', fields: ['id', 'on'], when: { kind: ['a'] } },
        ],
      },
    },
  ],
} as unknown as Json

const FILES = {
  'members.csv': 'memberId,born,kind\nM1,1990-01-31,01\nM2,x,9\n',
  'book-loans.csv': 'loanId,memberId,lent,returned,fee\nL1,M1,2025-01-01,2025-03-01,1.5\nL2,M9,,x,\n',
  'everything.csv':
    "id;amount;on;at;yes;tags;kind;point;more\n1;$1,5;17/02/2025;17 Feb 2025 9:30;y;2025-01-01|x;a;{'lon':1};{}\n# note\n'2';;;;;;;;\n",
}

/** What takes the place of a part of a descriptor. */
const VALUE = fc.oneof(
  fc.constantFrom<Json>(null, true, 0, -1, 1e21, 1.5, [], [[]], {}, { '': {} }, ['id', 'id']),
  fc.constantFrom('', 'x', '\u0000', '[', '(?<', '%', '%Q', '../x', 'id', '__proto__', '9'.repeat(400)),
)

/** Every place of a document, as the steps to it. */
function* listPlaces(value: Json, path: readonly string[] = []): Generator<readonly string[]> {
  if (path.length > 0) yield path
  if (typeof value !== 'object' || value === null) return
  for (const [name, each] of Object.entries(value)) yield* listPlaces(each as Json, [...path, name])
}

/** Changes, removes, repeats under another name, or exchanges one part of a descriptor. */
const mutation = fc.record({
  path: fc.constantFrom(...listPlaces(FULL)),
  how: fc.constantFrom('replace', 'remove', 'repeat', 'exchange'),
  value: VALUE,
  other: fc.constantFrom(...listPlaces(FULL)),
})

type Mutation = typeof mutation extends fc.Arbitrary<infer T> ? T : never

function mutate(document: Json, { path, how, value, other }: Mutation): Json {
  const copy = structuredClone(document)
  const at = (steps: readonly string[]) =>
    steps.reduce<Json>((each, step) => (each as Record<string, Json> | null)?.[step] ?? null, copy)
  const parent = at(path.slice(0, -1)) as Record<string, Json> | null
  const name = path.at(-1) ?? ''
  if (typeof parent !== 'object' || parent === null) return copy
  if (how === 'remove') Reflect.deleteProperty(parent, name)
  else if (how === 'repeat')
    Object.assign(parent, { [Array.isArray(parent) ? parent.length : `${name}s`]: value })
  else Object.assign(parent, { [name]: how === 'replace' ? value : structuredClone(at(other)) })
  return copy
}

/** A check ends with findings, or with faults that name a file. */
async function expectEnd(
  checked: Promise<Checked>,
  named = /^(?:datapackage\.json|rules\/[^:]*\.sql)[:\s]|^the /,
) {
  try {
    const { summary } = await checked
    expect(summary.errors).toBeGreaterThanOrEqual(0)
  } catch (error) {
    if (!(error instanceof UserError)) throw error
    expect(error.message).toMatch(named)
  }
}

const checkAll = (definition: string, files: Readonly<Record<string, string | Uint8Array>> = FILES) =>
  check(files, { definition, complete: true })

test('no mutation of a descriptor ends a check with an internal error', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(mutation, { minLength: 1, maxLength: 2 }), async (mutations) => {
      const document = mutations.reduce(mutate, FULL)
      await expectEnd(checkAll(writeDefinition(document, { 'rules/LOA-201.sql': LONG_LOAN })))
    }),
    cases(30),
  )
})

test('no mutation of a rule ends a check with an internal error', async () => {
  const text = fc.constantFrom(
    '',
    "'",
    '"',
    '*/',
    'select',
    ';',
    ':x',
    '{',
    '}',
    '\u0000',
    '%s',
    '(',
    ' or 1 = 1 ',
  )
  await fc.assert(
    fc.asyncProperty(fc.nat(LONG_LOAN.length), fc.nat(20), text, async (at, length, added) => {
      const sql = LONG_LOAN.slice(0, at) + added + LONG_LOAN.slice(at + length)
      await expectEnd(checkAll(writeDefinition(FULL, { 'rules/LOA-201.sql': sql })))
    }),
    cases(20),
  )
})

test('no bytes of a file end a check with an internal error', async () => {
  const definition = writeDefinition(FULL, { 'rules/LOA-201.sql': LONG_LOAN })
  const piece = fc.oneof(
    fc.constantFrom(
      ...['"', "'", ';', ',', '|', '\n', '\r', '\r\n', '\u0000', '#', 'sep=;\n', '{', '}', '1E9', 'id'],
    ),
    fc.constantFrom('\ufeff', 'PK\u0003\u0004'),
    fc.uint8Array({ maxLength: 6 }).map((bytes) => Buffer.from(bytes).toString('latin1')),
  )
  const edits = fc.array(fc.tuple(fc.nat(200), piece), { maxLength: 6 })
  await fc.assert(
    fc.asyncProperty(
      fc.constantFrom(...Object.keys(FILES)),
      edits,
      fc.boolean(),
      async (name, list, keeps) => {
        const text = keeps ? FILES[name as keyof typeof FILES] : ''
        const changed = list.reduce((old, [at, added]) => old.slice(0, at) + added + old.slice(at), text)
        await expectEnd(checkAll(definition, { ...FILES, [name]: Buffer.from(changed, 'latin1') }))
      },
    ),
    cases(15),
  )
})

/** A cell as programs write it, or as nobody should: its value, its format, and its XML. */
const cell: fc.Arbitrary<XlsxCell> = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 8 }).map((text) => text.replace(/[^\n\r\t -\ud7ff]/g, '')),
  fc.constantFrom<XlsxCell>(undefined, 'M1', '', '01', { date: 44_000 }, { date: -1 }, { date: 1e300 }),
  fc.oneof(fc.double(), fc.integer()).map((number): XlsxCell => number),
  fc.record({
    number: fc.oneof(fc.double(), fc.constantFrom(0, 1, 45_000.5, 1e308)),
    format: fc.oneof(
      fc.constantFrom(
        '0000',
        '0.00%',
        'yyyy-mm-dd',
        '[h]:mm:ss',
        '# ?/?',
        '[>5]"a";"b"',
        ';;;',
        '@',
        '"',
        '[',
        '\\',
      ),
      fc.string({ maxLength: 12 }).map((text) => text.replace(/[^ -~]/g, '')),
    ),
  }),
  fc
    .constantFrom('', ' t="s"', ' t="b"', ' t="e"', ' t="str"', ' t="d"', ' t="x"', ' s="99"', ' s="-1"')
    .chain((attributes) =>
      fc
        .constantFrom('<v>1</v>', '<v>x</v>', '<v/>', '<f>1+1</f>', '<f/><v>-9e999</v>', '<is/>', '')
        .map((content) => ({
          xml: `<c${attributes}>${content}</c>`,
        })),
    ),
)

const PIECES = [
  '',
  '<',
  '>',
  '</row>',
  '<row>',
  '<c>',
  '"',
  '&',
  '&#0;',
  '&x;',
  '<!--',
  ']]>',
  'r="A0"',
  '\u0000',
  'x'.repeat(300),
]
const edit = fc.record({
  part: fc.nat(5),
  at: fc.nat(2000),
  length: fc.nat(30),
  piece: fc.constantFrom(...PIECES),
})

test('no values, formats or structure of a workbook end a check with an internal error', async () => {
  const definition = loadDefinition(writeDefinition())
  const sheet = (header: string) =>
    fc
      .array(fc.array(cell, { maxLength: 6 }), { maxLength: 5 })
      .map((rows): XlsxCell[][] => [header.split(','), ...rows])
  const sheets = fc.record({
    members: sheet('memberId,born,kind'),
    'book-loans': sheet('loanId,memberId,lent,returned,fee'),
  })
  await fc.assert(
    fc.asyncProperty(sheets, fc.array(edit, { maxLength: 3 }), async (tables, edits) => {
      let part = 0
      const book = makeXlsx(tables, {
        edit: (_, text) => {
          const own = edits.filter((each) => each.part === part)
          part++
          return own.reduce(
            (old, { at, length, piece }) =>
              old.slice(0, at % (old.length + 1)) + piece + old.slice((at % (old.length + 1)) + length),
            text,
          )
        },
      })
      const path = join(writeFiles({ 'return.xlsx': book }), 'return.xlsx')
      await expectEnd(checkPaths([path], definition), /return\.xlsx/)
    }),
    cases(30),
  )
})
