import fc from 'fast-check'
import { expect, test } from 'vitest'
import {
  addressOf,
  askPage,
  contents,
  get,
  listMatches,
  MAJOR_CODES,
  MINOR_CODES,
  type OccupationPage,
  pageOf,
  type SampleRecord,
} from './support/catalogue.ts'
import { cases } from './support/properties.ts'
import { Service } from './support/service.ts'

/** A record with minor groups, each with its major groups: `{ 11: ['1', '2'] }`. */
function record(occupationCode: string, groups: Readonly<Record<string, readonly string[]>>): SampleRecord {
  const minorGroups = Object.entries(groups).map(([code, majors]) => ({
    minorGroup: { code, majorGroups: majors.map((major) => ({ majorGroup: { code: major } })) },
  }))
  return { occupationCode, minorGroups }
}

async function findCodes(service: Service, query: string): Promise<string[]> {
  const page = (await get(service, `/v1/occupations?${query}`)).json<OccupationPage>()
  expect(page.totalCount).toBe(page.data.length)
  return page.data.map(({ occupationCode }) => occupationCode)
}

test('a major group finds the records of any of its minor groups, Primary or Secondary', async () => {
  const service = await Service.start()
  const relate = (minorType: 'Primary' | 'Secondary', majorType: 'Primary' | 'Secondary') => [
    {
      minorGroupRelationType: minorType,
      minorGroup: {
        code: '11',
        majorGroups: [{ majorGroupRelationType: majorType, majorGroup: { code: '1' } }],
      },
    },
  ]
  await service.import([
    { occupationCode: 'A', minorGroups: relate('Primary', 'Primary') },
    { occupationCode: 'B', minorGroups: relate('Primary', 'Secondary') },
    { occupationCode: 'C', minorGroups: relate('Secondary', 'Primary') },
    { occupationCode: 'D', minorGroups: relate('Secondary', 'Secondary') },
    record('E', { 11: ['1'] }),
    record('F', { 11: ['2'] }),
    { occupationCode: 'G' },
  ])

  expect(await findCodes(service, 'Filter.MajorGroupCode=1')).toEqual(['A', 'B', 'C', 'D', 'E'])
  expect(await findCodes(service, 'Filter.MajorGroupCode=2')).toEqual(['F'])
  expect(await findCodes(service, 'Filter.MinorGroupCode=11')).toEqual(['A', 'B', 'C', 'D', 'E', 'F'])
})

test('a record counts once under a group that it belongs to in two ways', async () => {
  const service = await Service.start()
  await service.import([record('A', { 11: ['1', '2'], 12: ['1'] })])

  expect(await findCodes(service, 'Filter.MajorGroupCode=1')).toEqual(['A'])
})

test('filters combine with AND', async () => {
  const service = await Service.start()
  await service.import([
    record('A', { 11: ['1'] }),
    record('B', { 11: ['2'] }),
    record('C', { 12: ['1'] }),
    record('D', { 11: ['2'], 12: ['1'] }),
  ])
  const later = await service.import([record('A', { 11: ['1'], 13: [] })])

  const both = 'Filter.MajorGroupCode=1&Filter.MinorGroupCode=11'
  expect(await findCodes(service, both)).toEqual(['A', 'D'])
  expect(await findCodes(service, `${both}&Filter.LastUpdatedBefore=${later.lastUpdatedDate}`)).toEqual(['D'])
})

test('totalCount counts what matches, whatever the cursor and the limit', async () => {
  const service = await Service.start()
  await service.import(['A', 'B', 'C', 'D'].map((code) => record(code, { 11: code === 'A' ? [] : ['1'] })))

  for (const rest of ['', '&Limit=1', '&Cursor=C', '&Cursor=Z&Limit=2']) {
    const page = await askPage(service, `/v1/occupations?Filter.MajorGroupCode=1${rest}`)
    expect(page.totalCount).toBe(3)
  }
})

test('a group that no record has is an empty page', async () => {
  const service = await Service.start()
  await service.import([record('A', { 11: ['1'] })])

  for (const query of [
    'Filter.MajorGroupCode=9',
    'Filter.MinorGroupCode=9',
    'Filter.MajorGroupCode=1&Filter.MinorGroupCode=9',
    // A major group's code is not a minor group's, nor are a part of a code, another case or a wildcard the code.
    'Filter.MinorGroupCode=1',
    'Filter.MajorGroupCode=11',
    'Filter.MinorGroupCode=1%25',
    'Filter.MinorGroupCode=1_',
    'Filter.MinorGroupCode=1*',
  ]) {
    const response = await get(service, `/v1/occupations?${query}`)
    expect(response.body).toBe('{"totalCount":0,"data":[],"resultsCount":0}')
  }
})

test('the codes of groups match exactly: case and macrons count', async () => {
  const service = await Service.start()
  await service.import([
    record('1', { ma: [] }),
    record('2', { mā: [] }),
    record('3', { Ma: [] }),
    record('4', { Mā: [] }),
  ])

  expect(await findCodes(service, 'Filter.MinorGroupCode=ma')).toEqual(['1'])
  expect(await findCodes(service, 'Filter.MinorGroupCode=m%C4%81')).toEqual(['2'])
  expect(await findCodes(service, 'Filter.MinorGroupCode=Ma')).toEqual(['3'])
  // The same letter, typed as a letter and a combining macron.
  expect(await findCodes(service, 'Filter.MinorGroupCode=Ma%CC%84')).toEqual(['4'])
})

test('an empty filter counts as not given', async () => {
  const service = await Service.start()
  await service.import([record('A', { 11: ['1'] }), { occupationCode: 'B' }])

  const empty = ['MajorGroupCode', 'MinorGroupCode', 'LastUpdatedAfter', 'LastUpdatedBefore']
  const query = empty.map((name) => `Filter.${name}=`).join('&')
  expect(await findCodes(service, `${query}&Cursor=&Limit=`)).toEqual(['A', 'B'])
  expect(await findCodes(service, empty.map((name) => `Filter.${name}`).join('&'))).toEqual(['A', 'B'])
})

test('a record leaves the groups that an import takes from it and joins those that it brings', async () => {
  const service = await Service.start()
  await service.import([record('A', { 11: ['1'] }), record('B', { 11: ['1'] })])
  await service.import([record('A', { 12: ['2'] })])

  expect(await findCodes(service, 'Filter.MajorGroupCode=1')).toEqual(['B'])
  expect(await findCodes(service, 'Filter.MinorGroupCode=11')).toEqual(['B'])
  expect(await findCodes(service, 'Filter.MajorGroupCode=2&Filter.MinorGroupCode=12')).toEqual(['A'])
  expect(await findCodes(service, 'Filter.MajorGroupCode=1&Filter.MinorGroupCode=12')).toEqual([])

  await service.import([record('A', { 12: ['2'] })], { replace: true })
  expect(await findCodes(service, 'Filter.MajorGroupCode=1')).toEqual([])
  await service.import([record('B', { 11: ['1'] })])
  expect(await findCodes(service, 'Filter.MajorGroupCode=1')).toEqual(['B'])
})

test('totalCount is a count of the records that match, after any imports and with any filters', async () => {
  const service = await Service.start()
  const everyFilter = [undefined, ...MAJOR_CODES].flatMap((major) =>
    [undefined, ...MINOR_CODES, 'none'].map((minor) => ({ major, minor })),
  )
  // Few codes, so that records come again with other groups.
  const records = fc.uniqueArray(
    fc
      .tuple(fc.constantFrom('A', 'B', 'C', 'D', 'a', 'ā', '\u{10000}', '\uffff'), contents)
      .map(([occupationCode, content]) => ({ occupationCode, ...content })),
    { selector: ({ occupationCode }) => occupationCode, minLength: 1, maxLength: 8 },
  )
  const imports = fc.array(fc.record({ records, replace: fc.boolean() }), { minLength: 1, maxLength: 4 })
  await fc.assert(
    fc.asyncProperty(imports, async (several) => {
      let catalogue = new Map<string, SampleRecord>()
      for (const [index, { records: given, replace: asked }] of several.entries()) {
        const replace = asked || index === 0
        const entries = given.map((each) => [each.occupationCode, each] as const)
        catalogue = new Map([...(replace ? [] : catalogue), ...entries])
        await service.import(given, { replace })
      }
      for (const groups of everyFilter) {
        const page = await askPage(service, addressOf(groups, { limit: 100 }))
        const undated = page.data.map(({ lastUpdatedDate: _, ...rest }) => rest)
        expect({ ...page, data: undated }).toEqual(pageOf(listMatches([...catalogue.values()], groups), 100))
      }
    }),
    cases(20, 7),
  )
})
