import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { planPage } from '../src/catalogue/records/queries.ts'
import { windowBetween } from '../src/catalogue/records/window.ts'
import type { Reader, Value } from '../src/foundation/database/database.ts'
import { parseTimestamp } from '../src/foundation/text/timestamp.ts'
import {
  addressOf,
  ask,
  askPage,
  type Bound,
  type Filters,
  listMatches,
  type OccupationPage,
  pageOf,
  type SampleRecord,
  writtenBound,
} from './support/catalogue.ts'
import { cases } from './support/properties.ts'
import { Service } from './support/service.ts'

describe('a date-time', () => {
  test.each([
    ['2024-05-01T00:00:00Z', '2024-05-01T00:00:00.000Z'],
    ['2024-05-01t00:00:00.0z', '2024-05-01T00:00:00.000Z'],
    ['2024-05-01 00:00:00.1239999Z', '2024-05-01T00:00:00.123Z'],
    // Without an offset: UTC, wherever the server is.
    ['2024-05-01T00:00:00', '2024-05-01T00:00:00.000Z'],
    ['2024-05-01T00:00:00-00:00', '2024-05-01T00:00:00.000Z'],
    ['2024-05-01T05:45:00.000+05:45', '2024-05-01T00:00:00.000Z'],
    ['2024-04-30T14:30:00-09:30', '2024-05-01T00:00:00.000Z'],
    ['2024-05-01T23:59:00+23:59', '2024-05-01T00:00:00.000Z'],
    ['2000-02-29T00:00:00Z', '2000-02-29T00:00:00.000Z'],
    // A leap second is the first instant of the next minute.
    ['2016-12-31T23:59:60Z', '2017-01-01T00:00:00.000Z'],
    ['2017-01-01T05:44:60+05:45', '2017-01-01T00:00:00.000Z'],
    ['0000-01-01T00:00:00+23:59', '-000001-12-31T00:01:00.000Z'],
    ['0099-12-31T23:59:59.999Z', '0099-12-31T23:59:59.999Z'],
    ['9999-12-31T23:59:59.999-23:59', '+010000-01-01T23:58:59.999Z'],
  ])('%s is %s', (written, instant) => {
    expect(new Date(parseTimestamp(written)?.milliseconds ?? Number.NaN).toISOString()).toBe(instant)
  })

  test.each([
    '2024-05-01',
    '2024-05-01T00:00Z',
    '2024-05-01T00:00:00.Z',
    '2024-05-01T00:00:00,5Z',
    '2024-5-1T00:00:00Z',
    '20240501T000000Z',
    '2024-02-30T00:00:00Z',
    '2023-02-29T00:00:00Z',
    '1900-02-29T00:00:00Z',
    '2024-04-31T00:00:00Z',
    '2024-00-01T00:00:00Z',
    '2024-13-01T00:00:00Z',
    '2024-05-00T00:00:00Z',
    '2024-05-01T24:00:00Z',
    '2024-05-01T00:60:00Z',
    '2024-05-01T00:00:61Z',
    // No leap second has come anywhere but at the end of a day of UTC.
    '2024-05-01T00:00:60Z',
    '2024-05-01T11:59:60Z',
    '2016-12-31T23:59:60+00:30',
    '2024-05-01T00:00:00+24:00',
    '2024-05-01T00:00:00+12:60',
    '2024-05-01T00:00:00+1200',
    '2024-05-01T00:00:00+12',
    '2024-05-01T00:00:00UTC',
    '2024-05-01T00:00:00++12:00',
    ' 2024-05-01T00:00:00Z',
    '2024-05-01T00:00:00Z ',
    '2024-05-01T00:00:00Z\n',
    '-2024-05-01T00:00:00Z',
    '12024-05-01T00:00:00Z',
    '1714521600000',
    'yesterday',
    '\u06622024-05-01T00:00:00Z',
  ])('%s names no instant', (written) => {
    expect(parseTimestamp(written)).toBeUndefined()
  })
})

test('both bounds are exclusive, and exact at any fraction of a second', async () => {
  const service = await Service.start()
  const dates = ['2024-05-01T00:00:00.123Z', '2024-05-01T00:00:00.124Z']
  const records = dates.map((lastUpdatedDate, index) => ({ occupationCode: `C${index}`, lastUpdatedDate }))
  await service.import(records, { keepDates: true })
  const find = async (query: string) => {
    const response = await ask(service, `/v1/occupations?${query}`)
    expect(response.statusCode, response.body).toBe(200)
    const page = response.json<OccupationPage>()
    expect(page.totalCount).toBe(page.data.length)
    return page.data.map(({ occupationCode }) => Number(occupationCode.slice(1)))
  }
  for (const [fraction, after, before] of [
    ['.1229999', [0, 1], []],
    ['.123', [1], []],
    ['.1230000000000000000001', [1], [0]],
    ['.124', [], [0]],
    ['.1240000001', [], [0, 1]],
    ['', [0, 1], []],
    ['.9', [], [0, 1]],
  ] as const)
    for (const [name, found] of [
      ['After', after],
      ['Before', before],
    ] as const)
      expect(await find(`Filter.LastUpdated${name}=2024-05-01T00:00:00${fraction}Z`)).toEqual(found)
  // The + of an offset that was not encoded arrives as a space.
  for (const plus of ['+', '%2B', '%20'])
    expect(await find(`Filter.LastUpdatedAfter=2024-05-01T12:00:00.123${plus}12:00`)).toEqual([1])
  // An After that is not before Before is an empty window.
  for (const after of ['2024-05-01T00:00:00.124Z', '2024-05-01T12:00:00.124%2B12:00', '2025-01-01T00:00:00Z'])
    expect(
      await find(`Filter.LastUpdatedAfter=${after}&Filter.LastUpdatedBefore=2024-05-01T00:00:00.124Z`),
    ).toEqual([])
  const refused = await ask(service, '/v1/occupations?Filter.LastUpdatedBefore=yesterday')
  expect(refused.statusCode).toBe(400)
  expect(refused.json().detail).toMatch(/^Filter.LastUpdatedBefore must be an RFC 3339 date-time such as 2/)
  // What an import changes is in the window at once.
  const { lastUpdatedDate } = await service.import([{ occupationCode: 'C0', titleEnglish: 'changed' }])
  const window = 'Filter.LastUpdatedAfter=2024-05-01T00:00:00.123Z'
  expect(await find(window)).toEqual([0, 1])
  expect(await find(`${window}&Filter.LastUpdatedBefore=${lastUpdatedDate}`)).toEqual([1])
})

/** The kept counts cover spans of 2^26 milliseconds. */
const SPAN = 2 ** 26
const FIRST_SPAN = Math.floor(Date.parse('2024-01-01T00:00:00Z') / SPAN)

/** When the records of the large catalogue were updated: at the edges of spans, some of them before 1970. */
const DATES = [-2, -1, 0, 1, 2, FIRST_SPAN, FIRST_SPAN + 1, FIRST_SPAN + 2, FIRST_SPAN + 5].flatMap((span) =>
  [-2, -1, 0, 1].map((rest) => span * SPAN + rest),
)
const GROUPS = ['small', 'steady', 'busy'] as const
/** First letters of its codes, whose order is another in UTF-16. */
const LETTERS = ['A', 'z', 'ā', '\uffe6', '\u{10000}', '\u{1f600}']

/** Enough records of enough dates for each of the ways to find a window, and for each a group that is found so. */
function makeLargeCatalogue(): SampleRecord[] {
  return Array.from({ length: 5200 }, (_, index) => {
    const place = index % 10
    const group = place === 0 ? 'small' : place < 4 ? 'steady' : 'busy'
    const date = DATES[group === 'steady' ? index % 3 : (index * 31) % DATES.length] ?? 0
    return {
      occupationCode: `${LETTERS[(index * 7) % LETTERS.length]}${(index * 7919) % 5200}`,
      minorGroups: [{ minorGroup: { code: group, majorGroups: [{ majorGroup: { code: 'all' } }] } }],
      lastUpdatedDate: new Date(date).toISOString(),
    }
  })
}

function boundAt(milliseconds: number): Bound {
  return { milliseconds, digits: '', text: new Date(milliseconds).toISOString() }
}

test('the page and the count of a window are right, whichever way they are found', async () => {
  const service = await Service.start()
  const records = listMatches(makeLargeCatalogue(), {})
  await service.import(records, { keepDates: true })
  await askPage(service, '/v1/occupations')

  const planOf = async ({ major = '', minor = '', after, before }: Filters) => {
    const window = windowBetween(after?.text, before?.text)
    if (window === undefined) return 'none'
    const query = { limit: 20, cursor: '', majorGroup: major, minorGroup: minor }
    return (await planPage(service.database, query, window)).plan.kind
  }
  const [early, late] = [boundAt((DATES[0] ?? 0) - 1), boundAt((DATES.at(-1) ?? 0) + 1)]
  // Each plan is the one for some of the windows that follow.
  expect(await planOf({ minor: 'small', after: early })).toBe('list')
  expect(await planOf({ minor: 'steady', after: early })).toBe('dates')
  expect(await planOf({ minor: 'busy', after: early })).toBe('walk')
  expect(await planOf({ major: 'all', before: late })).toBe('walk')

  const kinds = new Set<string>()
  const instants = fc.constantFrom(...DATES.flatMap((date) => [date - 1, date, date + 1]))
  const bound = fc.option(writtenBound(instants), { nil: undefined })
  const windows = fc.oneof(
    fc.constantFrom({}, { after: early }, { before: late }, { after: early, before: late }),
    fc.record({ after: bound, before: bound }),
  )
  const groups = fc.record({
    major: fc.constantFrom(undefined, 'all'),
    minor: fc.constantFrom(undefined, ...GROUPS),
  })
  const places = fc.record({
    limit: fc.integer({ min: 1, max: 100 }),
    cursor: fc.oneof(
      fc.constant(''),
      // The place of a match: a page begins with the code of its cursor.
      fc.nat(),
      fc
        .tuple(fc.constantFrom(...LETTERS, '\u{10ffff}'), fc.nat(5300))
        .map(([letter, rest]) => `${letter}${rest}`),
    ),
  })
  await fc.assert(
    fc.asyncProperty(windows, groups, places, async (window, group, { limit, cursor: place }) => {
      const filters = { ...window, ...group }
      const matches = listMatches(records, filters)
      const cursor =
        typeof place === 'string' ? place : (matches[place % matches.length]?.occupationCode ?? '')
      kinds.add(await planOf(filters))
      const page = await askPage(service, addressOf(filters, { limit, cursor }))
      expect(page).toEqual(pageOf(matches, limit, cursor))
    }),
    cases(80),
  )
  expect([...kinds].sort()).toEqual(['dates', 'list', 'none', 'walk'])
})

test('a window that is planned while imports run is that of one version', async () => {
  const service = await Service.start()
  const inGroup = (occupationCode: string, minor: string): SampleRecord => ({
    occupationCode,
    minorGroups: [{ minorGroup: { code: minor } }],
  })
  await service.import([inGroup('A', 'one'), inGroup('B', 'two')])
  /** Imports that come after the first statement: a group goes, others take its number, and it comes back. */
  const imports = [
    () => service.import([{ occupationCode: 'B' }, { occupationCode: 'A' }], { replace: true }),
    () => service.import([inGroup('B', 'three'), inGroup('C', 'four'), inGroup('D', 'two')]),
  ]
  const database: Reader = {
    dialect: service.database.dialect,
    all: (sql, parameters) => service.database.all(sql, parameters),
    get: async <Row>(sql: string, parameters?: readonly Value[]) => {
      const row = await service.database.get<Row>(sql, parameters)
      for (const run of imports.splice(0)) await run()
      return row
    },
  }
  const window = windowBetween('2000-01-01T00:00:00Z', undefined)
  if (window === undefined) throw new Error('a bound makes a window')

  const query = { limit: 20, cursor: '', majorGroup: '', minorGroup: 'two' }
  const planned = await planPage(database, query, window)
  expect(planned).toMatchObject({ totalCount: 1, plan: { kind: 'list', codes: ['D'] } })
  expect(planned.revision).toEqual(service.revisions.current.catalogue)
})
