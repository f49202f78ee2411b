import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { hasLostMarks } from '../src/catalogue/records/lost-marks.ts'
import type { Database } from '../src/foundation/database/database.ts'
import type { InputRefused } from '../src/foundation/faults/faults.ts'
import { formatFault } from '../src/foundation/faults/user-error.ts'
import { findLostCharacters, repairMojibake } from '../src/foundation/text/mojibake.ts'
import { importFile } from './support/import-file.ts'
import { parseLines } from './support/lines.ts'
import { exportText } from './support/opened.ts'
import { openTemporary } from './support/reused-schemas.ts'
import { makeXlsx, packSheets } from './support/xlsx.ts'

const SAMPLES = readFileSync(new URL('../samples/occupations.ndjson', import.meta.url), 'utf8')

/** The catalogue without dates. */
const contents = async (database: Database) =>
  (await exportText(database)).replaceAll(/,"lastUpdatedDate":"[^"]*"/g, '')

const decode = (bytes: Buffer, encoding: string) => new TextDecoder(encoding).decode(bytes)

/** Characters that Windows-1252 lacks become similar ones, as Windows does, or question marks. */
const encode1252 = (text: string, similar: boolean) =>
  Buffer.from(
    similar ? text.normalize('NFD').replaceAll(/\p{M}/gu, '') : text.replaceAll(/[^\0-\xff]/gu, '?'),
    'latin1',
  )

/** What programs make of a file in UTF-8 that they open and save again. */
const SPREADSHEETS: readonly (readonly [name: string, save: (text: string) => Buffer])[] = [
  ['UTF-8 with a mark', (text) => Buffer.from(`\ufeff${text}`)],
  ['UTF-8 without a mark, with CRLF', (text) => Buffer.from(text.replaceAll(/\r?\n/g, '\r\n'))],
  ['UTF-8 read as Windows-1252', (text) => Buffer.from(decode(Buffer.from(text), 'windows-1252'))],
  ['UTF-8 read as Latin-1', (text) => Buffer.from(Buffer.from(text).toString('latin1'))],
  [
    'UTF-8 read as Windows-1252 twice',
    (text) => Buffer.from(decode(Buffer.from(decode(Buffer.from(text), 'windows-1252')), 'windows-1252')),
  ],
  ['UTF-8 read as ASCII', (text) => Buffer.from(text.replaceAll(/[^\0-\x7f]/gu, '\ufffd'))],
  ['Windows-1252 with similar letters', (text) => encode1252(text, true)],
  ['Windows-1252 with question marks', (text) => encode1252(text, false)],
  ['UTF-16 with a mark', (text) => Buffer.from(`\ufeff${text}`, 'utf16le')],
  ['UTF-16 without a mark', (text) => Buffer.from(text, 'utf16le')],
  ['NFD', (text) => Buffer.from(text.normalize('NFD'))],
]

/** A catalogue like ANZSCO with the texts of the sample: six digits, some with a leading zero, and punctuation. */
function makeNumbered(): string {
  return parseLines(SAMPLES)
    .map((record, index) => ({
      ...record,
      occupationCode: String(11_000 + index * 7919).padStart(6, '0'),
      descriptionEnglish: `“Works alone” – or with others… ${record.descriptionEnglish}`,
      trainingDuration: 'Three years’ training; café, naïve, 50 €',
    }))
    .map((record) => `${JSON.stringify(record)}\n`)
    .join('')
}

test.each([
  ['the sample', SAMPLES],
  ['a catalogue like ANZSCO', makeNumbered()],
])('%s survives every spreadsheet unchanged, or is refused by cell', async (_, records) => {
  const database = await openTemporary()
  await importFile(database, 'records.ndjson', records)
  const before = await contents(database)
  const csv = (await exportText(database, 'flat-csv')).replace(/^\ufeff/, '')
  const outcomes: string[] = []
  for (const [name, save] of SPREADSHEETS) {
    const { summary, faults } = await importFile(database, 'saved.csv', save(csv))
    if (summary === undefined) {
      // A whole file in another encoding has no cells; every other refusal names line and column.
      const isFile = faults.every(({ message }) => /UTF-16|not valid UTF-8/.test(message))
      if (!isFile)
        expect(faults.every(({ line, field }) => line !== undefined && field !== undefined)).toBe(true)
      outcomes.push(`${name}: refused`)
    } else {
      expect({ name, ...summary }).toMatchObject({ created: 0, updated: 0, deleted: 0 })
      outcomes.push(`${name}: unchanged`)
    }
    expect(await contents(database)).toBe(before)
  }
  expect(outcomes).toEqual([
    'UTF-8 with a mark: unchanged',
    'UTF-8 without a mark, with CRLF: unchanged',
    'UTF-8 read as Windows-1252: unchanged',
    'UTF-8 read as Latin-1: unchanged',
    'UTF-8 read as Windows-1252 twice: unchanged',
    'UTF-8 read as ASCII: refused',
    'Windows-1252 with similar letters: refused',
    'Windows-1252 with question marks: refused',
    'UTF-16 with a mark: refused',
    'UTF-16 without a mark: refused',
    'NFD: unchanged',
  ])
})

test('text that was decoded wrongly is repaired without a control character too', () => {
  for (const [damaged, meant] of [
    ['NÄ“hi', 'Nēhi'],
    ['PÅ«kenga', 'Pūkenga'],
    ['Ä«', 'ī'],
    ['teacherâ€™s', 'teacher’s'],
    ['cafÃ©', 'café'],
    ['MÄ\u0081ori', 'Māori'],
  ]) {
    expect(repairMojibake(damaged ?? '')).toEqual({ text: meant })
  }
})

test('text in two encodings is refused', () => {
  expect(repairMojibake('Māori teacherâ€™s').fault).toMatch(/has "â€™", which was probably "’"/)
  // It may be right; it is refused where other text of the import was repaired.
  expect(repairMojibake('«CAFÉ»')).toMatchObject({ text: '«CAFÉ»', doubt: expect.stringContaining('"É»"') })
})

test('a lost letter is refused: U+FFFD, and a question mark in a word, but not in a URL', () => {
  expect(findLostCharacters('M\ufffdori')).toContain('U+FFFD')
  expect(findLostCharacters('te reo M?ori')).toContain('"M?ori"')
  expect(findLostCharacters('?tautahi')).toContain('a question mark')
  expect(findLostCharacters('see www.example.org/a?b')).toBeUndefined()
})

test('an update that only loses macrons is refused, and accepted on request', async () => {
  const database = await openTemporary()
  const header = 'occupationCode,titleMaori,altJobTitlesMaori.1\n'
  await importFile(database, 'a.csv', `${header}A,Kaiako kōhungahunga,Kaiwhakaako Māori\n`)
  const lost = `${header}A,Kaiako kohungahunga,Kaiwhakaako M?ori\n`
  const { faults } = await importFile(database, 'a.csv', lost.replace('M?ori', 'Maori'))
  expect(faults.map(({ line, field }) => [line, field])).toEqual([
    [2, 'titleMaori'],
    [2, 'altJobTitlesMaori[0]'],
  ])
  expect(faults[0]?.message).toContain(
    'is "Kaiako kohungahunga", and the catalogue has "Kaiako kōhungahunga"',
  )
  const accepted = await importFile(database, 'a.csv', lost.replace('M?ori', 'Maori'), {
    acceptDamaged: true,
  })
  expect(accepted.summary).toMatchObject({ updated: 1 })
  expect(hasLostMarks('Māori', 'Mori')).toBe(true)
  expect(hasLostMarks('Māori', 'Māori kaiako')).toBe(false)
  expect(hasLostMarks('Kaiako', 'kaiako')).toBe(false)
})

test('a sheet with a title above the header, formats of codes, and lists on lines', async () => {
  const database = await openTemporary()
  const mapping = `
headerRow: 3
noValue: [NA, n/a]
columns:
  Code: occupationCode
  Job: titleEnglish
  Also: { field: altJobTitlesEnglish, separator: ["\\n", ";", " / "] }
  Pay: renumeration.payLowerBound
  Unit: minorGroup.nameEnglish
  Unit code: minorGroup.code
`
  const sheet = makeXlsx({
    Jobs: [
      ['Our jobs'],
      [],
      ['Code', 'Job', 'Also', 'Pay', 'Unit', 'Unit code'],
      [
        { number: 110, format: '0000' },
        'Baker',
        'Bread Maker\nPastry Cook; NA; Oven Hand / Dough Maker',
        54000,
        'Food',
        { number: 121013, format: '00-0000' },
      ],
      [{ number: 7, format: '"A"000' }, 'Cook', ' n/a ', 'NA', 'Kitchen', 'NA'],
      [{ number: 1234.5, format: '#,##0.00' }, 'Chef', 'Boss;na', 54000.5, '', ''],
    ],
  })
  const { summary, shown } = await importFile(database, 'jobs.xlsx', sheet, { mapping })
  expect(shown).toEqual(['A4 110 0110', 'F4 121013 12-1013', 'A5 7 A007'])
  expect(summary?.withoutGroupCode).toMatchObject({
    count: 1,
    first: [{ line: 5, occupationCode: 'A007', groups: ['Kitchen'] }],
  })
  expect(parseLines(await contents(database))).toMatchObject([
    {
      occupationCode: '0110',
      altJobTitlesEnglish: ['Bread Maker', 'Pastry Cook', 'Oven Hand', 'Dough Maker'],
      renumeration: { payLowerBound: 54000 },
      minorGroups: [{ minorGroup: { code: '12-1013', nameEnglish: 'Food' } }],
    },
    {
      occupationCode: '1234.5',
      altJobTitlesEnglish: ['Boss', 'na'],
      renumeration: { payLowerBound: 54000.5 },
    },
    {
      occupationCode: 'A007',
      titleEnglish: 'Cook',
      minorGroups: [{ minorGroup: { nameEnglish: 'Kitchen' } }],
    },
  ])
  expect(summary?.doubtful).toMatchObject({
    count: 1,
    first: [
      {
        line: 6,
        doubt:
          'The column "Also" has na, which often stands for no value. It is stored as text, unless a mapping has it under noValue.',
      },
    ],
  })
})

test('a code that is stored with a fraction of zeros has the digits of its cell', async () => {
  const database = await openTemporary()
  const sheet = makeXlsx({
    Jobs: [
      ['occupationCode', 'titleEnglish', 'renumeration.payLowerBound'],
      [{ xml: '<c><v>110.0</v></c>' }, { xml: '<c t="inlineStr"><is><t>&#x20BB7; baker</t></is></c>' }, 5],
      [{ xml: '<c s="2"><v>120.0</v></c>' }, 'Chef', { number: 54_000, format: '0000' }],
    ],
  })
  const { shown } = await importFile(database, 'jobs.xlsx', sheet)
  expect(shown).toEqual(['A3 120.0 0120'])
  expect(parseLines(await contents(database))).toMatchObject([
    { occupationCode: '0120', renumeration: { payLowerBound: 54_000 } },
    { occupationCode: '110', titleEnglish: '𠮷 baker', renumeration: { payLowerBound: 5 } },
  ])
})

test('faults name the column and the cell of the sheet, and a formula that failed is an empty cell', async () => {
  const database = await openTemporary()
  const mapping = `
columns:
  Code: occupationCode
  Also: altJobTitlesEnglish
  And: altJobTitlesEnglish
  Pay low: renumeration.payLowerBound
  Pay high: renumeration.payUpperBound
`
  const header = ['Code', 'Also', 'And', 'Pay low', 'Pay high']
  const sheet = makeXlsx({
    Jobs: [
      header,
      ['A1', '', 'on two\nlines', 50, 40],
      ['A2', 'M\ufffdori', '', 'much', { xml: '<c t="e"><f>1/0</f><v>#DIV/0!</v></c>' }],
      ['A3', { xml: '<c><f>B1</f></c>' }],
    ],
  })
  const { faults } = await importFile(database, 'jobs.xlsx', sheet, { mapping })
  const places = faults.map((fault) => formatFault(fault).replace(/^.*jobs\.xlsx/, 'jobs.xlsx'))
  expect(places.at(-1)).toContain('has a formula without a stored result')
  expect(places.map((place) => place.split(': ').slice(0, 3).join(': '))).toEqual([
    'jobs.xlsx:2: And (C2): altJobTitlesEnglish[0]',
    'jobs.xlsx:2: Pay high (E2): renumeration.payUpperBound',
    'jobs.xlsx:3: Also (B3): altJobTitlesEnglish[0]',
    'jobs.xlsx:3: Pay low (D3): renumeration.payLowerBound',
    'jobs.xlsx:4: Also (B4): altJobTitlesEnglish',
  ])
})

test('a cell without a column is a fault, and of several sheets one must be chosen', async () => {
  const rows = [['occupationCode'], ['A', 'more']]
  const refuse = async (content: Buffer) =>
    (await importFile(await openTemporary(), 'j.xlsx', content)).faults
  expect(await refuse(makeXlsx({ Jobs: rows }))).toMatchObject([
    { line: 2, message: 'has cells beyond the 1 named columns' },
  ])
  expect(await refuse(makeXlsx({ Jobs: rows, Notes: [] }))).toMatchObject([
    { message: 'has 2 sheets: choose one with --sheet. The sheets are "Jobs", "Notes"' },
  ])
})

test('the files of a spreadsheet may not unpack to more than 200 MiB in all', async () => {
  const sheet = Buffer.concat([Buffer.from('<worksheet><!--'), Buffer.alloc(70 * 2 ** 20, 'x')])
  const content = await packSheets(Array.from({ length: 3 }, () => sheet))
  const { faults } = await importFile(await openTemporary(), 'j.xlsx', content)
  expect(faults).toMatchObject([{ message: expect.stringMatching(/^unpacks to more than 209715200 bytes/) }])
})

test('repeated codes and dates in the future name the column and the cell of the sheet', async () => {
  const later = '2999-01-01T00:00:00.000Z'
  const file = makeXlsx({
    Sheet1: [
      ['Title', 'Job code', 'Changed'],
      ['Baker', '42', '2020-01-01T00:00:00.000Z'],
      ['Pilot', '43', later],
      ['Nurse', '42', '2020-01-01T00:00:00.000Z'],
    ],
  })
  const mapping = 'columns: { Title: titleEnglish, Job code: occupationCode, Changed: lastUpdatedDate }'
  const { faults } = await importFile(await openTemporary(), 'j.xlsx', file, { mapping, keepDates: true })
  const texts = faults.map((fault) => formatFault(fault).replaceAll(/\S*(j\.xlsx)/g, '$1'))
  expect(texts).toEqual([
    expect.stringMatching(/^j\.xlsx:3: Changed \(C3\): lastUpdatedDate: is 2999-01-01/),
    'j.xlsx:4: Job code (B4): occupationCode: repeats "42" of j.xlsx:2',
  ])
})

test.each([
  ['columns:\n  A: [a, b\n  B: c\n', 2, /: the bracket \[ at column 6 is not closed\./],
  ['columns:\n  A: [a, "b\n', 2, /: the quote " at column 10 is not closed\./],
  ['columns: {\nA: b\n}\n', 1, /must be indented/],
  ['columns:\n\tCode: occupationCode\n', 2, /tab: use spaces/],
  ['columns:\n  Code: a\n  Code: b\n', 3, /two keys of an object are the same/],
])('a mapping in bad YAML is refused with its place: %j', async (mapping, line, reason) => {
  const importing = importFile(await openTemporary(), 'a.csv', 'A\n', { mapping })
  const { faults } = await importing.catch((error: InputRefused) => error)
  expect(faults).toMatchObject([{ line, message: expect.stringMatching(/^is not YAML or JSON/) }])
  expect(faults[0]?.message).toMatch(reason)
})
