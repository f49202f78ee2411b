import fc from 'fast-check'
import { expect, test } from 'vitest'
import {
  addressOf,
  ask,
  askPage,
  codes,
  compareCodes,
  contents,
  get,
  groupFilters,
  listMatches,
  type OccupationPage,
  pageOf,
  type SampleRecord,
  walkPages,
  writtenBound,
} from './support/catalogue.ts'
import { cases } from './support/properties.ts'
import { Service } from './support/service.ts'

const EMPTY = '{"totalCount":0,"data":[],"resultsCount":0}'
const recordsOf = (...list: readonly string[]) => list.map((occupationCode) => ({ occupationCode }))
const codesOf = (page: OccupationPage) => page.data.map(({ occupationCode }) => occupationCode)

/** A record with minor groups, each with its major groups: `{ 11: ['1', '2'] }`. */
function record(occupationCode: string, groups: Readonly<Record<string, readonly string[]>>): SampleRecord {
  const minorGroups = Object.entries(groups).map(([code, majors]) => ({
    minorGroup: { code, majorGroups: majors.map((major) => ({ majorGroup: { code: major } })) },
  }))
  return { occupationCode, minorGroups }
}

test('a page has the fields of the interface in their order, 20 records, and the first code of the next', async () => {
  const service = await Service.start()
  expect((await get(service, '/v1/occupations?Cursor=A')).body).toBe(EMPTY)
  await service.import(Array.from({ length: 120 }, (_, index) => ({ occupationCode: `C${1000 + index}` })))
  for (const [query, count] of [
    ['', 20],
    ['?Limit=', 20],
    ['?Limit=1', 1],
    ['?Limit=100', 100],
  ] as const) {
    const page = (await get(service, `/v1/occupations${query}`)).json<OccupationPage>()
    expect(Object.keys(page)).toEqual(['nextCursor', 'currentCursor', 'totalCount', 'data', 'resultsCount'])
    expect(page.data).toHaveLength(count)
    expect(page).toMatchObject({
      resultsCount: count,
      totalCount: 120,
      currentCursor: 'C1000',
      nextCursor: `C${1000 + count}`,
    })
  }
  const last = await get(service, '/v1/occupations?Cursor=C1119')
  expect(last.json()).toMatchObject({ currentCursor: 'C1119', resultsCount: 1 })
  expect(last.json()).not.toHaveProperty('nextCursor')
  expect((await get(service, '/v1/occupations?Cursor=D')).body).toBe(EMPTY.replace('0', '120'))
})

test('an installation can lower the maximum of Limit, and with it the default', async () => {
  const service = await Service.start({ OCCUPATIONS_LIMIT_MAX: '3' })
  await service.import(recordsOf('A', 'B', 'C', 'D'))
  expect((await get(service, '/v1/occupations')).json()).toHaveProperty('resultsCount', 3)
  expect((await ask(service, '/v1/occupations?Limit=4')).json().detail).toContain('from 1 to 3')
})

test('a page starts at the first code at or after its cursor, also if its record has been deleted', async () => {
  const service = await Service.start()
  const longest = 'ā'.repeat(64)
  await service.import(recordsOf('B', 'D', 'F', longest, '\uffe6', '\u{10000}'))
  await service.import(recordsOf('B', 'F', longest, '\uffe6', '\u{10000}'), { replace: true })
  for (const [cursor, first] of [
    ['', 'B'],
    ['B', 'B'],
    ['B0', 'F'],
    ['D', 'F'],
    // Typed with combining macrons.
    ['a\u0304', longest],
    [longest, longest],
    // By code point: in UTF-16 it is the other way round.
    ['\uffe6', '\uffe6'],
    ['\uffff', '\u{10000}'],
  ] as const) {
    const page = await askPage(service, addressOf({}, { limit: 1, cursor }))
    expect([cursor, page.currentCursor, page.totalCount]).toEqual([cursor, first, 5])
  }
})

test('a group finds the records that belong to it, Primary or Secondary, and each once', async () => {
  const service = await Service.start()
  const relate = (minorGroupRelationType: string, majorGroupRelationType: string) => [
    {
      minorGroupRelationType,
      minorGroup: { code: '11', majorGroups: [{ majorGroupRelationType, majorGroup: { code: '1' } }] },
    },
  ]
  await service.import([
    { occupationCode: 'A', minorGroups: relate('Primary', 'Secondary') },
    { occupationCode: 'B', minorGroups: relate('Secondary', 'Primary') },
    record('C', { 11: ['1', '2'], 12: ['1'] }),
    record('D', { 11: ['2'] }),
    record('E', { ma: [] }),
    record('F', { mā: [] }),
    { occupationCode: 'G' },
  ])
  const find = async (query: string) => codesOf(await askPage(service, `/v1/occupations?${query}`))
  for (const [query, found] of [
    ['Filter.MajorGroupCode=1', ['A', 'B', 'C']],
    ['Filter.MajorGroupCode=2', ['C', 'D']],
    ['Filter.MinorGroupCode=11', ['A', 'B', 'C', 'D']],
    ['Filter.MajorGroupCode=2&Filter.MinorGroupCode=11', ['C', 'D']],
    ['Filter.MajorGroupCode=1&Filter.MinorGroupCode=12', ['C']],
    // Case, macrons and the kind of the group count.
    ['Filter.MinorGroupCode=ma', ['E']],
    ['Filter.MinorGroupCode=ma%CC%84', ['F']],
    ['Filter.MinorGroupCode=Ma', []],
    ['Filter.MinorGroupCode=1', []],
    ['Filter.MajorGroupCode=11', []],
    ['Filter.MinorGroupCode=1%25', []],
    ['Filter.MinorGroupCode=1_', []],
    ['Filter.MajorGroupCode=9', []],
    // An empty filter counts as not given.
    ['Filter.MajorGroupCode=&Filter.LastUpdatedAfter=&Limit=2', ['A', 'B']],
  ] as const)
    expect([query, await find(query)]).toEqual([query, found])
  for (const rest of ['', '&Limit=1', '&Cursor=C', '&Cursor=Z&Limit=2'])
    expect((await askPage(service, `/v1/occupations?Filter.MajorGroupCode=1${rest}`)).totalCount).toBe(3)
  expect((await get(service, '/v1/occupations?Filter.MajorGroupCode=9')).body).toBe(EMPTY)
})

test('the Link header is the address of the next page and is absent on the last', async () => {
  const service = await Service.start()
  const odd = [
    'A',
    'a&Limit=1',
    "b'(c)*!",
    'c#d',
    'd%2B+e',
    'e f',
    'f/g?h',
    'g<h>;,"',
    'h\\|',
    'ā',
    '\u{1f600}',
  ]
  await service.import(odd.map((occupationCode) => ({ occupationCode, ...inGroup('mā &', 'M/1') })))

  const filters = 'Filter.MajorGroupCode=M%2F1&filter.minorgroupcode=ma%CC%84+%26'
  const times = 'Filter.LastUpdatedAfter=2000-01-01T00:00:00+13:00&Filter.LastUpdatedBefore=9999-01-01'
  const seen: string[] = []
  let url: string | undefined = `/v1/occupations?limit=2&${filters}&${times}T00:00:00`
  while (url !== undefined) {
    const response = await get(service, url)
    expect(response.statusCode).toBe(200)
    const page = response.json<OccupationPage>()
    expect(page.totalCount).toBe(odd.length)
    seen.push(...codesOf(page))

    const link = /^<(\/v1\/occupations\?[!-;=?-~]+)>; rel="next"$/.exec(String(response.headers.link))?.[1]
    expect(link === undefined).toBe(page.nextCursor === undefined)
    if (link !== undefined) {
      // What any client makes of it: an address on the same host.
      const target = new URL(link, 'http://mahi.example')
      expect(target.host + target.pathname).toBe('mahi.example/v1/occupations')
      expect(target.searchParams.get('Cursor')).toBe(page.nextCursor)
      expect(target.searchParams.get('Limit')).toBe('2')
      expect(target.searchParams.get('Filter.MajorGroupCode')).toBe('M/1')
      expect(target.searchParams.get('Filter.MinorGroupCode')).toBe('mā &')
    }
    url = link
  }
  expect(seen).toEqual(odd)
})

/** When the records of the model were updated: more distinct dates than a window merges. */
const DATES = Array.from({ length: 24 }, (_, index) => Date.parse('2024-05-01T00:00:00Z') + (index - 12) * 7)
const limits = fc.oneof(fc.integer({ min: 1, max: 5 }), fc.integer({ min: 1, max: 100 }))
const bound = fc.option(writtenBound(fc.constantFrom(...DATES, ...DATES.map((date) => date + 1))), {
  nil: undefined,
})
const anyFilters = fc
  .tuple(groupFilters, fc.record({ after: bound, before: bound }))
  .map(([groups, window]) => ({ ...groups, ...window }))
const anyImport = fc.record({
  replace: fc.boolean(),
  records: fc.uniqueArray(
    fc.tuple(codes, contents, fc.constantFrom(...DATES)).map(([occupationCode, content, date]) => ({
      occupationCode,
      ...content,
      lastUpdatedDate: new Date(date).toISOString(),
    })),
    { selector: ({ occupationCode }) => occupationCode, minLength: 1, maxLength: 20 },
  ),
})

test('after any imports, with any filters, limit and cursor, pages hold what matches, once and in order', async () => {
  const service = await Service.start()
  const imports = fc.array(anyImport, { minLength: 1, maxLength: 3 })
  const asked = fc.array(fc.tuple(anyFilters, limits, codes), { maxLength: 6 })
  await fc.assert(
    fc.asyncProperty(imports, asked, async (several, questions) => {
      let catalogue = new Map<string, SampleRecord>()
      for (const [index, { records, replace: isAsked }] of several.entries()) {
        const replace = isAsked || index === 0
        const entries = records.map((each) => [each.occupationCode, each] as const)
        catalogue = new Map([...(replace ? [] : catalogue), ...entries])
        await service.import(records, { replace, keepDates: true })
      }
      for (const [filters, limit, cursor] of [[{}, 100, ''] as const, ...questions]) {
        const list = listMatches([...catalogue.values()], filters)
        let visited = 0
        for await (const page of walkPages(service, filters, limit)) {
          expect(page).toEqual(pageOf(list, limit, list[visited]?.occupationCode))
          visited += page.resultsCount
        }
        expect(visited).toBe(list.length)
        expect(await askPage(service, addressOf(filters, { limit, cursor }))).toEqual(
          pageOf(list, limit, cursor),
        )
      }
    }),
    cases(40, 15),
  )
})

test('a record that is there throughout a walk is seen once, whatever comes and goes between the pages', async () => {
  const service = await Service.start()
  /** Codes of the records that stay, and of those that are there after each of the imports. */
  const histories = fc.record({
    limit: fc.integer({ min: 1, max: 4 }),
    staying: fc.uniqueArray(codes, { minLength: 1, maxLength: 12 }),
    passing: fc.array(fc.uniqueArray(codes, { maxLength: 6 }), { minLength: 1, maxLength: 8 }),
    filtered: fc.boolean(),
  })
  await fc.assert(
    fc.asyncProperty(histories, async ({ limit, staying, passing, filtered }) => {
      const filters = filtered ? { major: 'M' } : {}
      let step = 0
      const importNext = async () => {
        const there = new Set([...staying, ...(passing[step % passing.length] ?? [])])
        const title = `after import ${step++}`
        const records = [...there].map((occupationCode): SampleRecord => {
          const stays = staying.includes(occupationCode)
          return {
            occupationCode,
            titleEnglish: title,
            ...(stays || step % 2 === 0 ? inGroup('m', 'M') : {}),
          }
        })
        await service.import(records, { replace: true })
      }
      await importNext()
      const seen: string[] = []
      for await (const page of walkPages(service, filters, limit)) {
        seen.push(...codesOf(page))
        await importNext()
      }
      expect(seen).toEqual([...new Set(seen)].sort(compareCodes))
      expect(seen.filter((code) => staying.includes(code))).toEqual([...staying].sort(compareCodes))
      const everThere = new Set([...staying, ...passing.flat()])
      expect(seen.filter((code) => !everThere.has(code))).toEqual([])
    }),
    cases(15, 6),
  )
})

function inGroup(minor: string, major: string): Pick<SampleRecord, 'minorGroups'> {
  return { minorGroups: [{ minorGroup: { code: minor, majorGroups: [{ majorGroup: { code: major } }] } }] }
}
