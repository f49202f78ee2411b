import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { OCCUPATION_COLUMNS } from '../src/catalogue/records/record-schema.ts'
import { readFromSpreadsheet, renderForSpreadsheets } from '../src/engines/records/index.ts'
import { readCsv } from '../src/engines/records/read-csv.ts'
import { cases } from './support/properties.ts'
import { inChunks, readAll } from './support/reading.ts'

const FILE = 'records.csv'

async function read(content: string | Buffer, chunkSize = 11) {
  return await readAll(readCsv(FILE, inChunks(content, chunkSize), { columns: OCCUPATION_COLUMNS }))
}

/** `line: field: message` of each fault. */
async function complain(content: string | Buffer, chunkSize?: number): Promise<string[]> {
  const { faults } = await read(content, chunkSize)
  return faults.map(({ line, field, message }) =>
    [line, field, message].filter((part) => part !== undefined).join(': '),
  )
}

test('the first line names the columns, in any order and as many as there are', async () => {
  const { records, faults } = await read('titleEnglish,occupationCode\nBaker,B1\nPilot,P1\n')
  expect(faults).toEqual([])
  expect(records).toEqual([
    { file: FILE, line: 2, value: { titleEnglish: 'Baker', occupationCode: 'B1' } },
    { file: FILE, line: 3, value: { titleEnglish: 'Pilot', occupationCode: 'P1' } },
  ])
})

test('a field within an object has a column with dots; a list is JSON in a cell; a number is a number', async () => {
  const { records } = await read(
    'occupationCode,renumeration.payLowerBound,renumeration.payUpperBound,altJobTitlesEnglish\n' +
      'B1,41000.5,6.2e4,"[""Baker\'s hand"",""Miller""]"\n',
  )
  expect(records[0]?.value).toEqual({
    occupationCode: 'B1',
    renumeration: { payLowerBound: 41000.5, payUpperBound: 62000 },
    altJobTitlesEnglish: ["Baker's hand", 'Miller'],
  })
})

test('an empty cell is an absent field', async () => {
  const { records } = await read('occupationCode,titleEnglish,renumeration.payLowerBound\nB1,,\n')
  expect(records[0]?.value).toEqual({ occupationCode: 'B1' })
})

test('lines may end as they like, even differently in one file', async () => {
  const { records, faults } = await read('occupationCode,titleEnglish\r\nB1,Baker\nP1,Pilot\r\nC1,Cook')
  expect(faults).toEqual([])
  expect(records.map(({ line, value }) => [line, value])).toEqual([
    [2, { occupationCode: 'B1', titleEnglish: 'Baker' }],
    [3, { occupationCode: 'P1', titleEnglish: 'Pilot' }],
    [4, { occupationCode: 'C1', titleEnglish: 'Cook' }],
  ])
})

test('a record has the line on which it starts, after empty lines and lines within quotes', async () => {
  const { records } = await read(
    'occupationCode,descriptionEnglish\r\n\r\nA,"one\r\ntwo\r\n\r\nthree"\r\n\r\nB,"x ""y"""\r\nC,z\r\n',
  )
  expect(records.map(({ line }) => line)).toEqual([3, 8, 9])
  expect(records[0]?.value).toMatchObject({ descriptionEnglish: 'one\r\ntwo\r\n\r\nthree' })
})

test.each([
  ['=1+1', "'=1+1"],
  ['@A1', "'@A1"],
  ['\tx', "'\tx"],
  ['＋64 21', "'＋64 21"],
  ['-5+1', "'-5+1"],
  ["'=1", "''=1"],
  // Numbers stay numbers.
  ['-5', '-5'],
  ['-5.25', '-5.25'],
  ["'-5", "'-5"],
  ["'x", "'x"],
])('%j is %j in CSV for spreadsheets, and read back as it was', (value, cell) => {
  expect(renderForSpreadsheets([[value, 'x']])).toBe(`${cell},x\n`)
  expect(readFromSpreadsheet(cell)).toBe(value)
})

test('what was written as CSV is read back, and each record has its line, whatever its cells hold', async () => {
  const cell = fc.string({ unit: fc.constantFrom(...'ab,;"\'\n\r\t ā😀='), maxLength: 8 })
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.tuple(cell, cell), { maxLength: 6 }),
      fc.integer({ min: 1, max: 30 }),
      fc.boolean(),
      async (rows, size, windows) => {
        const end = windows ? '\r\n' : '\n'
        let text = `titleEnglish,occupationCode,titleMaori${end}`
        const expected = rows.map(([one, two], index) => {
          const line = text.split('\n').length
          text += `${[one, `C${index}`, two].map((each) => `"${each.replaceAll('"', '""')}"`)}${end}`
          const value = {
            ...(one === '' ? {} : { titleEnglish: one }),
            occupationCode: `C${index}`,
            ...(two === '' ? {} : { titleMaori: two }),
          }
          return { file: FILE, line, value }
        })
        expect(await read(text, size)).toEqual({ records: expected, faults: [] })
      },
    ),
    cases(100),
  )
})

describe('the first line is refused', () => {
  test.each([
    [
      'an unknown column, with the nearest known one',
      'occupationcode,titelEnglish\nA,B\n',
      [
        '1: names the unknown column "occupationcode" (did you mean "occupationCode"?)',
        '1: names the unknown column "titelEnglish" (did you mean "titleEnglish"?)',
      ],
    ],
    [
      'a row of data in its place',
      'A1,Kaiako\nA2,Ringawera\n',
      ['1: The header row has no known column. Expected names such as occupationCode'],
    ],
    ['a column twice', 'occupationCode,occupationCode\n', ['1: names the column "occupationCode" twice']],
    ['semicolons', 'occupationCode;titleEnglish\n', ['1: Columns are separated by ";". Use ","']],
    ['tabs', 'occupationCode\ttitleEnglish\n', ['1: Columns are separated by "\\t". Use ","']],
    [
      'a part of a path alone',
      'occupationCode,renumeration\n',
      ['1: names the unknown column "renumeration"'],
    ],
    ['a name without a name', 'occupationCode,\n', ['1: names the unknown column ""']],
    [
      'names that every object has',
      'occupationCode,__proto__,constructor\n',
      ['1: names the unknown column "__proto__"', '1: names the unknown column "constructor"'],
    ],
  ])('%s', async (_, text, expected) => {
    expect(await complain(text)).toEqual(expected)
  })

  test('on the line where it stands', async () => {
    expect(await complain('\n\noccupation\n')).toEqual([
      '3: names the unknown column "occupation" (did you mean "occupationCode"?)',
    ])
  })
})

test('each row with a cell too few or too many is named, and the others are read', async () => {
  const { records, faults } = await read('occupationCode,titleEnglish\nA\nB,b\nC,c,\nD,d\n')
  expect(records.map(({ line }) => line)).toEqual([3, 5])
  expect(faults.map(({ line, message }) => `${line}: ${message}`)).toEqual([
    '2: has 1 cell, and the header row has 2 columns',
    '4: has 3 cells, and the header row has 2 columns',
  ])
})

test('a text cut off in the middle of a row is refused', async () => {
  expect(await complain('occupationCode,titleEnglish,titleMaori\nA,a,b\nB,b')).toEqual([
    '3: has 2 cells, and the header row has 3 columns',
  ])
  expect(await complain('occupationCode,titleEnglish\nA,"a b\n\nc')).toEqual([
    '2: A quote that opens in this record, on line 2, is not closed',
  ])
})

test('a cell that should hold a list says how', async () => {
  expect(await complain('occupationCode,altJobTitlesEnglish,minorGroups\nA,Baker; Miller,[{\n')).toEqual([
    '2: altJobTitlesEnglish: must be a JSON list such as ["one","two"], not "Baker; Miller"',
    '2: minorGroups: must be a JSON list such as ["one","two"], not "[{"',
  ])
})

test('a quote that is not closed is refused by the line of its record, before the file fills the memory', async () => {
  const text = `occupationCode,titleEnglish\nA,a\n\nB,"b\n${'x,y\n'.repeat(1_000_000)}`
  expect(await complain(text, 256 * 1024)).toEqual([
    '4: A quote that opens in this record, on line 4, is not closed',
  ])
})

test('a line of 20 MB is refused', async () => {
  const text = `occupationCode,titleEnglish\nA,a\nB,${'x'.repeat(20_000_000)}\n`
  expect(await complain(text, 256 * 1024)).toEqual([
    '3: The record is longer than 1024 KiB. A closing quote may be missing',
  ])
})

test('a quote within a cell that is not quoted is refused', async () => {
  expect(await complain('occupationCode,titleEnglish\nA,say "hi"\n')).toEqual([
    '2: A value without quotes around it contains a quote. Quote the whole value, and double the quotes within',
  ])
  expect(await complain('occupationCode,titleEnglish\nA,a\n\nB,"say" hi\n')).toEqual([
    '4: A closing quote is followed by other text',
  ])
})

const NOT_UTF8 = 'is not valid UTF-8. Save the file as UTF-8, which Excel calls "CSV UTF-8"'

test('a text that is not UTF-8 is refused by its first line that is not, with the column', async () => {
  const [english, rest] = [Buffer.from('occupationCode,titleEnglish,titleMaori\nA,caf\u00e9,k\u0113'), 'B,']
  for (const size of [1, 11, 1000]) {
    for (const cell of ['caf\u00e9', '"caf\u00e9"', '"on two\nlines, caf\u00e9"']) {
      const text = Buffer.concat([english, Buffer.from(`\n${rest}x,${cell}\n`, 'latin1')])
      expect(await complain(text, size)).toEqual([`3: titleMaori: ${NOT_UTF8}`])
    }
  }
})

test('a header that is not UTF-8 is refused without a column', async () => {
  const text = Buffer.from('occupationCode,titre fran\u00e7ais\nA,b\n', 'latin1')
  expect(await complain(text)).toEqual([`1: The record ${NOT_UTF8}`])
})

test('a text that names columns and no more holds no record', async () => {
  expect(await read('occupationCode,titleEnglish\n')).toEqual({ records: [], faults: [] })
})
