import { cpSync, mkdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { describe, expect, test } from 'vitest'
import { findDescriptor, loadDefinition } from '../src/engines/checking/definition/load.ts'
import { Containers } from '../src/engines/checking/engine/unpack.ts'
import { describeVerdict, listGaps } from '../src/engines/checking/report/report.ts'
import { selectFiles } from '../src/engines/checking/select-files.ts'
import { checkPaths, places } from './support/checking.ts'
import { Installation } from './support/command.ts'
import { define, LIBRARY, writeDefinition } from './support/definition.ts'
import { pack } from './support/pack.ts'
import { temporaryFolder, writeFiles } from './support/temporary.ts'
import { makeXlsx } from './support/xlsx.ts'

const MEMBERS = 'memberId,born,kind\nM1,,01\nM2,,02\n'
const FAULTY = 'memberId,born,kind\nM1,x,01\n'
const LOANS = 'loanId,memberId,lent,returned,fee\nL1,M1,,,\n'
const CLEAN = { 'members.csv': MEMBERS, 'book-loans.csv': LOANS }

/** What is found in paths, and what is said of their files. */
async function look(paths: readonly string[], named: readonly string[] = [], definition = writeDefinition()) {
  const { summary, findings, notes } = await checkPaths(paths, definition, named)
  return {
    found: places(findings),
    notes: [...notes, ...summary.files.flatMap(({ notes: own }) => own)],
    causes: summary.causes.map(({ sentence }) => sentence),
    gaps: listGaps(summary).join('\n'),
    verdict: describeVerdict(summary),
  }
}

/** Why paths are refused. */
async function refusalOf(...paths: string[]): Promise<string> {
  try {
    await selectFiles(new Containers(), paths, loadDefinition(writeDefinition()))
  } catch (error) {
    return (error as Error).message
  }
  return ''
}

describe('a file with the columns of one that was read is the first cause', () => {
  test.each<[string, string | Buffer]>([
    ['members2.csv', 'kind,memberId,born\n03,M3,\n'],
    ['members (1).csv', MEMBERS],
    ['half.txt', MEMBERS],
    ['more.csv', Buffer.from(`\ufeff${MEMBERS}`, 'utf16le')],
  ])('%s', async (name, content) => {
    const { causes, verdict } = await look([writeFiles({ ...CLEAN, [name]: content })])
    expect(causes).toEqual([
      `${name} has the columns of members.csv, and was not read. Put its records into members.csv, or remove it from the folder.`,
    ])
    expect(verdict).toBe('1 error and no warnings in the 2 files that were checked.')
  })
})

test('each of several such files is a cause', async () => {
  const names = ['members2.csv', 'members3.csv']
  const { causes } = await look([
    writeFiles({ ...CLEAN, ...Object.fromEntries(names.map((name) => [name, MEMBERS])) }),
  ])
  expect(causes).toEqual(
    names.map((name) => expect.stringContaining(`${name} has the columns of members.csv`)),
  )
})

test.each<[string, string]>([
  ['', 'The file is empty: it has no header.'],
  [
    '%PDF-1.4',
    'The file is a PDF document, not CSV. Export the table from the program that made it, as CSV or XLSX.',
  ],
])('a file that cannot be read says why, also beside another with its columns: %j', async (content, why) => {
  const folder = writeFiles({ ...CLEAN, 'members.csv': content, 'members 2025.csv': MEMBERS })
  const { causes, gaps } = await look([folder])
  expect(causes[0]).toBe(why)
  expect(gaps).toContain('members 2025.csv was not read')
})

test('other files, and those beside one that --file names, are only listed', async () => {
  const folder = writeFiles({ ...CLEAN, 'notes.csv': 'date,note\n', 'members2.csv': MEMBERS })
  const { found, gaps } = await look([folder], [`members=${join(folder, 'members2.csv')}`])
  expect([found, gaps]).toEqual([[], expect.stringContaining('notes.csv was not read')])
})

test('the surest of several files for one is read, and the others are listed with what to do', async () => {
  const library = structuredClone(LIBRARY)
  Object.assign(library.resources[0] ?? {}, { 'mahi:fileNames': ['MEMB*'] })
  const definition = writeDefinition(library)
  const folder = writeFiles({ ...CLEAN, 'Members 2025.csv': FAULTY, 'mahi-changes.csv': 'file,line\n' })
  const { found, gaps } = await look([folder], [], definition)
  expect([found, gaps]).toEqual([
    ['MEM-00-file members.csv:1'],
    'Members 2025.csv was not read: members.csv was read in its place. Remove it, or use --file members="Members 2025.csv".',
  ])
  rmSync(join(folder, 'members.csv'))
  expect(await look([folder], [], definition)).toMatchObject({
    found: ['MEM-02-type Members 2025.csv:2'],
    notes: ['The file Members 2025.csv was read as members.csv, because its name matches MEMB*.'],
  })
})

test.each([
  ['BORROW', 'borrow.csv', true],
  ['BORROW', 'borrower.csv', false],
  ['BOR*W*', 'borrow 2025.csv', true],
  ['*2025*', 'x2025y.csv', true],
  ['*AB*BA', 'xaba.csv', false],
  ['AB*BA', 'aba.csv', false],
  ['AB*BA', 'abba.csv', true],
  ['*A*B*C', 'a-c-b-a-c.csv', true],
  ['A.C', 'abc.csv', false],
])('the pattern %s is that of %s: %s', async (pattern, name, isMatch) => {
  const library = structuredClone(LIBRARY)
  Object.assign(library.resources[0] ?? {}, { 'mahi:fileNames': [pattern] })
  const folder = writeFiles({ 'book-loans.csv': LOANS, [name]: MEMBERS })
  const { notes } = await look([folder], [], writeDefinition(library))
  expect(notes.join().includes(`because its name matches ${pattern}.`)).toBe(isMatch)
})

const COLUMNS = 'it has its columns'
const WORDS = 'its name is like it'

test.each<[string, string | Buffer, string]>([
  ['what they are.csv', MEMBERS, COLUMNS],
  ['Book_Loans 2025.tsv', MEMBERS.replaceAll(',', '\t'), COLUMNS],
  ['no names like these.csv', MEMBERS.replace('memberId,born', 'Member No,date of birth'), COLUMNS],
  ['title.csv', `Members of 2025,,\n\n${MEMBERS}`, COLUMNS],
  ['long title.csv', `${'Members,,\n'.repeat(20)}${MEMBERS}`, COLUMNS],
  ['half.csv', Buffer.from(`\ufeff${MEMBERS}`, 'utf16le'), COLUMNS],
  ['packed.csv.gz', gzipSync(MEMBERS), COLUMNS],
  ['lines.ndjson', '{"memberId":"M1","born":null,"kind":"01"}\n', COLUMNS],
  ['member.csv', 'a,b\n', WORDS],
  ['SDR Dec 2025 - Members.csv', 'a,b\n', WORDS],
  ['Members 2025 FINAL v2.csv', 'a,b\n', WORDS],
  ['2025 member list.pdf', '%PDF-1.4', WORDS],
])('a file is recognised by its columns first, and by its name second: %s', async (name, content, why) => {
  const library = structuredClone(LIBRARY)
  const [id, born] = library.resources[0]?.schema.fields ?? []
  Object.assign(id ?? {}, { 'mahi:synonyms': ['Member no'] })
  Object.assign(born ?? {}, { 'mahi:synonyms': ['Date of birth'] })
  const definition = loadDefinition(writeDefinition(library))
  const folder = writeFiles({ 'book-loans.csv': LOANS, [name]: content, '~$members.xlsx': 'a lock' })
  for (const path of [folder, join(folder, name)]) {
    const { files, unread, notes } = await selectFiles(new Containers(), [path], definition)
    expect(files.find(({ resource }) => resource === 'members')?.name).toBe(name)
    expect([unread, notes]).toEqual([[], [`The file ${name} was read as members.csv, because ${why}.`]])
  }
})

test('what has no columns and no name of a file is none, and a file that is there needs no other', async () => {
  const definition = loadDefinition(writeDefinition())
  const files = {
    'members.csv': MEMBERS,
    'x.csv': 'memberId,note\n',
    'Loans.txt': 'a\n',
    'Old members.csv': 'a\n',
  }
  const { unread, notes, ...selected } = await selectFiles(new Containers(), [writeFiles(files)], definition)
  expect(selected.files.map(({ name }) => name)).toEqual(['members.csv'])
  expect([unread, notes]).toEqual([['Loans.txt', 'Old members.csv', 'x.csv'], []])
})

test('the sheets of a workbook are recognised in the same way, as is one that is alone by its workbook', async () => {
  const rows = (text: string) =>
    text
      .trim()
      .split('\n')
      .map((line) => line.split(','))
  const folder = writeFiles({
    'Export 7.xlsx': makeXlsx({ 'Sheet 1': rows(LOANS), 'Cover sheet': [['Made in May']] }),
    'Our members.xlsx': makeXlsx({ Sheet1: [['a', 'b']] }),
  })
  const containers = new Containers()
  const { files } = await selectFiles(containers, [folder], loadDefinition(writeDefinition()))
  await containers.remove()
  expect(files.map(({ resource, name }) => [resource, name]).sort()).toEqual([
    ['book-loans', 'Export 7.xlsx/Sheet 1'],
    ['members', 'Our members.xlsx/Sheet1'],
  ])
})

test('of two files that may be a missing one, neither is recommended', async () => {
  const names = ['members final v2.csv', 'members final.csv']
  const both = Object.fromEntries(names.map((name) => [name, MEMBERS]))
  const folder = writeFiles({ 'book-loans.csv': LOANS, ...both })
  expect(await refusalOf(folder)).toBe(
    `${join(folder, 'members final.csv')}: looks like members.csv, and so does members final v2.csv; give this name to the right one, and remove the other`,
  )
  // Only one of them has the columns.
  writeFileSync(join(folder, 'members final.csv'), 'a note about the members\n')
  expect((await look([folder])).notes).toEqual([
    'The file members final v2.csv was read as members.csv, because it has its columns.',
  ])
})

test('a folder with the name of a file is no file, and is named', async () => {
  const folder = writeFiles({ 'book-loans.csv': LOANS })
  mkdirSync(join(folder, 'members.csv'))
  symlinkSync(join(folder, 'gone'), join(folder, 'book-loans.ndjson'))
  const { notes } = await look([folder])
  expect(notes).toContain('members.csv was not read: it is a folder.')
  expect(notes).toContain('book-loans.ndjson was not read: it is no file.')
})

test('hidden files are no data', async () => {
  const hidden = Object.fromEntries(Object.entries(CLEAN).map(([name, text]) => [`._${name}`, text]))
  const folder = writeFiles({ ...CLEAN, ...hidden, '.members.csv': MEMBERS, '~$members.csv': 'x' })
  expect(await look([folder])).toMatchObject({ found: [], notes: [], gaps: '' })
})

test('a folder without the files says which of its folders has them, or what else it has', async () => {
  const none = 'has none of the files of the definition library'
  const folder = writeFiles({ 'SDR/members.csv': MEMBERS, '__MACOSX/members.csv': 'x', 'other/x.csv': '' })
  expect(await refusalOf(folder)).toBe(
    `${folder}: ${none}, but its folder SDR has. Check ${join(folder, 'SDR')}`,
  )
  cpSync(join(folder, 'SDR'), join(folder, '2024'), { recursive: true })
  expect(await refusalOf(folder)).toBe(
    `${folder}: ${none}, but its folders 2024, SDR have. Check one of them`,
  )
  const other = writeFiles({ 'a.csv': 'x\n', 'b.csv': 'x\n' })
  expect(await refusalOf(other)).toBe(
    `${other}: ${none}: members.csv, book-loans.csv. Rename what is there: a.csv, b.csv`,
  )
  const files = {
    'a.csv': 'x\n',
    'b.pdf': '%PDF-1.4',
    'c.numbers': await pack({ 'preview.jpg': 'x' }),
    'd.xml': '<a><b/></a>',
    'e.json': '[{"memberId":"M1"}]',
    'schema.json': '{"fields":[]}',
    'f.xlsm': 'x',
  }
  const types = writeFiles(files)
  expect((await refusalOf(types)).split('\n')).toEqual([
    `${types}: ${none}: members.csv, book-loans.csv. Rename what is there: a.csv`,
    'b.pdf: is a PDF document. Export the table from the program that made it, as CSV or XLSX',
    'c.numbers: is a Numbers spreadsheet. Export it as XLSX or CSV',
    'e.json: is a JSON list. Export it as CSV in UTF-8',
    'f.xlsm: is not a spreadsheet in the XLSX format, or is damaged',
  ])
  expect(await refusalOf(join(types, 'd.xml'))).toBe('d.xml: is an XML document. Export it as CSV in UTF-8')
  const inner = await pack({ 'members.csv': MEMBERS })
  writeFileSync(join(other, 'return.zip'), inner)
  expect(await refusalOf(other)).toBe(
    `${other}: ${none}, but it has the archive return.zip. Check ${join(other, 'return.zip')}`,
  )
  const outer = join(temporaryFolder(), 'outer.zip')
  writeFileSync(outer, await pack({ 'return.zip': inner, 'readme.md': 'x' }))
  const containers = new Containers()
  const opened = await containers.openArchives([outer])
  await expect(selectFiles(containers, opened, loadDefinition(writeDefinition()))).rejects.toThrow(
    `outer.zip: ${none}, but it has the archive return.zip. Unpack it, and check return.zip`,
  )
  await containers.remove()
})

test.each<[string, string[], string]>([
  ['a path that does not exist', ['none.csv'], 'none.csv: does not exist'],
  [
    'a file that the definition does not know',
    ['mebmer.txt'],
    'mebmer.txt: is not a file of the definition library; its files are members.csv, book-loans.csv',
  ],
  ['a file that is named twice', ['members.csv', 'members.csv'], 'members.csv: is named twice'],
  [
    'one file in two forms',
    ['members.csv', 'members.ndjson'],
    'members.ndjson: is members, and so is members.csv; leave one of them out',
  ],
])('%s is refused', async (_case, names, message) => {
  const folder = writeFiles({ 'mebmer.txt': 'x', 'members.csv': MEMBERS, 'members.ndjson': '' })
  const paths = names.map((name) => join(folder, name))
  expect((await refusalOf(...paths)).replaceAll(`${folder}/`, '')).toBe(message)
})

test('names of files and columns may have another case and other separators, which notes say', async () => {
  const folder = writeFiles({
    'Members.CSV': FAULTY.replace('memberId', 'Member ID').replace('kind', 'KIND'),
    'Book_Loans.csv': LOANS.replace('loanId', 'loan_id'),
  })
  const { found, notes } = await look([folder])
  expect(found).toEqual(['MEM-02-type Members.CSV:2'])
  expect(notes).toEqual([
    'The file Book_Loans.csv was read as book-loans.csv.',
    'The column Member ID was read as memberId.',
    'The column KIND was read as kind.',
    'The column loan_id was read as loanId.',
  ])
  // A name that two columns resemble is not guessed.
  const two = writeFiles({ 'members.csv': 'member_id,Member Id,born,kind\nM1,M1,,01\n' })
  expect((await look([join(two, 'members.csv')])).found).toContain('MEM-00-header members.csv:1')
})

test.each([
  ['things.xlsx', makeXlsx({ things: [['value'], ['y']] }), 'things.xlsx/things'],
  ['things.ods', 'PK', 'things.ods', 'replace things.csv by it, saved as CSV or XLSX.'],
  ['things.csv.gz', gzipSync('value\ny\n'), 'things.csv.gz', 'use --file things=things.csv.gz.'],
])(
  'the file that the definition names is read, and %s beside it is listed',
  async (name, content, shown, advice = '') => {
    const fields = [{ name: 'value', type: 'integer' }]
    for (const path of ['things.csv', 'data/things.csv']) {
      const definition = define({ things: { fields, resource: { path } } })
      const beside = path.replace('things.csv', name)
      const folder = writeFiles({ [path]: 'value\nx\n', [beside]: content })
      const { found, gaps, notes } = await look([folder], [], definition)
      expect(found).toEqual([`THI-01-type ${path}:2`])
      expect([gaps, ...notes].join('\n')).toContain(
        `${path === 'things.csv' ? shown : beside} was not read: ${path} was read in its place.`,
      )
      if (path === 'things.csv') expect([gaps, ...notes].join('\n')).toContain(`Remove it, or ${advice}`)
    }
  },
)

test('--file says which file is which, also by its name in the folder that is checked', async () => {
  const folder = writeFiles({ 'book-loans.csv': LOANS.replace('L1,M1,,,\n', ''), 'SDR_2025.csv': FAULTY })
  const named = `members=${join(folder, 'SDR_2025.csv')}`
  const expected = ['MEM-02-type SDR_2025.csv:2']
  expect((await look([folder], [named])).found).toEqual(expected)
  expect((await look([], [named])).found).toEqual(expected)
  expect((await look([folder], ['members=SDR_2025.csv'])).found).toEqual(expected)
  writeFileSync(join(folder, 'members.csv'), 'memberId,born,kind\n')
  expect((await look([folder], [named])).found).toEqual(expected)
  await expect(look([folder], ['member=x.csv'])).rejects.toThrow(
    'x.csv: is named member, but the files are members, book-loans',
  )
})

const SCHEMA = {
  fields: [
    { name: 'ISO3166-1-Alpha-3', type: 'string', constraints: { required: true, minLength: 3 } },
    { name: 'Population (2020)', type: 'integer' },
  ],
  primaryKey: 'ISO3166-1-Alpha-3',
}
const RESOURCE = { name: 'country-codes', path: 'data/country-codes.csv', schema: SCHEMA }

test.each([
  [
    'version 1',
    'datapackage.json',
    JSON.stringify({ name: 'x', profile: 'tabular-data-package', license: 'MIT', resources: [RESOURCE] }),
  ],
  [
    'version 2',
    'datapackage.json',
    JSON.stringify({
      $schema: 'https://datapackage.org/profiles/2.0/datapackage.json',
      resources: [{ ...RESOURCE, type: 'table' }],
    }),
  ],
  ['YAML', 'datapackage.yml', `name: x\nresources:\n  - ${JSON.stringify(RESOURCE)}\n`],
])('a folder with a package of %s is checked against it', async (_version, name, descriptor) => {
  const data = 'ISO3166-1-Alpha-3,Population (2020)\nNZL,5\nNZL,x\n'
  const folder = writeFiles({ [name]: descriptor, 'data/country-codes.csv': data })
  expect(findDescriptor(folder)).toBeDefined()
  expect((await look([folder], [], folder)).found).toEqual([
    'country-codes-02-type data/country-codes.csv:3',
    'country-codes-00-key data/country-codes.csv:3',
  ])
})

test('a package is checked by its folder or its descriptor, and a resource that is not read is named', async () => {
  const schema = { fields: [{ name: 'id', type: 'integer' }] }
  const folder = writeFiles({
    'datapackage.json': JSON.stringify({
      resources: [
        { name: 'things', path: 'things.csv', schema },
        { name: 'places', path: 'places.geojson', schema },
      ],
    }),
    'things.csv': 'id\nx\n',
    'places.geojson': '{}',
  })
  const obstacle =
    'The resource places is in places.geojson, which is not CSV, NDJSON or XLSX, so it is not checked. Export it as CSV.'
  for (const path of [folder, join(folder, 'datapackage.json')]) {
    const { code, stdout, stderr } = await new Installation().run(['check', path])
    expect([code, stderr]).toEqual([1, `Note: ${obstacle}\n`])
    expect(stdout).toContain('id is wrong in the only record')
  }
})
