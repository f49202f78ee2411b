import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { CountedMajorGroup, CountedMinorGroup } from '../src/catalogue/groups/schema.ts'
import { openDatabase } from '../src/foundation/database/open.ts'
import { ask, askPage, contents, MAJOR_CODES, MINOR_CODES, type SampleRecord } from './support/catalogue.ts'
import { cases } from './support/properties.ts'
import { Service } from './support/service.ts'
import { readState } from './support/state.ts'

interface Groups {
  majorGroups: CountedMajorGroup[]
  minorGroups: CountedMinorGroup[]
}

const GROUP = {
  code: '11',
  nameEnglish: 'Teaching',
  descriptionEnglish: 'They teach.',
  tasks: ['Plan lessons'],
  majorGroups: [
    {
      majorGroupRelationType: 'Primary',
      majorGroup: { code: '1', nameEnglish: 'Education', descriptionEnglish: 'All of it.' },
    },
    { majorGroupRelationType: 'Secondary', majorGroup: { code: '0' } },
  ],
}
const RECORDS = [
  { occupationCode: 'A', minorGroups: [{ minorGroupRelationType: 'Primary', minorGroup: GROUP }] },
  { occupationCode: 'B', minorGroups: [{ minorGroupRelationType: 'Secondary', minorGroup: GROUP }] },
  { occupationCode: 'C' },
]

test('the groups come with their names, texts, relations and counts', async () => {
  const service = await Service.start()
  const empty = { majorGroups: [], minorGroups: [] }
  expect((await service.get('/v1/occupation-groups')).json()).toEqual(empty)
  await service.import(RECORDS)
  const response = await service.get('/v1/occupation-groups')
  const { majorGroups: _, ...texts } = GROUP
  const minor = {
    ...texts,
    majorGroups: [
      { majorGroupRelationType: 'Secondary', majorGroupCode: '0' },
      { majorGroupRelationType: 'Primary', majorGroupCode: '1' },
    ],
    primaryCount: 1,
    totalCount: 2,
  }
  const education = { nameEnglish: 'Education', descriptionEnglish: 'All of it.', code: '1' }
  expect(response.json()).toEqual({
    majorGroups: [
      { code: '0', primaryCount: 0, totalCount: 2 },
      { ...education, primaryCount: 1, totalCount: 2 },
    ],
    minorGroups: [minor],
  })
  const { etag } = response.headers
  const again = await service.get('/v1/occupation-groups', { 'if-none-match': String(etag) })
  expect(again.statusCode).toBe(304)
  expect((await service.get('/v1/occupation-groups/11')).json()).toEqual({
    majorGroups: [],
    minorGroups: [minor],
  })
  const none = await service.get('/v1/occupation-groups/12')
  expect([none.statusCode, none.json().title]).toEqual([404, 'No such group'])
  expect(none.json().similarCodes).toEqual(expect.arrayContaining(['11', '1']))
})

test('more groups than are read at a time all come, in order', async () => {
  const service = await Service.start()
  const codes = Array.from({ length: 120 }, (_, index) => `G${String(index).padStart(3, '0')}`)
  await service.import(
    codes.map((code) => ({ occupationCode: code, minorGroups: [{ minorGroup: { code } }] })),
  )
  const { minorGroups } = (await service.get('/v1/occupation-groups')).json<Groups>()
  expect(minorGroups.map(({ code }) => code)).toEqual(codes)
})

test('Filter.GroupRelation on its own is rejected, and so is an unknown value', async () => {
  const service = await Service.start()
  const detailOf = async (query: string) => (await service.get(`/v1/occupations?${query}`)).json().detail
  expect(await detailOf('Filter.GroupRelation=Primary')).toContain('needs Filter.MajorGroupCode')
  expect(await detailOf('Filter.GroupRelation=primary&Filter.MajorGroupCode=1')).toContain(
    'must be Primary or Any',
  )
  expect((await service.get('/v1/occupations?Filter.GroupRelation=Any')).statusCode).toBe(200)
})

/** The codes of a record's groups of one kind: all of them, and the Primary one. */
function groupsOf(record: SampleRecord, kind: 'Major' | 'Minor') {
  const minors = record.minorGroups ?? []
  const primary = minors.find((each) => each.minorGroupRelationType === 'Primary')?.minorGroup
  if (kind === 'Minor')
    return { all: minors.map(({ minorGroup }) => minorGroup.code), primary: primary?.code }
  const above = primary?.majorGroups?.find((each) => each.majorGroupRelationType === 'Primary')
  return {
    all: minors.flatMap(
      ({ minorGroup }) => minorGroup.majorGroups?.map((each) => each.majorGroup.code) ?? [],
    ),
    primary: above?.majorGroup.code,
  }
}

test('counts and filters by group equal plain counts, whatever is imported', async () => {
  const service = await Service.start()
  const step = fc.dictionary(fc.constantFrom(...'ABCDEFGH'), contents, { noNullPrototype: true, minKeys: 1 })
  const kinds = [...MAJOR_CODES.map((code) => ['Major', code]), ...MINOR_CODES.map((code) => ['Minor', code])]
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 3 }), async (steps) => {
      let records: SampleRecord[] = []
      for (const content of steps) {
        records = Object.entries(content).map(([occupationCode, rest]) => ({ occupationCode, ...rest }))
        await service.import(records, { replace: true })
      }
      await readState(service.database)
      const groups = (await ask(service, '/v1/occupation-groups')).json<Groups>()
      for (const [kind, code] of kinds as ['Major' | 'Minor', string][]) {
        const listed = kind === 'Minor' ? groups.minorGroups : groups.majorGroups
        const found = listed.find((each) => each.code === code)
        const primary = records.filter((record) => groupsOf(record, kind).primary === code)
        const any = records.filter((record) => groupsOf(record, kind).all.includes(code))
        expect([found?.primaryCount ?? 0, found?.totalCount ?? 0]).toEqual([primary.length, any.length])

        const expected = primary.map(({ occupationCode }) => occupationCode).sort()
        const filter = `Filter.${kind}GroupCode=${encodeURIComponent(code)}&Filter.GroupRelation=Primary`
        const page = await askPage(service, `/v1/occupations?${filter}&Filter.Codes=H,G,F,E,D,C,B,A`)
        expect(page.data.map(({ occupationCode }) => occupationCode)).toEqual(expected)
        expect(page.totalCount).toBe(expected.length)
      }
    }),
    cases(12, 4),
  )
})

test('groups are rendered once for a revision, also without a page cache', async () => {
  let statements = 0
  const service = await Service.start({ PAGE_CACHE_MB: '0' }, undefined, {
    open: async (url) => {
      const database = await openDatabase(url)
      const { all } = database
      database.all = async <Row>(...[sql, parameters]: Parameters<typeof all>) => {
        if (sql.includes('primary_total')) statements++
        return (await all.call(database, sql, parameters)) as Row[]
      }
      return database
    },
  })
  await service.import(RECORDS)
  for (const path of ['', '/11']) {
    const before = statements
    const first = await service.get(`/v1/occupation-groups${path}`)
    const again = await service.get(`/v1/occupation-groups${path}`)
    expect(again.body).toBe(first.body)
    expect([path, statements - before]).toEqual([path, 1])
  }
  await service.import([{ occupationCode: 'C', minorGroups: [{ minorGroup: GROUP }] }])
  const { minorGroups } = (await service.get('/v1/occupation-groups')).json<Groups>()
  expect(minorGroups).toMatchObject([{ totalCount: 3 }])
})
