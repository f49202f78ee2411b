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

const recordsOf = (...list: readonly string[]) => list.map((occupationCode) => ({ occupationCode }))
const codesOf = (page: OccupationPage) => page.data.map(({ occupationCode }) => occupationCode)

test('a page names its first code and the first of the next page', async () => {
  const service = await Service.start()
  await service.import(['A', 'B', 'C'].map((occupationCode) => ({ occupationCode })))

  const first = (await get(service, '/v1/occupations?Limit=2')).json()
  expect(first).toMatchObject({ currentCursor: 'A', nextCursor: 'C', totalCount: 3, resultsCount: 2 })
  const last = (await get(service, '/v1/occupations?Limit=2&Cursor=C')).json()
  expect(last).toMatchObject({ currentCursor: 'C', totalCount: 3, resultsCount: 1 })
  expect(last).not.toHaveProperty('nextCursor')
})

test('the fields of a page come in the order of the interface', async () => {
  const service = await Service.start()
  await service.import(recordsOf('A', 'B'))

  const page = (await get(service, '/v1/occupations?Limit=1')).json()
  expect(Object.keys(page)).toEqual(['nextCursor', 'currentCursor', 'totalCount', 'data', 'resultsCount'])
})

test('an empty catalogue is an empty page without cursors', async () => {
  const service = await Service.start()

  for (const url of [
    '/v1/occupations',
    '/v1/occupations?Cursor=A',
    '/v1/occupations?Filter.MajorGroupCode=1',
  ]) {
    const response = await get(service, url)
    expect(response.statusCode).toBe(200)
    expect(response.body).toBe('{"totalCount":0,"data":[],"resultsCount":0}')
    expect(response.headers).not.toHaveProperty('link')
  }
})

test('a page has 20 records unless Limit asks for 1 to 100', async () => {
  const service = await Service.start()
  await service.import(Array.from({ length: 120 }, (_, index) => ({ occupationCode: `C${1000 + index}` })))

  for (const [query, count] of [
    ['', 20],
    ['?Limit=', 20],
    ['?Limit=1', 1],
    ['?Limit=99', 99],
    ['?Limit=100', 100],
  ] as const) {
    const page = (await get(service, `/v1/occupations${query}`)).json<OccupationPage>()
    expect(page.data).toHaveLength(count)
    expect(page.resultsCount).toBe(count)
    expect(page.nextCursor).toBe(`C${1000 + count}`)
  }
})

test('an installation can set both the default and the maximum of Limit', async () => {
  const service = await Service.start({ OCCUPATIONS_LIMIT_DEFAULT: '2', OCCUPATIONS_LIMIT_MAX: '3' })
  await service.import(recordsOf('A', 'B', 'C', 'D'))

  expect((await get(service, '/v1/occupations')).json()).toHaveProperty('resultsCount', 2)
  expect((await get(service, '/v1/occupations?Limit=3')).json()).toHaveProperty('resultsCount', 3)
  const refused = await ask(service, '/v1/occupations?Limit=4')
  expect(refused.statusCode).toBe(400)
  expect(refused.json().detail).toContain('from 1 to 3')
})

test('the order is by code point, also where the order of UTF-16 and of dictionaries is another', async () => {
  const service = await Service.start()
  const inOrder = [
    '10',
    '2',
    'B',
    'a',
    'b',
    'z',
    '\u0100',
    '\u0101',
    '\ue000',
    '\uffe6',
    '\u{10000}',
    '\u{1f600}',
  ]
  await service.import(recordsOf(...[...inOrder].reverse()))

  expect([...inOrder].sort()).not.toEqual(inOrder)
  expect(codesOf((await get(service, '/v1/occupations')).json())).toEqual(inOrder)
})

test('a cursor starts the page at the first code at or after it', async () => {
  const service = await Service.start()
  await service.import(recordsOf('B', 'D', 'F'))

  for (const [cursor, found] of [
    ['', ['B', 'D', 'F']],
    ['A', ['B', 'D', 'F']],
    ['B', ['B', 'D', 'F']],
    ['B0', ['D', 'F']],
    ['D', ['D', 'F']],
    ['F', ['F']],
  ] as const) {
    const page = (await get(service, `/v1/occupations?Cursor=${cursor}`)).json<OccupationPage>()
    expect(codesOf(page)).toEqual(found)
    expect(page.currentCursor).toBe(found[0])
    expect(page.totalCount).toBe(3)
  }
})

test('a cursor after the last code is an empty page that still counts every record', async () => {
  const service = await Service.start()
  await service.import(recordsOf('B', 'D'))

  const response = await get(service, '/v1/occupations?Cursor=E')
  expect(response.body).toBe('{"totalCount":2,"data":[],"resultsCount":0}')
  expect(response.headers).not.toHaveProperty('link')
})

test('a cursor whose record has been deleted still works', async () => {
  const service = await Service.start()
  await service.import(recordsOf('A', 'B', 'C', 'D'))
  const { nextCursor } = (await get(service, '/v1/occupations?Limit=2')).json<OccupationPage>()
  expect(nextCursor).toBe('C')
  await service.import(recordsOf('A', 'B', 'D'), { replace: true })

  const page = (await get(service, `/v1/occupations?Limit=2&Cursor=${nextCursor}`)).json<OccupationPage>()
  expect(page).toMatchObject({ currentCursor: 'D', totalCount: 3, resultsCount: 1 })
})

test('a cursor may be as long as the longest code', async () => {
  const service = await Service.start()
  const longest = 'ā'.repeat(64)
  await service.import(recordsOf('A', longest))

  const { nextCursor } = await askPage(service, '/v1/occupations?Limit=1')
  expect(nextCursor).toBe(longest)
  expect(codesOf(await askPage(service, addressOf({}, { cursor: longest })))).toEqual([longest])
})

test('a cursor typed with combining macrons finds the code that is stored with composed ones', async () => {
  const service = await Service.start()
  await service.import(recordsOf('ngā', 'ngā2'))

  const page = await askPage(service, addressOf({}, { cursor: 'nga\u0304' }))
  expect(codesOf(page)).toEqual(['ngā', 'ngā2'])
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

/** When the records of the properties were updated: more distinct dates than a window merges. */
const DATES = Array.from({ length: 24 }, (_, index) => Date.parse('2024-05-01T00:00:00Z') + (index - 12) * 7)

const catalogues = fc.uniqueArray(
  fc.tuple(codes, contents, fc.constantFrom(...DATES)).map(([occupationCode, content, date]) => ({
    occupationCode,
    ...content,
    lastUpdatedDate: new Date(date).toISOString(),
  })),
  { selector: ({ occupationCode }) => occupationCode, minLength: 1, maxLength: 30 },
)
const bounds = fc.option(writtenBound(fc.constantFrom(...DATES, ...DATES.map((date) => date + 1))), {
  nil: undefined,
})
const anyFilters = fc
  .tuple(groupFilters, fc.record({ after: bounds, before: bounds }))
  .map(([groups, window]) => ({ ...groups, ...window }))
const limits = fc.oneof(fc.integer({ min: 1, max: 5 }), fc.integer({ min: 1, max: 100 }))

test('paging visits every matching record once and in order, with any limit and filters', async () => {
  const service = await Service.start()
  await fc.assert(
    fc.asyncProperty(
      catalogues,
      limits,
      fc.array(anyFilters, { maxLength: 4 }),
      async (records, limit, several) => {
        await service.import(records, { replace: true, keepDates: true })
        for (const filters of [{}, ...several]) {
          const list = listMatches(records, filters)
          let visited = 0
          for await (const page of walkPages(service, filters, limit)) {
            expect(page).toEqual(pageOf(list, limit, list[visited]?.occupationCode))
            visited += page.resultsCount
          }
          expect(visited).toBe(list.length)
        }
      },
    ),
    cases(45, 15),
  )
})

test('the page at any cursor is what the whole list holds from there on', async () => {
  const service = await Service.start()
  await fc.assert(
    fc.asyncProperty(
      catalogues,
      limits,
      fc.array(fc.tuple(codes, anyFilters)),
      async (records, limit, several) => {
        await service.import(records, { replace: true, keepDates: true })
        for (const [cursor, filters] of several) {
          const page = await askPage(service, addressOf(filters, { limit, cursor }))
          expect(page).toEqual(pageOf(listMatches(records, filters), limit, cursor))
        }
      },
    ),
    cases(30, 10),
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
    cases(25, 9),
  )
})

function inGroup(minor: string, major: string): Pick<SampleRecord, 'minorGroups'> {
  return { minorGroups: [{ minorGroup: { code: minor, majorGroups: [{ majorGroup: { code: major } }] } }] }
}
