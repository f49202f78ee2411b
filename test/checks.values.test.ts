import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { compareNumbers, compileNumber, trimNumber } from '../src/engines/checking/definition/numbers.ts'
import { compilePattern } from '../src/engines/checking/definition/pattern.ts'
import { sumExactly } from '../src/engines/checking/engine/millionths.ts'
import { isExact } from '../src/foundation/text/exact-number.ts'
import { check } from './support/checking.ts'
import { define } from './support/definition.ts'
import { cases } from './support/properties.ts'

/** A definition of one file with an id and a value; `more` is added to its schema. */
const defineValue = (value: object, more: object = {}, others: readonly object[] = []) =>
  define({ things: { fields: [{ name: 'id' }, { name: 'value', ...value }, ...others], ...more } })

/** The values of a field that have a finding. */
async function refusedOf(field: object, values: readonly string[]): Promise<string[]> {
  const lines = values.map((value, index) => `${index},"${value.replaceAll('"', '""')}"\n`)
  const { findings } = await check(
    { 'things.csv': `id,value\n${lines.join('')}` },
    { definition: defineValue(field) },
  )
  return findings.map(({ line }) => values[line - 2] ?? '')
}

const POINT = '{"type":"Point","coordinates":[174.8,-41.3]}'
const FORMATTED = { type: 'date', format: '%d/%m/%Y' }
const [ODD, EVEN] = ['9007199254740993', '9007199254740992']

describe('accepted and refused values of', () => {
  test.each<[object, readonly string[], readonly string[]]>([
    // Values are permitted, compared and unique by what they mean, not by how they are written.
    [
      { type: 'number', constraints: { enum: ['1.5', '-0.50', ODD] } },
      ['1.5', '1.50', '01.500', '-0.5', `${ODD}.0`],
      ['0.5', EVEN],
    ],
    [{ type: 'integer', constraints: { enum: [7, -1] } }, ['7', '007', '-01'], ['1']],
    [
      { type: 'boolean', trueValues: ['yes', 'Y'], falseValues: ['no'], constraints: { enum: [true] } },
      ['yes', 'Y'],
      ['no'],
    ],
    [
      { type: 'list', itemType: 'integer', delimiter: ';', 'mahi:items': { enum: ['1', '2'], unique: true } },
      ['1;02', '01;2'],
      ['3', '1;01'],
    ],
    [{ type: 'number', constraints: { unique: true } }, ['0.5', '-0.50'], ['0.500']],
    [
      { type: 'datetime', constraints: { unique: true } },
      ['2025-02-17T09:30:00Z', '2025-02-17T09:30:00.1Z'],
      ['2025-02-17T22:30:00.0+13:00'],
    ],
    // A minimum and a maximum are permitted, and exclusive ones are not.
    [
      { type: 'number', constraints: { minimum: 1, exclusiveMaximum: 2 } },
      ['1', '1.0', '1.999999'],
      ['0.999999', '2', '2.0', '-1'],
    ],
    [{ type: 'integer', constraints: { exclusiveMinimum: 0, maximum: 12 } }, ['1', '12'], ['0', '-0', '13']],
    [
      { type: 'number', constraints: { minimum: ODD, exclusiveMaximum: `${ODD}.5` } },
      [ODD, `${ODD}.4`],
      [EVEN, `${ODD}.50`, '-9007199254740994'],
    ],
    [
      { ...FORMATTED, constraints: { minimum: '01/02/2025', maximum: '31/12/2025' } },
      ['01/02/2025', '15/11/2025', '31/12/2025'],
      ['31/01/2025', '01/01/2026'],
    ],
    [
      {
        type: 'datetime',
        constraints: { minimum: '2025-02-17T09:30:00Z', exclusiveMaximum: '2025-02-17T10:00:00.5Z' },
      },
      ['2025-02-17T09:30:00Z', '2025-02-17T22:30:00+13:00'],
      ['2025-02-17T10:00:00.500+00:00', '2025-02-17T09:30:00+13:00', '2025-02-17T09:29:59.999Z'],
    ],
    [
      { constraints: { minLength: 2, maxLength: 3 } },
      ['ab', '😀😀', 'a😀b', '😀😀😀'],
      ['😀', 'a', 'abcd', '😀😀😀😀'],
    ],
    [{ constraints: { pattern: '\\w+' } }, ['été'], ['a_b', 'a b']],
    [{ constraints: { pattern: '[A-Z0-9]{2,4}' } }, ['A1', 'ABCD'], ['A', 'ABCDE', 'ab', 'A1é']],
    // A year is leap if 4 divides it, but of 100 years only every fourth.
    [
      { type: 'date' },
      ['2000-02-29', '2024-02-29', '2400-02-29'],
      ['1900-02-29', '2023-02-29', '2100-02-29', '2000-02-30', '2024-04-31'],
    ],
    [FORMATTED, ['29/02/2000', '31/12/1999'], ['29/02/1900', '00/01/2000', '01/13/2000']],
    // The forms of the standard.
    [
      { type: 'number' },
      ['+1', '.5', '5.', '-.5', '1E5', '2.5e-3', 'NaN', 'INF', '-inf'],
      ['.', 'E5', '1E', '--1', '1E999'],
    ],
    [{ type: 'integer' }, ['+1', '-0', '007'], ['1.0', '1E2', '+', '1,000']],
    // Spaces may be what stands for no value.
    [{ type: 'integer', missingValues: [' ', ' NA'] }, [' ', ' NA', '5'], ['NA', '']],
    [{ type: 'number', decimalChar: ',' }, ['1,5', '-,5', '12'], ['1.5', '1,2,3', '1.000']],
    [
      { type: 'number', groupChar: ',' },
      ['1,000', '12,345.60', '12,34,567'],
      ['1,00', '10,00', ',5', '1,000,'],
    ],
    [
      { type: 'number', bareNumber: false },
      ['$12.50', '-3 €', '95%', 'EUR .5'],
      ['-€3', '(3)', '12-', '1-2', 'none'],
    ],
    [
      { type: 'date', format: '%d/%m/%Y' },
      ['5/2/2024', '29/02/2024'],
      ['29/02/2023', '2024-02-05', '5/2/24'],
    ],
    [{ type: 'date', format: 'fmt:%d %b %y' }, ['5 Feb 24', '05 february 69'], ['5 Fev 24', '31 Feb 24']],
    [
      { type: 'date', format: 'any' },
      ['2024-02-05', '5th February 2024', 'Feb 5, 2024'],
      ['05/02/2024', 'soon'],
    ],
    [{ type: 'time', format: '%I:%M %p' }, ['9:05 am', '12:00 PM'], ['13:00 pm', '0:30 am', '9:05']],
    [{ type: 'time', format: 'any' }, ['9:05', '21:05:07', '9 pm'], ['25:00']],
    [
      { type: 'datetime', format: '%d.%m.%Y %H:%M' },
      ['05.02.2024 09:30'],
      ['05.02.2024', '05.02.2024 24:30'],
    ],
    [
      { type: 'datetime' },
      ['2024-02-05T24:00:00', '2024-02-05T09:30:00+14:00'],
      ['2024-02-05T09:30:00+14:01', '2024-02-05T24:00:01'],
    ],
    [{ type: 'duration' }, ['P1Y2M', 'PT0.5S', '-P1D'], ['P', 'P1YT', 'P1.5Y', '1Y']],
    [{ type: 'geopoint' }, ['174.8, -41.3', '180,90'], ['181,0', '0,91', '1,2,3', '1']],
    [
      { type: 'geojson' },
      [POINT, `{"type":"Feature","geometry":${POINT},"properties":{}}`],
      ['{}', '{"type":"Dot"}', '1'],
    ],
    [{ type: 'object' }, ['{"a":1}'], ['[]', '{a:1}', 'null']],
    [{ type: 'array' }, ['[1,"a"]'], ['{}', '1,2']],
    [{ type: 'array', constraints: { minLength: 2 } }, ['[1,2]'], ['[1]']],
    [{ type: 'string', format: 'email' }, ['a@b.nz'], ['a@', 'a b@c.nz']],
    [{ type: 'string', format: 'uri' }, ['https://example.org/a', 'urn:isbn:1'], ['example.org', 'a b:c']],
    [{ type: 'list', itemType: 'date' }, ['2024-02-05,2024-02-06'], ['5 Feb', '2024-02-05,']],
    [{ type: 'list', itemType: 'number', delimiter: ';' }, ['1.5;.5'], ['1,5']],
    [{ type: 'integer', missingValues: ['-'] }, ['-', '1'], ['']],
    [{ missingValues: ['-'], constraints: { required: true } }, ['', 'x'], ['-']],
    [
      { type: 'integer', missingValues: [{ value: '-9', label: 'Refused' }], constraints: { minimum: 0 } },
      ['-9', '3'],
      ['-1'],
    ],
    [{ type: 'integer', categories: [1, 2, 3], constraints: { enum: [1, 3] } }, ['1', '03', '+3'], ['2']],
    [
      { type: 'number', decimalChar: ',', constraints: { minimum: '1,5', maximum: 2.25 } },
      ['1,50', '2,25'],
      ['1,49', '2,26'],
    ],
    [
      { type: 'number', constraints: { maximum: '1E3' } },
      ['1000', '1e3', '-INF'],
      ['1000.01', '1E4', 'INF', 'NaN'],
    ],
    [
      { type: 'duration', constraints: { minimum: 'P1D', maximum: 'P1M' } },
      ['PT24H', 'P30D'],
      ['PT23H', 'P31D'],
    ],
    [{ type: 'list', itemType: 'integer', constraints: { unique: true } }, ['1,2', '2,1'], ['01,+2']],
    [{ type: 'object', constraints: { unique: true } }, ['{"a":1,"b":2}', '{"a":1}'], ['{"b":2, "a":1}']],
  ])('%j', async (field, accepted, refused) => {
    expect(await refusedOf(field, [...accepted, ...refused])).toEqual(refused)
  })

  test('keys, sums and rules use the value of a number, whatever its form', async () => {
    const number = { type: 'number', decimalChar: ',', groupChar: '.' }
    const sum = { kind: 'sum', code: 'THI-101', total: 'value', parts: ['part', 'other'] }
    const others = [
      { name: 'part', ...number },
      { name: 'other', ...number },
    ]
    const definition = defineValue(number, { uniqueKeys: [['value']], 'mahi:recordChecks': [sum] }, others)
    const text = 'id;value;part;other\n1;1.000,5;,5;1E3\n2;1.000,50;999,5;1\n3;3;2;2\n'
    const { findings } = await check({ 'things.csv': text }, { definition })
    expect(findings.map(({ line, errorCode }) => `${line} ${errorCode}`)).toEqual([
      '3 THI-00-key2',
      '4 THI-101',
    ])
  })
})

test('messages show characters that nobody sees', async () => {
  const { findings } = await check(
    { 'things.csv': 'id,value\n1,a\u200b\u00ad\n' },
    { definition: defineValue({ constraints: { enum: ['a'] } }) },
  )
  expect(findings[0]?.errorDescription).toBe(
    'value is "a\\u200b\\u00ad", but must be a. Remove the invisible characters.',
  )
})

test('the fields of a primary key must have a value, and those of a unique key need not', async () => {
  const definition = defineValue({}, { primaryKey: ['id', 'value'] })
  const { findings } = await check({ 'things.csv': 'id,value\n1,\n,2\n1,2\n1,2\n' }, { definition })
  expect(findings.map(({ errorCode, line }) => [errorCode, line])).toEqual([
    ['THI-02-required', 2],
    ['THI-01-required', 3],
    ['THI-00-key', 5],
  ])
  const unique = await check(
    { 'things.csv': 'id,value\n1,\n1,\n' },
    { definition: defineValue({}, { uniqueKeys: [['value']] }) },
  )
  expect(unique.findings).toEqual([])
})

test('numbers of JSON keep all of their digits, as keys and in findings', async () => {
  const definition = defineValue(
    { type: 'integer', constraints: { maximum: 9 } },
    { uniqueKeys: [['value']] },
  )
  const numbers = [
    '9007199254740993',
    '9007199254740992',
    '12345678901234567890',
    '12345678901234567891',
    '3',
  ]
  const lines = numbers.map((number, index) => `{"id":"${index}","value":${number}}\n`)
  const { findings } = await check({ 'things.ndjson': lines.join('') }, { definition })
  expect(findings.map(({ errorCode, value }) => [errorCode, value])).toEqual(
    numbers.slice(0, 4).map((number) => ['THI-02-range', number]),
  )
})

describe('exact arithmetic', () => {
  const decimal = fc
    .tuple(fc.boolean(), fc.bigInt({ min: 0n, max: 10n ** 30n }), fc.integer({ min: 0, max: 20 }))
    .map(([negative, digits, places]) => {
      const text = String(digits).padStart(places + 1, '0')
      const number = places === 0 ? text : `${text.slice(0, -places)}.${text.slice(-places)}`
      return {
        text: negative ? `-${number}` : number,
        units: (negative ? -digits : digits) * 10n ** BigInt(20 - places),
      }
    })

  test('orders numbers as their exact values', () => {
    fc.assert(
      fc.property(decimal, decimal, (one, other) => {
        const expected = one.units < other.units ? -1 : one.units > other.units ? 1 : 0
        expect(Math.sign(compareNumbers(one.text, other.text))).toBe(expected)
      }),
      cases(100),
    )
  })

  test('adds numbers exactly', () => {
    fc.assert(
      fc.property(fc.array(decimal, { minLength: 1 }), (numbers) => {
        const sum = numbers.reduce((total, { units }) => total + units, 0n)
        const found = sumExactly(numbers.map(({ text }) => text))
        const [whole = '', fraction = ''] = found.split('.')
        const units = BigInt(whole + fraction.padEnd(20, '0'))
        expect(units).toBe(sum)
      }),
      cases(100),
    )
  })

  test('a sum is right whatever the size of its parts', async () => {
    const definition = defineValue(
      { type: 'number' },
      { 'mahi:recordChecks': [{ kind: 'sum', code: 'THI-101', total: 'value', parts: ['a', 'b'] }] },
      [
        { name: 'a', type: 'number' },
        { name: 'b', type: 'number' },
      ],
    )
    const records = [
      ['90071992547.409930', '90071992547.409929', '0.000001'],
      ['90071992547.409930', '90071992547.409929', '0.000002'],
      ['9007199254740993', '9007199254740992', '1'],
      ['9007199254740993', '9007199254740992', '0'],
      ['0.0000001', '0.0000001', ''],
      ['0.0000001', '0.0000002', ''],
      ['0.3', '0.1', '0.2'],
      ['-9007199254740993', '-9007199254740994', '1'],
    ]
    const lines = records.map((values, index) => `${index},${values.join()}\n`)
    const { findings } = await check({ 'things.csv': `id,value,a,b\n${lines.join('')}` }, { definition })
    expect(findings.map(({ line }) => line - 2)).toEqual([1, 3, 5])
  })

  test('an order compares numbers by value, and times as instants; values may be equal unless it is strict', async () => {
    const ordered = (strict: boolean) => ({
      'mahi:recordChecks': [{ kind: 'order', code: 'THI-101', fields: ['value', 'a'], strict }],
    })
    const order = ordered(false)
    const equal = { 'things.csv': 'id,value,a\n1,10,10.0\n' }
    for (const strict of [false, true]) {
      const definition = defineValue({ type: 'integer' }, ordered(strict), [{ name: 'a', type: 'number' }])
      expect((await check(equal, { definition })).findings).toHaveLength(strict ? 1 : 0)
    }
    const numbers = defineValue({ type: 'integer' }, order, [{ name: 'a', type: 'number' }])
    const files = { 'things.csv': 'id,value,a\n1,9007199254740993,9007199254740992\n2,9,10.0\n3,10,9.99\n' }
    expect((await check(files, { definition: numbers })).findings.map(({ line }) => line)).toEqual([2, 4])
    const times = defineValue({ type: 'datetime' }, order, [{ name: 'a', type: 'datetime' }])
    const given =
      'id,value,a\n1,2025-02-17T09:30:00+13:00,2025-02-16T21:00:00Z\n2,2025-02-17T09:30:00Z,2025-02-17T09:30:00+13:00\n'
    const { findings } = await check({ 'things.csv': given }, { definition: times })
    expect(findings.map(({ line }) => line)).toEqual([3])
  })
})

test.each<[string, readonly string[], readonly string[]]>([
  ['\\d{2}', ['12', '٣٤'], ['1', 'ab', '123']],
  ['\\D+', ['ab'], ['1', '٣']],
  ['\\w+', ['été', 'a1', '+', '€'], ['a_b', 'a b', 'a-b']],
  ['\\W', [' ', '_', '-'], ['a', '+']],
  ['\\s', [' ', '\t', '\n', '\r'], ['\u00a0', '\u2003', 'a']],
  ['\\S', ['\u00a0', 'a'], [' ']],
  ['\\i\\c*', ['a-b.1', '_x', ':y', 'é1'], ['1a', '-a', 'a b']],
  ['\\I\\C', ['1 '], ['a ', '1a']],
  ['[\\w-]+', ['é-é'], ['a_']],
  ['[^\\d\\s]', ['a', '_'], ['1', ' ']],
  ['[a-z-[aeiou]]+', ['bcd'], ['a', 'B']],
  ['[^a-z-[0-9]]', ['A'], ['a', '1']],
  ['[a-z-[b-d-[c]]]', ['a', 'c'], ['b', 'd']],
  ['a.b', ['a\u2028b', 'a😀b'], ['a\nb', 'a\rb', 'ab']],
  ['[()&|/{}!-.]', ['(', '&', '|', '/', '{', '!', '.', '-', ','], ['a', '0']],
  ['[-a]|[a\\-b]\\-', ['-', 'a', 'a-', '--'], ['b']],
  ['\\p{Lu}[\\p{Ll}]*', ['Été'], ['été']],
  ['^(?:a|b)$', ['a'], ['c']],
  ['[&&]', ['&'], ['a']],
])('the pattern %s matches %j and not %j', (pattern, matching, others) => {
  const compiled = compilePattern(pattern)
  expect(matching.filter((text) => !compiled.test(text))).toEqual([])
  expect(others.filter((text) => compiled.test(text))).toEqual([])
})

test('numbers may be longer than any value that is checked', () => {
  const run = (text: string) => text.repeat(2 ** 18)
  const read = compileNumber({ decimalChar: '.', groupChar: ',', bareNumber: false })
  expect(read(`1${run(' ')}x`)).toBe('1')
  expect(read(`1${run(' ')}2`)).toBeUndefined()
  expect(trimNumber(`0.${run('0')}10`)).toBe(`0.${run('0')}1`)
  expect(trimNumber(`1.${run('0')}`)).toBe('1')
  expect(isExact(`1${run('0')}1`, Number.POSITIVE_INFINITY)).toBe(false)
})
