import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { check } from './support/checking.ts'
import { Installation } from './support/command.ts'
import { temporaryFolder, writeFiles } from './support/temporary.ts'

type Values = readonly string[]

function writePackage(field: object, values: Values): { folder: string; csv: string } {
  const schema = { fields: [{ name: 'id' }, { name: 'n', ...field }] }
  const toCell = (value: string) => (/[,"]/.test(value) ? `"${value.replaceAll('"', '""')}"` : value)
  const csv = `id,n\n${values.map((value, at) => `${at + 1},${toCell(value)}\n`).join('')}`
  const resources = [{ name: 't', path: 't.csv', schema }]
  return { folder: writeFiles({ 'datapackage.json': JSON.stringify({ resources }), 't.csv': csv }), csv }
}

/** The sentence and the fix of each cause of a column. */
async function listCauses(field: object, values: Values): Promise<string[]> {
  const { folder, csv } = writePackage(field, values)
  const { summary } = await check({ 't.csv': csv }, { definition: folder })
  return summary.causes.map(({ sentence, fix }) => `${sentence} ${fix}`)
}

/** The findings of a column. */
async function listMessages(field: object, values: Values): Promise<string[]> {
  const { folder, csv } = writePackage(field, values)
  const { findings } = await check({ 't.csv': csv }, { definition: folder })
  return findings.map(({ errorDescription }) => errorDescription)
}

const atMost = { type: 'number', constraints: { maximum: 100 } }
const wrong = (rule: string, fix = 'Correct the value.') => [
  `n is wrong in 1 of 2 records: n must be ${rule}. ${fix}`,
]

describe('a nature is named only if it explains why the check fails', () => {
  test.each<[string, object, Values, string[]]>([
    ['decimal places, of too large a number', atMost, ['500.00', '1'], wrong('at most 100')],
    [
      'a sign, of too small a number',
      { type: 'number', constraints: { minimum: 0 } },
      ['-60.00', '1'],
      wrong('at least 0'),
    ],
    ['an exponent', atMost, ['1E9', '1'], wrong('at most 100')],
    [
      'a currency that the field accepts',
      { ...atMost, bareNumber: false },
      ['$500', '1'],
      wrong('at most 100'),
    ],
    [
      'separators that the field accepts',
      { ...atMost, groupChar: ',' },
      ['1,500', '1'],
      wrong('at most 100'),
    ],
    ['a comma that the field accepts', { ...atMost, decimalChar: ',' }, ['500,5', '1'], wrong('at most 100')],
    [
      'a number outside a list',
      { type: 'number', constraints: { enum: [1, 2] } },
      ['5.00', '1'],
      wrong('1 or 2', 'Use one of the permitted values.'),
    ],
    [
      'a date in its form, before the first one',
      { type: 'date', format: '%d/%m/%Y', constraints: { minimum: '01/02/2025' } },
      ['15/01/2025', '01/03/2025'],
      wrong('at least 01/02/2025'),
    ],
    [
      'digits, of a text that is too short',
      { constraints: { minLength: 5 } },
      ['123', 'abcde'],
      ['n is wrong in 1 of 2 records: n must have at least 5 characters. Correct the value.'],
    ],
    [
      'digits, of a year',
      { type: 'year' },
      ['17', '2025'],
      wrong('a year such as 2025', 'Write the value in the expected form.'),
    ],
    [
      'decimals of a whole number',
      { type: 'integer' },
      ['12,5', '1'],
      wrong('a whole number such as 2025', 'Write the value in the expected form.'),
    ],
    ['no number', { type: 'number', constraints: { maximum: 5 } }, ['NaN', '1'], wrong('at most 5')],
    [
      'decimal places that can be left out',
      { type: 'number', 'mahi:decimals': 0 },
      ['5.00', '1'],
      ['n: 1 of 2 values has decimal places. Leave out the decimal places.'],
    ],
  ])('%s', async (_what, field, values, expected) => {
    expect(await listCauses(field, values)).toEqual(expected)
  })
})

const IN_ISO = 'Write dates as year-month-day, such as 2025-02-17.'

describe('dates', () => {
  test.each<[string, string, string, string]>([
    ['17/02/2025', 'default', 'is not written year-month-day', IN_ISO],
    ['17/02/25', 'default', 'is not written year-month-day', IN_ISO],
    ['17/02/2025', '%d/%m/%y', 'is not written as %d/%m/%y', 'Write dates as %d/%m/%y, such as 17/02/25.'],
    ['17/02/2025', '%Y%m%d', 'is not written as %Y%m%d', 'Write dates as %Y%m%d, such as 20250217.'],
    ['2025-02-17', '%d.%m.%Y', 'is not written as %d.%m.%Y', 'Write dates as %d.%m.%Y, such as 17.02.2025.'],
    ['31/02/2025', '%d/%m/%Y', 'is a day that the calendar does not have', 'Correct the date.'],
    ['30.02.2025', '%d.%m.%Y', 'is a day that the calendar does not have', 'Correct the date.'],
    ['2025-13-01', 'default', 'is a day that the calendar does not have', 'Correct the date.'],
    ...['06-Mar-25', '06 Mar 2025', '06 March 2025', 'Mar 06, 2025'].map(
      (value): [string, string, string, string] => [
        value,
        'default',
        'is written with the name of a month',
        IN_ISO,
      ],
    ),
    ...['2025/03/06', '2025-3-6', '20250306'].map((value): [string, string, string, string] => [
      value,
      'default',
      'is not written with hyphens and two-digit months and days',
      IN_ISO,
    ]),
    ['2025-03-06T00:00:00', 'default', 'has a time behind the date', 'Leave out the time.'],
    ['06/03/2025 0:00', 'default', 'has a time behind the date', `Leave out the time. ${IN_ISO}`],
    ['03/06/2025 12:00:00 AM', 'default', 'has a time behind the date', `Leave out the time. ${IN_ISO}`],
    [
      '45743',
      'default',
      'is a number of days, as a spreadsheet stores dates',
      'Format the column as a date such as 2025-02-17, and export the file again.',
    ],
    [
      '########',
      'default',
      'is lost, because a column of a spreadsheet was too narrow for it',
      'Widen the column in the spreadsheet, and export the file again.',
    ],
  ])('%s in a column of the format %s %s', async (value, format, one, fix) => {
    const valid =
      {
        default: '2025-02-17',
        '%d/%m/%y': '17/02/25',
        '%Y%m%d': '20250217',
        '%d.%m.%Y': '17.02.2025',
        '%d/%m/%Y': '17/02/2025',
      }[format] ?? ''
    const field = { type: 'date', format }
    expect(await listCauses(field, [value, valid])).toEqual([`n: 1 of 2 values ${one}. ${fix}`])
    expect(await listCauses(field, [value])).toEqual([`n: the only value ${one}. ${fix}`])
  })

  test('a single number is no number of days, but a column of them is', async () => {
    const field = { type: 'date' }
    expect(await listCauses(field, ['12345', '2025-02-17'])).toEqual([
      'n is wrong in 1 of 2 records: n must be a date such as 2025-02-17. Write the value in the expected form.',
    ])
    expect(await listCauses(field, ['12345', '12346', '12347', '2025-02-17'])).toEqual([
      'n: 3 of 4 values are numbers of days, as a spreadsheet stores dates. Format the column as a date such as 2025-02-17, and export the file again.',
    ])
  })

  test('the finding of a day that the calendar does not have does not say how to write it', async () => {
    expect(await listMessages({ type: 'date', format: '%d/%m/%Y' }, ['31/02/2025'])).toEqual([
      'n is "31/02/2025", but must be a date such as 17/02/2025. The calendar has no such day.',
    ])
  })
})

describe('commas', () => {
  const decimals = ['0,5', '0,25', '12,5']
  const either =
    'n: 1 of 2 values has a comma, which may separate decimals or thousands. Write numbers such as 1.250 if the comma separates decimals, and such as 1250 if it separates thousands.'
  test.each<[string, object, Values, string[]]>([
    [
      'a zero before it shows decimals',
      {},
      ['0,005', '7'],
      ['n: 1 of 2 values has a decimal comma. Use a point as the decimal separator.'],
    ],
    [
      'other values show decimals',
      {},
      [...decimals, '1,250'],
      ['n: all 4 values have a decimal comma. Use a point as the decimal separator.'],
    ],
    [
      'other values show thousands',
      {},
      ['1,234.50', '1,250'],
      ['n: all 2 values have thousands separators. Leave out thousands separators.'],
    ],
    [
      'a valid value shows thousands',
      {},
      ['900.50', '1,250'],
      ['n: 1 of 2 values has thousands separators. Leave out thousands separators.'],
    ],
    ['nothing shows what it separates', {}, ['1,250', '7'], [either]],
    [
      'a whole number has no decimals',
      { type: 'integer' },
      ['1,250', '7'],
      ['n: 1 of 2 values has thousands separators. Leave out thousands separators.'],
    ],
    [
      'a point where the field has commas',
      { decimalChar: ',' },
      ['0.005', '7'],
      ['n: 1 of 2 values has a decimal point. Use a comma as the decimal separator.'],
    ],
    [
      'thousands beside a currency',
      {},
      ['$1,250.00', '7'],
      ['n: 1 of 2 values has a sign of a currency. Leave out the currency: write a number such as 1250.50.'],
    ],
  ])('%s', async (_what, field, values, expected) => {
    expect(await listCauses({ type: 'number', ...field }, values)).toEqual(expected)
  })

  test('the finding names both possibilities', async () => {
    expect(await listMessages({ type: 'number' }, ['1,250'])).toEqual([
      'n is "1,250", but must be a number such as 1250.50. Write 1.250 if the comma separates decimals, or 1250 if it separates thousands.',
    ])
  })

  test('a check says of a column what a repair does', async () => {
    const values = ['0,005', '0,0833', '0,125', '1,250', '2']
    expect(await listCauses({ type: 'number' }, values)).toEqual([
      'n: 4 of 5 values have a decimal comma. Use a point as the decimal separator.',
    ])
    const to = join(temporaryFolder(), 'fixed')
    await new Installation().run(['check', writePackage({ type: 'number' }, values).folder, '--fix', to])
    expect(readFileSync(join(to, 't.csv'), 'utf8')).toBe('id,n\n1,0.005\n2,0.0833\n3,0.125\n4,1.250\n5,2\n')
  })
})

const CODE = { constraints: { required: true, pattern: '[0-9]{2}' } }

describe('codes', () => {
  test.each<[string, object, Values, string]>([
    [
      'numbers of a program',
      CODE,
      ['1.0', '02'],
      'n: 1 of 2 values is written as a decimal number. Write 01, not 1.0: programs write whole numbers like this where a column has gaps.',
    ],
    [
      'years of a program',
      { type: 'year' },
      ['2017.0', '2025'],
      'n: 1 of 2 values is written as a decimal number. Write 2017, not 2017.0: programs write whole numbers like this where a column has gaps.',
    ],
    [
      'an apostrophe',
      CODE,
      ["'01", '02'],
      'n: 1 of 2 values begins with an apostrophe, with which a spreadsheet marks text. Remove the apostrophe.',
    ],
    [
      'a formula',
      CODE,
      ['="01"', '02'],
      'n: 1 of 2 values is a formula of a spreadsheet. Write only the value, without =" and ".',
    ],
    [
      'lost zeros',
      CODE,
      ['1', '02'],
      'n: 1 of 2 values lacks leading zeros. Write the code with its leading zeros: spreadsheets remove them.',
    ],
    [
      'another case',
      { constraints: { enum: ['Yes', 'No'] } },
      ['YES', 'No'],
      'n: 1 of 2 values is in the wrong case. Write capital and small letters as in the permitted values.',
    ],
    [
      'an exponent',
      CODE,
      ['9.90E+08', '02'],
      'n: 1 of 2 values has an exponent. Format the column as numbers with all digits, and export the file again.',
    ],
    [
      'an invisible character',
      CODE,
      ['\u200b01', '02'],
      'n: 1 of 2 values has an invisible character. Remove the invisible characters.',
    ],
    [
      'a no-break space',
      { constraints: { enum: ['a b'] } },
      ['a\u00a0b', 'a b'],
      'n: 1 of 2 values has a no-break space. Replace it with an ordinary space.',
    ],
    [
      'a word for no value',
      CODE,
      ['NULL', '02'],
      'n: 1 of 2 values is a word that programs write for no value. Enter the value.',
    ],
    [
      'a word for no value that may be absent',
      { type: 'integer' },
      ['N/A', '2'],
      'n: 1 of 2 values is a word that programs write for no value. Leave the cell empty.',
    ],
    [
      'an error',
      CODE,
      ['#N/A', '02'],
      'n: 1 of 2 values is an error of a spreadsheet. Correct the formula in the spreadsheet, or enter the value.',
    ],
    [
      'an error that may be absent',
      { type: 'integer' },
      ['#N/A', '2'],
      'n: 1 of 2 values is an error of a spreadsheet. Correct the formula in the spreadsheet, or enter the value. Leave the cell empty if there is none.',
    ],
  ])('%s', async (_what, field, values, expected) => {
    expect(await listCauses(field, values)).toEqual([expected])
  })
})

describe('a column of which nearly all values fail a check is one cause', () => {
  const repeat = (values: Values, times: number) => Array.from({ length: times }, () => values).flat()
  test.each<[string, object, Values, string]>([
    [
      'codes of another system',
      { constraints: { enum: ['Y', 'N'] } },
      repeat(['Yes', 'No', 'Maybe'], 10),
      'n is wrong in all 30 records: n must be Y or N. Use one of the permitted values.',
    ],
    [
      'empty cells apart',
      { constraints: { enum: ['Y', 'N'] } },
      repeat(['Yes', 'No', ''], 10),
      'n is wrong in 20 of 30 records: n must be Y or N. Use one of the permitted values.',
    ],
    [
      'dates of no known form',
      { type: 'date' },
      repeat(['the 6th', 'the 7th'], 10),
      'n is wrong in all 20 records: n must be a date such as 2025-02-17. Write the value in the expected form.',
    ],
    [
      'too many decimals',
      { type: 'number', 'mahi:decimals': 2 },
      repeat(['0.125', '0.375'], 10),
      'n is wrong in all 20 records: n must have at most 2 decimal places. Round the value.',
    ],
    [
      'dates with names of months',
      { type: 'date' },
      repeat(['06-Mar-25', '07-Mar-25'], 10),
      `n: all 20 values are written with the name of a month. ${IN_ISO}`,
    ],
  ])('%s', async (_what, field, values, expected) => {
    expect(await listCauses(field, values)).toEqual([expected])
  })

  test('a wrong value at equal distances is no column', async () => {
    const values = repeat(['x', 'Y', 'Y', 'Y', 'N'], 200)
    expect(await listCauses({ constraints: { enum: ['Y', 'N'] } }, values)).toEqual([
      'n x is wrong: n must be Y or N. Use one of the permitted values.',
    ])
  })

  test('a few wrong values are causes of their own', async () => {
    const values = [...repeat(['Y', 'N'], 20), ...repeat(['Yes', 'No'], 3)]
    expect(await listCauses({ constraints: { enum: ['Y', 'N'] } }, values)).toEqual([
      'n No is wrong: n must be Y or N. Use one of the permitted values.',
      'n Yes is wrong: n must be Y or N. Use one of the permitted values.',
    ])
  })

  test('many wrong values, none of which is frequent, are one cause', async () => {
    const values = [
      ...repeat(['A1', 'B2'], 40),
      ...repeat(['A1.0', 'B2.0', 'C3.0', 'D4.0', 'E5.0', 'F6.0'], 3),
    ]
    expect(await listCauses({ constraints: { pattern: '[A-Z][0-9]' } }, values)).toEqual([
      'n is wrong in 18 of 98 records: n must have the form [A-Z][0-9]. Write the value in the expected form.',
    ])
  })
})

describe('what is said of a value is so', () => {
  const date = { type: 'date' }
  const EMPTY = 'n: 1 of 2 values is zero, which programs write for no date. Leave the cell empty.'
  test.each<[string, object, Values, string]>([
    [
      'capital letters, where no values are listed',
      { constraints: { pattern: '[A-Z][0-9]' } },
      ['a1', 'B2'],
      'n: 1 of 2 values is in the wrong case. Use capital letters.',
    ],
    ...['00/00/0000', '0000-00-00', '0000-00-00 00:00:00', '0/01/1900', '1900-01-00'].map(
      (value): [string, object, Values, string] => [value, date, [value, '2025-02-17'], EMPTY],
    ),
    [
      'no date where one is required',
      { ...date, constraints: { required: true } },
      ['00/00/0000', '2025-02-17'],
      'n: 1 of 2 values is zero, which programs write for no date. Enter the date.',
    ],
    [
      'a code that became a decimal number with a comma',
      { constraints: { enum: ['7', '8'] } },
      ['7,0', '8'],
      'n: 1 of 2 values is written as a decimal number. Write 7, not 7,0: programs write whole numbers like this where a column has gaps.',
    ],
    [
      'decimal commas and points between thousands',
      { type: 'number' },
      ['846,50', '2.574,50', '7,25'],
      'n: all 3 values have a decimal comma. Use a point as the decimal separator, and leave out thousands separators.',
    ],
    [
      'another separator of a list',
      { type: 'list', delimiter: ';', 'mahi:items': { pattern: '[0-9]{3}' } },
      ['111,211', '111'],
      'n: 1 of 2 values has "," between its items. Write ";" between them.',
    ],
    [
      'a share of the values, not of the records',
      { constraints: { pattern: '[0-9]{2}' } },
      ['1', '2', '', '03'],
      'n: 2 of 3 values lack leading zeros. Write the code with its leading zeros: spreadsheets remove them.',
    ],
    [
      'one character',
      { constraints: { maxLength: 1 } },
      ['14', '1'],
      'n is wrong in 1 of 2 records: n must have at most 1 character. Correct the value.',
    ],
  ])('%s', async (_what, field, values, expected) => {
    expect(await listCauses(field, values)).toEqual([expected])
  })

  test('a finding counts in the singular, too', async () => {
    expect(await listMessages({ constraints: { minLength: 2, maxLength: 2 } }, ['x', 'ab'])).toEqual([
      'n has 1 character, but must have exactly 2.',
    ])
  })
})
