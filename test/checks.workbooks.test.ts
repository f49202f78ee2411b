import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Workbook } from '@cj-tech-master/excelts'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { readWorkbook, renderRecord } from '../src/engines/records/index.ts'
import { checkPaths, fix } from './support/checking.ts'
import { Installation } from './support/command.ts'
import { define } from './support/definition.ts'
import { cases } from './support/properties.ts'
import { temporaryFolder, writeFiles } from './support/temporary.ts'
import { makeXlsx, type XlsxCell } from './support/xlsx.ts'

/** The texts of a sheet's first column. */
async function readColumn(cells: readonly XlsxCell[], properties = ''): Promise<string[]> {
  const path = join(temporaryFolder(), 't.xlsx')
  writeFileSync(path, makeXlsx({ t: cells.map((cell) => [cell]) }, { properties }))
  const [sheet] = await readWorkbook(path)
  return [...(sheet?.rows() ?? [])].map(([text = '']) => text)
}

describe('the value of a cell', () => {
  test.each<[string, XlsxCell, string]>([
    ['a whole number with a fraction of zeros', { xml: '<c><v>3.0</v></c>' }, '3'],
    ['a number with zeros at its end', { xml: '<c><v>3.10</v></c>' }, '3.1'],
    ['a number with an exponent', { xml: '<c><v>1.5E-3</v></c>' }, '0.0015'],
    ['a small number', { xml: '<c><v>1.2e-9</v></c>' }, '0.0000000012'],
    ['a large number', { xml: '<c><v>1E+23</v></c>' }, '100000000000000000000000'],
    ['a number of more than 15 digits', { xml: '<c><v>0.30000000000000004</v></c>' }, '0.3'],
    ['a negative zero', { xml: '<c><v>-0</v></c>' }, '0'],
    ['a truth value', { xml: '<c t="b"><v>1</v></c>' }, 'TRUE'],
    ['an untrue one', { xml: '<c t="b"><v>0</v></c>' }, 'FALSE'],
    ['an error', { xml: '<c t="e"><v>#N/A</v></c>' }, '#N/A'],
    ['the result of a formula', { xml: '<c t="str"><f>A1&amp;"x"</f><v>ax</v></c>' }, 'ax'],
    ['a day in ISO 8601', { xml: '<c t="d" s="1"><v>2025-02-17T00:00:00Z</v></c>' }, '2025-02-17'],
    ['spaces', ' a\u00a0', ' a\u00a0'],
    ['only spaces', '  ', '  '],
    [
      'a character beyond the BMP',
      { xml: '<c t="inlineStr"><is><t>&#x1F600;&#134071;</t></is></c>' },
      '😀𠮷',
    ],
    ['formatted text', { xml: '<c t="inlineStr"><is><r><t>a </t></r><r><t>b</t></r></is></c>' }, 'a b'],
    [
      'text with a reading',
      { xml: '<c t="inlineStr"><is><t>東京</t><rPh><t>とうきょう</t></rPh></is></c>' },
      '東京',
    ],
    [
      'an escaped character',
      { xml: '<c t="inlineStr"><is><t>a_x000D_b_x005F_x0041_</t></is></c>' },
      'a\rb_x0041_',
    ],
    ['text that looks like a number', { xml: '<c t="str"><v> 3.0</v></c>' }, ' 3.0'],
  ])('of %s', async (_, cell, text) => {
    expect(await readColumn(['head', cell])).toEqual(['head', text])
  })

  test('is that of its own row and column where the references are left out', async () => {
    const path = join(temporaryFolder(), 't.xlsx')
    const sheets = { t: [['a', 'b'], [], ['c', { number: 5, format: '0' }]] }
    writeFileSync(path, makeXlsx(sheets, { references: false }))
    const [sheet] = await readWorkbook(path)
    expect([...(sheet?.rows() ?? [])]).toEqual([['a', 'b'], [], ['c', '5']])
  })

  test('of a formula is none where the workbook leaves its calculation to the next program', async () => {
    const cells = ['head', ...['0', '5'].map((value) => ({ xml: `<c><f>A1</f><v>${value}</v></c>` })), '0']
    const properties = '<calcPr calcId="124519" fullCalcOnLoad="1"/>'
    expect(await readColumn(cells, properties)).toEqual(['head', '=A1', '5', '0'])
  })

  test('of a formula with an empty result is empty', async () => {
    expect(await readColumn([{ xml: '<c t="str"><f>""</f><v></v></c>' }, 'x'])).toEqual(['', 'x'])
  })

  test('counts days from 1904 where the workbook says so', async () => {
    expect(await readColumn([{ date: 1 }], '<workbookPr date1904="1"/>')).toEqual(['1904-01-02'])
  })
})

/** The serial number of 2025-02-17 09:05:07.25. */
const MOMENT = 45_705 + (9 * 3600 + 5 * 60 + 7.25) / 86_400

test.each<[string, number, string]>([
  // Numbers keep their value, whatever surrounds them or is rounded.
  ['General', 1234.5, '1234.5'],
  ['0', 1234.5, '1234.5'],
  ['0.00', 7, '7'],
  ['#,##0', 1234567, '1234567'],
  ['#,##0.00', 1234.5, '1234.5'],
  ['#,##0;-#,##0', -5, '-5'],
  ['#,##0_);(#,##0)', -5, '-5'],
  ['#,##0_);[Red](#,##0)', 5, '5'],
  ['0%', 0.15, '0.15'],
  ['0.00%', 0.155, '0.155'],
  ['0.00E+00', 1234, '1234'],
  ['##0.0E+0', 1234, '1234'],
  ['# ?/?', 0.5, '0.5'],
  ['"$"#,##0.00', 100, '100'],
  ['"$"0', 100, '100'],
  ['[$€-407] #,##0.00', 100, '100'],
  ['_-"$"* #,##0.00_-;-"$"* #,##0.00_-;_-"$"* "-"??_-;_-@_-', 100, '100'],
  ['0 "days"', 12, '12'],
  ['0"%"', 15, '15'],
  ['"FY "0', 2025, '2025'],
  ['# ##0', 1234, '1234'],
  ['+0;-0', 7, '7'],
  ['@', 42, '42'],
  // Codes have the digits that their cells show.
  ['0000', 3, '0003'],
  ['00000-0000', 12345678, '01234-5678'],
  ['000-00-0000', 12345678, '012-34-5678'],
  ['###-####', 5551234, '555-1234'],
  ['"A"000', 7, 'A007'],
  ['"20"00', 25, '2025'],
  ['[$-409]0000', 42, '0042'],
  ['[$-en-NZ]0000', 42, '0042'],
  ['[Red]0000', 42, '0042'],
  ['[Color 10]0000;[Red]-0000', 42, '0042'],
  ['0000_)', 43, '0043'],
  ['_(* 0000_)', 43, '0043'],
  ['000.0', 7, '007.0'],
  ['000.0', 7.25, '7.25'],
  ['000.0', 0.1 + 0.2, '000.3'],
  ['00.00', 11.1, '11.10'],
  ['000.0##', 7.125, '007.125'],
  ['000".0"', 7, '007.0'],
  // What this does not read is a number.
  ['[>99]0000', 142, '142'],
  ['[$€-407]0000', 42, '42'],
  ['[$-4000439]0000', 42, '42'],
  ['00.00.00', 42, '42'],
  // Dates and times show their parts.
  ['m/d/yyyy', MOMENT, '2025-02-17'],
  ['dd/mm/yyyy', MOMENT, '2025-02-17'],
  ['yyyy-mm-dd', 45_705, '2025-02-17'],
  ['d-mmm-yy', 45_705, '2025-02-17'],
  ['yyyy-mm-dd', 45_705 + 86_399.997 / 86_400, '2025-02-17'],
  ['yyyy-mm-dd', 45_705 - 1e-10, '2025-02-17'],
  ['yyyy-mm-dd hh:mm', 45_705 + 86_399.997 / 86_400, '2025-02-18T00:00:00'],
  ['[$-409]mmmm d, yyyy;@', 45_705, '2025-02-17'],
  ['m/d/yy h:mm', MOMENT, '2025-02-17T09:05:07'],
  ['yyyy-mm-dd hh:mm:ss', 45_705, '2025-02-17T00:00:00'],
  ['yyyy-mm-ddThh:mm:ss.000', MOMENT, '2025-02-17T09:05:07.250'],
  ['h:mm AM/PM', MOMENT, '09:05:07'],
  ['h:mm:ss', 0.5, '12:00:00'],
  ['mm:ss', 0.5 / 24, '00:30:00'],
  ['[h]:mm:ss', 25.5 / 24, '25:30:00'],
  ['[h]:mm', 2, '48:00:00'],
  ['[mm]:ss', 1.5 / 24, '01:30:00'],
  ['yyyy-mm-dd', 1, '1900-01-01'],
  ['yyyy-mm-dd', 59, '1900-02-28'],
  ['yyyy-mm-dd', 60, '1900-02-29'],
  ['yyyy-mm-dd', 61, '1900-03-01'],
  ['yyyy-mm-dd', -1, '-1'],
])('the format %s shows %d as %s', async (format, number, text) => {
  expect(await readColumn([{ number, format }])).toEqual([text])
})

test('every minute of a day is read to the second', async () => {
  const minutes = Array.from({ length: 1440 }, (_, minute) => minute)
  const cells = minutes.map((minute) => ({ number: 45_705 + minute / 1440, format: 'yyyy-mm-dd hh:mm:ss' }))
  const two = (value: number) => String(value).padStart(2, '0')
  expect(await readColumn(cells)).toEqual(
    minutes.map((minute) => `2025-02-17T${two(Math.floor(minute / 60))}:${two(minute % 60)}:00`),
  )
})

test('a table has the same findings and the same corrections as CSV and as XLSX', async () => {
  const definition = {
    table: {
      fields: [
        { name: 'code', constraints: { required: true } },
        { name: 'amount', type: 'number', constraints: { minimum: 0 } },
        { name: 'day', type: 'date' },
        { name: 'flag', type: 'boolean' },
        { name: 'note', constraints: { maxLength: 4, enum: ['yes', 'no', 'T1'] } },
      ],
      primaryKey: 'code',
    },
  }
  // No line ends, because a finding in CSV names the line and not the row.
  const text = fc.oneof(
    fc.constantFrom(
      'yes',
      'Yes ',
      ' no',
      'T1',
      '007',
      '1,5',
      '17/02/2025',
      '=1+1',
      '#N/A',
      '  ',
      'a"b',
      '😀',
      '\u00a0x',
    ),
    fc.string({ unit: 'grapheme', maxLength: 6 }).filter((each) => !/[\p{Cc}\p{Cs}\ufeff]/u.test(each)),
  )
  const cell = fc.oneof(
    text,
    fc.integer({ min: -50, max: 20_000 }),
    fc.integer({ min: -500, max: 500 }).map((value) => value / 8),
    fc.boolean(),
    fc.date({ min: new Date('1950-01-01'), max: new Date('2050-01-01'), noInvalidDate: true }).map((date) => {
      return new Date(date.toISOString().slice(0, 10))
    }),
    fc.constant(null),
  )
  const row = fc.tuple(text, cell, cell, cell, cell)
  await fc.assert(
    fc.asyncProperty(fc.array(row, { minLength: 10, maxLength: 60 }), async (rows) => {
      const table = [
        ['code', 'amount', 'day', 'flag', 'note'],
        ...rows.map((cells, at) => [`C${at}`, ...cells.slice(1)]),
      ]
      const book = new Workbook()
      const sheet = book.addWorksheet('table')
      for (const cells of table) {
        const added = sheet.addRow(cells)
        for (const [at, value] of cells.entries())
          if (value instanceof Date) added.getCell(at + 1).numFmt = 'yyyy-mm-dd'
      }
      const shown = (value: unknown) => {
        if (value instanceof Date) return value.toISOString().slice(0, 10)
        if (typeof value === 'boolean') return String(value).toUpperCase()
        return value === null ? '' : String(value)
      }
      const csv = table.map((cells) => renderRecord(cells.map(shown)))
      const folder = define(definition)
      const one = await runBoth({ 'table.csv': `${csv.join('\n')}\n` }, folder)
      const other = await runBoth({ 'table.xlsx': new Uint8Array(await book.xlsx.writeBuffer()) }, folder)
      expect(other.findings).toEqual(one.findings)
      expect(other.fixed).toEqual(one.fixed)
    }),
    cases(6),
  )
})

/** The findings and the corrected file of the table. */
async function runBoth(file: Readonly<Record<string, string | Uint8Array>>, definition: string) {
  const { text, files } = await checkPaths([writeFiles(file)], definition)
  const { read } = await fix(files, definition)
  return { findings: text.replaceAll('table.xlsx/table', 'table.csv'), fixed: read('table.csv').toString() }
}

const NUMBERS = { table: { fields: [{ name: 'code' }, { name: 'n', type: 'integer' }] } }

test('findings name the sheet also when the files are marked, and the copies are CSV', async () => {
  const mahi = new Installation()
  mahi.write(
    'in/table.xlsx',
    makeXlsx({
      table: [
        ['code', 'n'],
        ['a', 'b'],
      ],
    }),
  )
  const run = ['check', 'in', '--definition', define(NUMBERS), '--format', 'ndjson', '--mark', 'marked']
  expect((await mahi.run(run)).stdout).toContain('"file":"table.xlsx/table"')
  expect(readFileSync(join(mahi.folder, 'marked/table.csv'), 'utf8')).toContain('TAB-02-type')
})

test.each<[string, Buffer]>([
  ['500 sheets', makeXlsx(Object.fromEntries(Array.from({ length: 501 }, (_, at) => [`s${at}`, [['a']]])))],
  [
    '65536 formats of numbers',
    makeXlsx({ t: Array.from({ length: 65_537 }, (_, at) => [{ number: 1, format: `0.${at}` }]) }),
  ],
  ['1048576 characters in an element', makeXlsx({ t: [[{ xml: `<c ${'a="1" '.repeat(200_000)}/>` }]] })],
  [
    '20000000 places up to the last cells of its rows',
    makeXlsx({ t: [Array(16_384).fill('a'), ...Array(1_300).fill(['b'])] }),
  ],
])('a workbook with more than %s is refused with this limit', async (limit, book) => {
  const path = join(temporaryFolder(), 't.xlsx')
  writeFileSync(path, book)
  const read = async () => {
    for (const sheet of await readWorkbook(path)) for (const _ of sheet.rows());
  }
  await expect(read()).rejects.toThrow(`has more than ${limit}, the most for a spreadsheet: save it as CSV`)
})
