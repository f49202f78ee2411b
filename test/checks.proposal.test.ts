import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { parse } from 'yaml'
import { propose } from '../src/engines/checking/proposal/propose.ts'
import { renderRecord } from '../src/engines/records/index.ts'
import { checkPaths } from './support/checking.ts'
import { Installation } from './support/command.ts'
import { cases } from './support/properties.ts'
import { makeTables, writeReturn } from './support/sdr/small.ts'
import { temporaryFolder, writeFiles } from './support/temporary.ts'
import { makeXlsx } from './support/xlsx.ts'

const DESCRIPTOR = 'datapackage.yml'

interface Written {
  readonly resources: readonly {
    name: string
    path: string
    dialect?: object
    schema: {
      fields: { name: string; type: string; format?: string; constraints?: { enum?: string[] } }[]
      primaryKey?: string | string[]
      foreignKeys?: object[]
    }
  }[]
}

/** Checks a folder against its definition. */
const checkAgain = async (folder: string) => (await checkPaths([folder], folder)).summary

/** Proposes a definition for a folder, and checks the folder against it. */
async function proposeAndCheck(folder: string) {
  const { unread } = await propose(folder)
  const text = readFileSync(join(folder, DESCRIPTOR), 'utf8')
  return { unread, text, written: parse(text) as Written, summary: await checkAgain(folder) }
}

/** The field of a proposal by its name. */
function fieldOf({ resources }: Written, name: string) {
  return resources.flatMap(({ schema }) => schema.fields).find((field) => field.name === name)
}

test('the proposal for a return has its types, keys and references, and finds nothing but what is changed', async () => {
  const folder = temporaryFolder()
  writeReturn(folder, makeTables())
  const { written, summary } = await proposeAndCheck(folder)
  expect(summary.codes).toEqual([])
  const schemas = new Map(written.resources.map(({ name, schema }) => [name, schema]))
  expect(schemas.get('enrolments')).toMatchObject({
    primaryKey: 'localId',
    foreignKeys: expect.arrayContaining([
      { fields: 'courseCode', reference: { resource: 'courses', fields: 'courseCode' } },
      {
        fields: 'studentIdentificationCode',
        reference: { resource: 'learners', fields: 'studentIdentificationCode' },
      },
    ]),
  })
  expect(fieldOf(written, 'courseStartDate')).toEqual({
    name: 'courseStartDate',
    type: 'date',
    constraints: { required: true },
  })
  expect(fieldOf(written, 'eftsFactor')?.type).toBe('number')
  // Codes with leading zeros are texts.
  const funding = fieldOf(written, 'sourceOfFunding')
  expect([funding?.type, funding?.constraints?.enum?.includes('01')]).toEqual(['string', true])

  const path = join(folder, 'enrolments.csv')
  writeFileSync(path, readFileSync(path, 'utf8').replace(/,FIC\d+,/, ',NONE,'))
  const changed = await checkAgain(folder)
  expect(changed.codes.map(({ kind, fields }) => [kind, fields])).toContainEqual([
    expect.stringMatching(/^reference/),
    ['courseCode'],
  ])
})

test('a person is asked about what the records leave open', async () => {
  const orders = Array.from({ length: 60 }, (_, at) => {
    const [ordered, shipped] = [(at % 12) + 1, (at % 28) + 1]
    return `A${at},${ordered}/03/2025,${shipped}/03/2025,"${at + 1},125","${at + 1},5",${at % 2 ? 'new' : 'used'},\n`
  })
  const folder = writeFiles({
    'orders.csv': `code,ordered,shipped,price,weight,kind,note\n${orders.join('')}`,
  })
  const { text, written, summary } = await proposeAndCheck(folder)
  expect(summary.errors).toBe(0)
  expect(written.resources[0]?.schema.fields).toMatchObject([
    { name: 'code', type: 'string' },
    { name: 'ordered', type: 'string' },
    { name: 'shipped', type: 'date', format: '%d/%m/%Y' },
    { name: 'price', type: 'string' },
    { name: 'weight', type: 'number', decimalChar: ',' },
    { name: 'kind', constraints: { enum: ['new', 'used'] } },
    { name: 'note' },
  ])
  for (const question of [
    'Dates such as 1/03/2025? Then the type is date, and the format "%d/%m/%Y" or "%m/%d/%Y".',
    'whether the comma is decimalChar or groupChar.',
    'Are other values permitted?',
    'No record has a value. Which type has it?',
  ])
    expect(text).toContain(question)
})

describe('files as people have them', () => {
  test('with the marks of a check, which make no record of an empty row', async () => {
    const rows = ['A,1', 'B,2', 'C,3', ','].map((row, at) => `${at + 2},Error,Wrong.,${row}\n`)
    const { text } = await proposeAndCheck(
      writeFiles({ 'names.csv': `mahi:line,mahi:severity,mahi:findings,id,n\n${rows.join('')}` }),
    )
    // A key has no empty value.
    expect((parse(text) as Written).resources[0]?.schema).toMatchObject({ primaryKey: 'id' })
  })

  test('in folders, sheets of workbooks, encodings, separators and forms', async () => {
    const sheet = [
      ['code', 'name'],
      ['A', 'Ātea'],
      ['B', 'Bay'],
    ]
    const folder = writeFiles({
      'Quals completed FINAL.csv': 'id;name\n1;a\n2;b\n',
      'Māori names.csv': 'id,name\n1,Hēmi\n',
      'names.csv': Buffer.from('id,name\n1,caf\xe9\n', 'latin1'),
      'quals-completed-final.csv': 'id\n1\n',
      'other names.ndjson': '{"id":1,"name":"a"}\n{"id":2,"other":"b"}\n',
      'packed.csv.gz': gzipSync('id,when\n1,2025-01-01\n'),
      'header only.csv': 'id,name\n',
      'wide.csv': Buffer.from('\ufeffid\tname\n1\ta\n', 'utf16le'),
      'data/rivers.csv': 'sep=;\nid;length\n1;2\n',
      'titled.csv': 'Report of;2025;\n\nMade on 1 February;;\nid;name;n\n1;x;2\n2;y;3\n',
      'data/2024/wide.csv': 'id\n1\n',
      'book.xlsx': makeXlsx({ Lakes: sheet, 'Sea sides': [['Sides\nof the sea'], [], ...sheet] }),
    })
    const { unread, written, summary } = await proposeAndCheck(folder)
    expect(unread).toEqual(['data/2024/wide.csv: The folder itself has a file of this name.'])
    expect(summary.codes).toEqual([])
    const names = Object.fromEntries(written.resources.map(({ name, path }) => [path, name]))
    expect(names).toEqual({
      'Māori names.csv': 'maori-names',
      // The plain name is that of another file.
      'Quals completed FINAL.csv': 'quals-completed-final-2',
      'quals-completed-final.csv': 'quals-completed-final',
      'header only.csv': 'header-only',
      'names.csv': 'names',
      'other names.ndjson': 'other-names',
      'packed.csv.gz': 'packed',
      'wide.csv': 'wide',
      'data/rivers.csv': 'rivers',
      'titled.csv': 'titled',
      'Lakes.csv': 'lakes',
      'Sea sides.csv': 'sea-sides',
    })
    expect(summary.files.map(({ state }) => state)).toEqual(Array(12).fill('checked'))
    const dialectOf = (name: string) => written.resources.find((each) => each.name === name)?.dialect
    expect(dialectOf('rivers')).toEqual({ delimiter: ';' })
    expect(dialectOf('titled')).toEqual({ delimiter: ';', headerRows: [4] })
    // A line end within a cell is no row.
    expect(dialectOf('sea-sides')).toEqual({ headerRows: [3] })
    expect(fieldOf(written, 'n')?.type).toBe('integer')
  })

  test('are left out, with the reason, if they cannot be read', async () => {
    const folder = writeFiles({
      'good.csv': 'id,name\n1,a\n2,b,c\n',
      'empty.csv': '',
      'zip.csv': Buffer.from('PK\u0003\u0004xxxxxxxxxxxxxxxxxxxxxxxx'),
      'blank.csv': ',,\n1,2,3\n',
      'notes.pdf': 'not looked at',
    })
    const { unread, text, summary } = await proposeAndCheck(folder)
    expect(unread.map((each) => each.split(':')[0])).toEqual(['blank.csv', 'empty.csv', 'zip.csv'])
    expect(text).toContain('# Not in it: empty.csv: The file is empty: it has no header.')
    // A record that cannot be read stays a finding.
    expect(summary.codes.map(({ kind, count }) => [kind, count])).toEqual([['record', 1]])
  })
})

test('no proposal requires or permits less than its files have', async () => {
  const cell = fc.oneof(
    fc.constantFrom(...['', '0', '01', '1', 'x', 'true', 'TRUE', '1.5', '1,5', '-', ' a ', '"', 'é', 'null']),
    fc.constantFrom(
      ...['2025-02-17', '2025-02-30', '17/02/2025', '2/17/2025', '1/2/2025', '10:00:00', '25:00:00'],
    ),
    fc.constantFrom(
      ...['2025-02-17T10:00:00Z', '9'.repeat(20), '+1', '.5', '1e5', '#N/A', 'a\nb', '0,5', '1,234'],
    ),
    fc.string({ maxLength: 5 }),
  )
  const width = fc.integer({ min: 1, max: 3 })
  const table = width.chain((count) =>
    fc.array(fc.array(cell, { minLength: count, maxLength: count }), { minLength: 1, maxLength: 60 }),
  )
  await fc.assert(
    fc.asyncProperty(fc.array(table, { minLength: 1, maxLength: 3 }), async (tables) => {
      const files = tables.map((records, index) => {
        const header = ['code', 'kindId', 'day'].slice(0, records[0]?.length)
        return [`file${index}.csv`, [header, ...records].map((row) => `${renderRecord(row)}\n`).join('')]
      })
      const { summary } = await proposeAndCheck(writeFiles(Object.fromEntries(files)))
      expect(summary.codes.filter(({ kind }) => ['required', 'enum', 'length'].includes(kind))).toEqual([])
    }),
    cases(6),
  )
})

test.each([
  ['a descriptor is there', { 'a.csv': 'id\n1\n', 'datapackage.json': '{}' }, 'exists already'],
  ['two files have one name', { 'a.csv': 'id\n1\n', 'a.ndjson': '{"id":1}\n' }, 'has the same name as a.csv'],
  ['no file can be read', { 'a.csv': '' }, 'has no file that can be read'],
])('a folder is refused and left as it is if %s', async (_, files, message) => {
  const folder = writeFiles(files)
  await expect(propose(folder)).rejects.toThrow(message)
  expect(readdirSync(folder).sort()).toEqual(Object.keys(files).sort())
})

test('the command says what it wrote, and what is left', async () => {
  const folder = writeFiles({ 'a.csv': 'id,name\n1,a\n2,b,c\n', 'b.csv': '' })
  const { code, stdout } = await new Installation().run(['definitions', 'init', folder, '--json'])
  expect([code, JSON.parse(stdout)]).toEqual([
    0,
    {
      descriptor: join(folder, DESCRIPTOR),
      files: [{ path: 'a.csv', name: 'a', records: 2 }],
      unread: ['b.csv: The file is empty: it has no header.'],
      errors: 1,
      warnings: 0,
    },
  ])
  // It may repeat values of records.
  if (process.platform !== 'win32') expect(statSync(join(folder, DESCRIPTOR)).mode & 0o777).toBe(0o600)
  expect((await new Installation().run(['definitions', 'init', folder])).code).toBe(1)
})
