import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { OccupationRecord } from '../src/catalogue/records/schema.ts'
import { compileSchema } from '../src/foundation/schema/compile.ts'
import { cases } from './support/properties.ts'

const readRecord = compileSchema(OccupationRecord)

/** `field: message` of each fault. */
function complain(record: unknown): string[] {
  return readRecord(record).faults.map(({ field, message }) =>
    field === '' ? message : `${field}: ${message}`,
  )
}

test('a clean record is not changed', () => {
  const record = {
    occupationCode: 'B1',
    titleMaori: 'Kaimahi',
    altJobTitlesEnglish: ['One', 'Two'],
    renumeration: { payLowerBound: 0, payUpperBound: 90000.5 },
    lastUpdatedDate: '2026-01-31T09:30:00.000Z',
  }
  expect(readRecord(record)).toEqual({
    value: record,
    faults: [],
    damage: [],
    normalised: false,
    repaired: false,
    doubts: [],
  })
})

test('the fields come out in the order of the interface', () => {
  const { value, normalised } = readRecord({ renumeration: {}, titleEnglish: 'Baker', occupationCode: 'B1' })
  expect(JSON.stringify(value)).toBe('{"occupationCode":"B1","titleEnglish":"Baker"}')
  expect(normalised).toBe(true)
  expect(readRecord({ titleEnglish: 'Baker', occupationCode: 'B1' }).normalised).toBe(false)
})

test.each([
  ['null', null],
  ['an empty text', ''],
  ['white space', ' \t\n\u00a0'],
])('a field that is %s is left out', (_, empty) => {
  const { value, faults, normalised } = readRecord({
    occupationCode: 'B1',
    titleEnglish: empty,
    titleMaori: 'K',
  })
  expect(faults).toEqual([])
  expect(value).toEqual({ occupationCode: 'B1', titleMaori: 'K' })
  expect(normalised).toBe(true)
})

test('empty parts of lists and objects are left out, and empty lists and objects too', () => {
  const { value, faults } = readRecord({
    occupationCode: 'B1',
    altJobTitlesEnglish: ['', null, 'One', '  '],
    altJobTitlesMaori: ['', null],
    entryRequirements: { entrySummaryEnglish: '', entryYouNeedEnglish: [] },
    minorGroups: [null, {}, { minorGroup: { code: '' } }],
    renumeration: {},
    registrationAuthority: null,
  })
  expect(faults).toEqual([])
  expect(value).toEqual({ occupationCode: 'B1', altJobTitlesEnglish: ['One'] })
})

describe('text', () => {
  test.each([
    ['NFC', 'Ma\u0304ori', 'Māori'],
    ['spaces at the ends', '  Baker\r\n', 'Baker'],
    ['non-breaking spaces', 'Head\u00a0of\u202fHouse', 'Head of House'],
  ])('%s', (_, given, stored) => {
    expect(readRecord({ titleEnglish: given })).toMatchObject({
      value: { titleEnglish: stored },
      normalised: true,
    })
  })

  test.each(['Ngā kaiako', 'a  b', 'one\ntwo\tthree', 'ﬁ ½ 😀', '- "quoted", \\ and so on'])(
    '%j stays as it is',
    (text) => {
      expect(readRecord({ titleEnglish: text })).toMatchObject({
        value: { titleEnglish: text },
        normalised: false,
      })
    },
  )

  test('half a surrogate pair and control characters are refused', () => {
    expect(
      complain({ titleEnglish: 'a\ud83d', titleMaori: 'b\u0000', trainingDuration: 'c\u0085d' }),
    ).toEqual([
      'titleEnglish: has an unpaired surrogate, which is not valid Unicode',
      'titleMaori: has the control character U+0000 in "b\\u0000"',
      'trainingDuration: has the control character U+0085 in "c\\u0085d": Windows-1252 text, where this byte is …, was probably decoded as Latin-1: export the data again as UTF-8',
    ])
  })

  test('a stored record is not changed when it is stored again', () => {
    fc.assert(
      fc.property(fc.string({ unit: fc.constantFrom(...'aā ̄\u00a0\u202f\t\n\ufeff😀é') }), (text) => {
        const { value } = readRecord({ titleEnglish: text })
        const again = readRecord(value ?? {})
        expect(again.value).toEqual(value)
        if (value !== undefined) expect(again.normalised).toBe(false)
      }),
      cases(100),
    )
  })

  test('a code is one line, of at most 64 characters however many UTF-16 units they take', () => {
    expect(complain({ occupationCode: '😀'.repeat(64) })).toEqual([])
    expect(complain({ occupationCode: '😀'.repeat(65) })).toEqual([
      'occupationCode: is 65 characters long; at most 64 are allowed',
    ])
    for (const space of ['\t', '\n', '\r\n', '\u2028']) {
      expect(complain({ minorGroups: [{ minorGroup: { code: `A${space}1` } }] })[0]).toContain(
        'must be one line without tabs, not',
      )
      expect(complain({ occupationCode: `A${space}1` })).toHaveLength(1)
    }
  })

  test('the length of a code is counted after it has been normalised', () => {
    expect(complain({ occupationCode: ` ${'x'.repeat(64)} ` })).toEqual([])
    expect(complain({ occupationCode: 'x'.repeat(65) })).toEqual([
      'occupationCode: is 65 characters long; at most 64 are allowed',
    ])
  })
})

describe('every fault is named by its field', () => {
  test('unknown fields, with the nearest known name', () => {
    expect(
      complain({
        occupationcode: 'B1',
        titelEnglish: 'Baker',
        remuneration: { payLowerBound: 1 },
        entryRequirements: { entryYouNeed: ['x'] },
        colour: 'red',
      }),
    ).toEqual([
      'has the unknown field "occupationcode" (did you mean "occupationCode"?)',
      'has the unknown field "titelEnglish" (did you mean "titleEnglish"?)',
      'has the unknown field "remuneration" (did you mean "renumeration"?)',
      'has the unknown field "colour"',
      'entryRequirements: has the unknown field "entryYouNeed" (did you mean "entryYouNeedMaori"?)',
    ])
  })

  test('names that every object has are unknown fields like any other', () => {
    const record = JSON.parse(
      '{"occupationCode":"B1","__proto__":{"titleEnglish":"x"},"constructor":1,"toString":2}',
    )
    expect(complain(record)).toEqual([
      'has the unknown field "__proto__"',
      'has the unknown field "constructor"',
      'has the unknown field "toString"',
    ])
  })

  test('a field is its own, never one that an object inherits', () => {
    expect(readRecord(Object.create({ occupationCode: 'B1' })).value).toBeUndefined()
  })

  test('values of the wrong type', () => {
    expect(
      complain({
        occupationCode: 11,
        titleEnglish: ['Baker'],
        altJobTitlesEnglish: 'Baker',
        altJobTitlesMaori: ['K', 1, true, {}],
        entryRequirements: 'none',
        renumeration: { payLowerBound: '41000', payUpperBound: Number.POSITIVE_INFINITY },
        minorGroups: { code: '11' },
        registrationAuthority: [],
        lastUpdatedDate: 1_700_000_000,
      }),
    ).toEqual([
      'occupationCode: must be text, not 11',
      'titleEnglish: must be text, not a list',
      'altJobTitlesEnglish: must be a list, not the text "Baker"',
      'altJobTitlesMaori[1]: must be text, not 1',
      'altJobTitlesMaori[2]: must be text, not true',
      'altJobTitlesMaori[3]: must be text, not an object',
      'entryRequirements: must be an object, not the text "none"',
      'minorGroups: must be a list, not an object',
      'renumeration.payLowerBound: must be a number, not the text "41000"',
      'renumeration.payUpperBound: must be a number, not Infinity',
      'registrationAuthority: must be an object, not a list',
      'lastUpdatedDate: must be a date-time, not 1700000000',
    ])
  })

  test.each([[null], [[]], ['B1'], [11], [true]])('a record that is %j', (record) => {
    expect(complain(record)).toEqual([expect.stringMatching(/^must be an object, not .*$/)])
  })

  test('a value that is not one of the allowed ones', () => {
    const minorGroup = { majorGroups: [{ majorGroupRelationType: 'Tertiary' }] }
    expect(complain({ minorGroups: [{ minorGroupRelationType: 'primary', minorGroup }] })).toEqual([
      'minorGroups[0].minorGroupRelationType: must be Primary or Secondary, not "primary" (did you mean "Primary"?)',
      'minorGroups[0].minorGroup.majorGroups[0].majorGroupRelationType: must be Primary or Secondary, not "Tertiary"',
    ])
  })

  test('an invalid date', () => {
    expect(complain({ lastUpdatedDate: '31/01/2026' })).toEqual([
      'lastUpdatedDate: must be an RFC 3339 date-time such as 2026-01-31T09:30:00Z, not "31/01/2026"',
    ])
    expect(complain({ lastUpdatedDate: '2026-02-30T00:00:00Z' })).toHaveLength(1)
    expect(complain({ lastUpdatedDate: '0000-01-01T00:00:00+01:00' })).toEqual([
      'lastUpdatedDate: must be in the years 0 to 9999 in UTC, not "0000-01-01T00:00:00+01:00"',
    ])
  })
})

test('a long value is cut short in the message', () => {
  const [fault = ''] = complain({ renumeration: { payLowerBound: 'x'.repeat(10_000) } })
  expect(fault.length).toBeLessThan(200)
  expect(fault).toContain('xxx…"')
})

test('a date is written in UTC with milliseconds', () => {
  expect(readRecord({ lastUpdatedDate: '2026-01-31T22:30:00+13:00' })).toMatchObject({
    value: { lastUpdatedDate: '2026-01-31T09:30:00.000Z' },
    normalised: true,
  })
})

test('the reader handles any value, and accepts what it has accepted before', () => {
  const anything = fc.anything({ withBigInt: true, withNullPrototype: true, withSparseArray: true })
  const field = fc.constantFrom(
    'occupationCode',
    'titleEnglish',
    'altJobTitlesEnglish',
    'minorGroups',
    'renumeration',
  )
  fc.assert(
    fc.property(fc.oneof(anything, fc.dictionary(field, anything)), (given) => {
      const { value, faults } = readRecord(given)
      for (const { field: path } of faults) expect(path).not.toContain('undefined')
      if (faults.length > 0) return
      expect(readRecord(value ?? {}).value).toEqual(value)
    }),
    cases(100),
  )
})
