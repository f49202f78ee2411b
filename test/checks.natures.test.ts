import { describe, expect, test } from 'vitest'
import { renderRecord } from '../src/engines/records/index.ts'
import { advise, check, fix, toInputs } from './support/checking.ts'
import { define } from './support/definition.ts'

type Values = readonly string[]

const definePackage = (field: object) =>
  define({ t: { fields: [{ name: 'id' }, { name: 'n', ...field }], resource: { 'mahi:code': 'TAB' } } })

function renderColumn(values: Values): { 't.csv': string } {
  const rows = values.map((value, at) => `${renderRecord([String(at + 1), value])}\n`)
  return { 't.csv': `id,n\n${rows.join('')}` }
}

const checkColumn = (field: object, values: Values) =>
  check(renderColumn(values), { definition: definePackage(field) })

const CODE = { constraints: { required: true, pattern: '[0-9]{2}' } }
const DATE = { type: 'date' }
const NUMBER = { type: 'number' }
const INTEGER = { type: 'integer' }
const POINT = 'Use a point as the decimal separator.'
const AT_MOST = { type: 'number', constraints: { maximum: 100 } }
const SINCE = { type: 'date', format: '%d/%m/%Y', constraints: { minimum: '01/02/2025' } }

test.each<[string, object, string, Values]>([
  ['day-month-year', DATE, '2025-02-17', ['17/02/2025', '17/02/25', '17.02.2025']],
  ['day-month-year', { type: 'date', format: '%d/%m/%y' }, '17/02/25', ['17/02/2025']],
  ['year-first', { type: 'date', format: '%d/%m/%y' }, '17/02/25', ['2025-02-17']],
  ['two-digit-year', DATE, '2025-02-17', ['25-02-17', '17-02-25']],
  ['month-name', DATE, '2025-02-17', ['06-Mar-25', '06 Mar 2025', '06 March 2025', 'Mar 06, 2025']],
  ['year-first', DATE, '2025-02-17', ['2025/03/06', '2025-3-6', '20250306']],
  ['no-such-day', DATE, '2025-02-17', ['2025-13-01', '2025-02-30']],
  ['no-such-day', { type: 'date', format: '%d/%m/%Y' }, '17/02/2025', ['31/02/2025']],
  ['time', DATE, '2025-02-17', ['2025-03-06T00:00:00', '06/03/2025 0:00', '03/06/2025 12:00:00 AM']],
  [
    'no-date',
    DATE,
    '2025-02-17',
    ['00/00/0000', '0000-00-00', '0000-00-00 00:00:00', '0/01/1900', '1900-01-00'],
  ],
  ['serial-number', DATE, '2025-02-17', ['45743']],
  ['narrow-column', DATE, '2025-02-17', ['########']],
  ['decimal-comma', NUMBER, '7', ['0,005', '1.234,50']],
  ['decimal-point', { ...NUMBER, decimalChar: ',' }, '7', ['0.005']],
  ['thousands', NUMBER, '900.50', ['1,250', '1,234.50']],
  ['thousands', INTEGER, '7', ['1,250']],
  ['decimals-or-thousands', NUMBER, '7', ['1,250']],
  ['currency', NUMBER, '7', ['$1,250.00', '$5']],
  ['percentage', NUMBER, '7', ['50%', '12.5 %']],
  ['percentage', INTEGER, '7', ['50%']],
  ['decimal-places', { ...NUMBER, 'mahi:decimals': 0 }, '1', ['5.00']],
  ['decimal-number', CODE, '02', ['1.0']],
  ['decimal-number', { constraints: { enum: ['7', '8'] } }, '8', ['7,0', '7.0']],
  ['decimal-number', { type: 'year' }, '2025', ['2017.0']],
  ['apostrophe', CODE, '02', ["'01"]],
  ['formula', CODE, '02', ['="01"']],
  ['leading-zeros', CODE, '02', ['1']],
  ['case', { constraints: { enum: ['Yes', 'No'] } }, 'No', ['YES', 'yes']],
  ['case', { constraints: { pattern: '[A-Z][0-9]' } }, 'B2', ['a1']],
  ['exponent', CODE, '02', ['9.90E+08']],
  ['invisible', CODE, '02', ['\u200b01']],
  ['no-break-space', { constraints: { enum: ['a b'] } }, 'a b', ['a\u00a0b']],
  ['no-value', CODE, '02', ['NULL', 'N/A']],
  ['no-value', INTEGER, '2', ['N/A']],
  ['spreadsheet-error', CODE, '02', ['#N/A', '#REF!']],
  // It is named only if it explains why the check fails.
  ['range', AT_MOST, '1', ['500.00', '1E9', 'NaN']],
  ['range', { ...AT_MOST, decimalChar: ',' }, '1', ['500,5']],
  ['range', { ...AT_MOST, groupChar: ',' }, '1', ['1,500']],
  ['range', { ...AT_MOST, bareNumber: false }, '1', ['$500']],
  ['range', SINCE, '01/03/2025', ['15/01/2025']],
  ['enum', { type: 'number', constraints: { enum: [1, 2] } }, '1', ['5.00']],
  ['length', { constraints: { minLength: 5 } }, 'abcde', ['123']],
  ['type', { type: 'year' }, '2025', ['17']],
  ['type', INTEGER, '1', ['12,5']],
  ['type', DATE, '2025-02-17', ['12345', 'soon']],
  [
    'list-separator',
    { type: 'list', delimiter: ';', 'mahi:items': { pattern: '[0-9]{3}' } },
    '111',
    ['111,211'],
  ],
])('%s is what happened in a column of %j beside %s to each of %j', async (name, field, valid, values) => {
  for (const value of values) {
    const { summary } = await checkColumn(field, [value, valid])
    expect([value, ...summary.causes.map(({ key }) => key)]).toEqual([value, `column:t.n:${name}`])
  }
})

test.each<[object, string, string, string]>([
  [
    DATE,
    '17/02/2025',
    '2025-02-17',
    'is in a form other than year-month-day. Write dates as year-month-day, such as 2025-02-17.',
  ],
  [NUMBER, '0,005', '7', `has a decimal comma. ${POINT}`],
  [
    CODE,
    '1.0',
    '02',
    'is written as a decimal number. Write 01, not 1.0: programs write whole numbers like this where a column has gaps.',
  ],
  [
    CODE,
    '#N/A',
    '02',
    'is an error of a spreadsheet. Correct the formula in the spreadsheet, or enter the value.',
  ],
  [INTEGER, 'N/A', '2', 'is a word or a sign for no value. Leave the cell empty.'],
  [INTEGER, '-', '2', 'is a word or a sign for no value. Leave the cell empty.'],
  [CODE, '"01"', '02', 'is in quotation marks. Write only the value, without quotation marks.'],
])('the cause in a column of %j with %s says what to do', async (field, value, valid, expected) => {
  const { summary } = await checkColumn(field, [value, valid])
  expect(advise(summary)).toEqual([`n: 1 of 2 values ${expected}`])
})

const repeat = (values: Values, times: number) => Array.from({ length: times }, () => values).flat()
const YES_NO = { constraints: { enum: ['Y', 'N'] } }

describe('a column says what its values are:', () => {
  test.each<[string, object, Values, string[]]>([
    [
      'a share of the values, not of the records',
      CODE,
      ['1', '2', '', '03'],
      ['n: 2 of 3 values lack leading zeros.', 'n is empty in 1 of 4 records.'],
    ],
    [
      'numbers of days',
      DATE,
      ['12345', '12346', '12347', '2025-02-17'],
      ['n: 3 of 4 values are numbers of days, as a spreadsheet stores dates.'],
    ],
    [
      'other values show decimals',
      NUMBER,
      ['0,5', '0,25', '12,5', '1,250'],
      ['n: all 4 values have a decimal comma.'],
    ],
    [
      'decimal commas and points between thousands',
      NUMBER,
      ['846,50', '2.574,50', '7,25'],
      ['n: all 3 values have a decimal comma.'],
    ],
    [
      'nearly all values fail: codes of another system',
      YES_NO,
      repeat(['Yes', 'No', 'Maybe'], 10),
      ['n is wrong in all 30 records: n must be Y or N.'],
    ],
    [
      'nearly all values fail, empty cells apart',
      YES_NO,
      repeat(['Yes', 'No', ''], 10),
      ['n is wrong in 20 of 30 records: n must be Y or N.'],
    ],
    [
      'a wrong value at equal distances is no column',
      YES_NO,
      repeat(['x', 'Y', 'Y', 'Y', 'N'], 200),
      ['n "x" is wrong: n must be Y or N.'],
    ],
    [
      'a few frequent values are causes of their own',
      YES_NO,
      [...repeat(['Y', 'N'], 20), ...repeat(['Yes', 'No'], 3)],
      ['n "No" is wrong: n must be Y or N.', 'n "Yes" is wrong: n must be Y or N.'],
    ],
    [
      'many wrong values, none of which is frequent, are one cause',
      { constraints: { pattern: '[A-Z][0-9]' } },
      [...repeat(['A1', 'B2'], 40), ...repeat(['A1.0', 'B2.0', 'C3.0', 'D4.0', 'E5.0', 'F6.0'], 3)],
      ['n is wrong in 18 of 98 records: n must be 1 capital letter, then 1 digit.'],
    ],
    ['one value', DATE, ['17/02/2025'], ['n: the only value is in a form other than year-month-day.']],
  ])('%s', async (_what, field, values, expected) => {
    const { summary } = await checkColumn(field, values)
    expect(summary.causes.map(({ sentence }) => sentence)).toEqual(expected)
  })
})

test.each<[object, Values, string]>([
  [
    NUMBER,
    ['1,250'],
    'n is "1,250", but must be a number such as 1250.50. Write 1.250 if the comma separates decimals, or 1250 if it separates thousands.',
  ],
  [
    { constraints: { minLength: 2, maxLength: 2 } },
    ['x', 'ab'],
    'n has 1 character, but must have exactly 2.',
  ],
])('a finding of %j says what to do with its value', async (field, values, message) => {
  const { findings } = await checkColumn(field, values)
  expect(findings.map(({ errorDescription }) => errorDescription)).toEqual([message])
})

test('a check says of a column what a repair does', async () => {
  const values = ['0,005', '0,0833', '0,125', '1,250', '2']
  const { summary } = await checkColumn(NUMBER, values)
  expect(advise(summary)).toEqual([`n: 4 of 5 values have a decimal comma. ${POINT}`])
  const { read } = await fix(toInputs(renderColumn(values)), definePackage(NUMBER))
  expect(read('t.csv').toString()).toBe('id,n\n1,0.005\n2,0.0833\n3,0.125\n4,1.250\n5,2\n')
})
