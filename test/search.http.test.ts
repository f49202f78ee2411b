import { describe, expect, test } from 'vitest'
import { recordIndexFailure } from '../src/catalogue/search/index-store.ts'
import { bumpRevision } from '../src/foundation/database/revisions.ts'
import { until, untilHolds } from './support/command.ts'
import { Service } from './support/service.ts'

const RECORDS = [
  {
    occupationCode: 'A1',
    titleEnglish: 'Early Childhood Teacher',
    titleMaori: 'Kaiako kōhungahunga',
    altJobTitlesEnglish: ['Kindergarten Teacher'],
    minorGroups: [
      {
        minorGroupRelationType: 'Primary',
        minorGroup: {
          code: '11',
          majorGroups: [
            { majorGroupRelationType: 'Primary', majorGroup: { code: '1', nameEnglish: 'Education' } },
          ],
        },
      },
    ],
  },
  { occupationCode: 'B2', titleEnglish: 'Truck Driver', descriptionEnglish: 'Delivers goods by road.' },
]

/** Searches until the response fulfils a condition: the index follows an import a moment later. */
const searchUntil = (service: Service, url: string, done: (body: SearchBody) => boolean) =>
  until(async () => {
    const response = await service.get(url)
    return response.statusCode === 200 && done(response.json()) ? response : undefined
  })

interface SearchBody {
  totalCount: number
  results: { occupationCode: string }[]
}

async function startWith(records: readonly unknown[] = RECORDS): Promise<Service> {
  const service = await Service.start()
  await service.import(records)
  await service.index()
  return service
}

describe('GET /v1/occupations/search', () => {
  test('has an ETag of its revision, and 304', async () => {
    const service = await startWith()
    const first = await service.get('/v1/occupations/search?q=truck')
    const etag = String(first.headers.etag)
    expect((await service.get('/v1/occupations/search?q=truck', { 'if-none-match': etag })).statusCode).toBe(
      304,
    )
    await service.import([{ occupationCode: 'C3', titleEnglish: 'Truck Mechanic' }])
    await service.index()
    const later = await searchUntil(
      service,
      '/v1/occupations/search?q=truck',
      ({ totalCount }) => totalCount === 2,
    )
    expect(later.headers.etag).not.toBe(etag)
  })

  test('pages with Link, to ten pages', async () => {
    const many = Array.from({ length: 30 }, (_, at) => ({
      occupationCode: `N${String(at).padStart(2, '0')}`,
      titleEnglish: `Nurse ${at}`,
    }))
    const service = await startWith(many)
    const codes: string[] = []
    let url: string | undefined = '/v1/occupations/search?q=nurse&Limit=4'
    let pages = 0
    while (url !== undefined) {
      const response = await service.get(url)
      codes.push(...(response.json() as SearchBody).results.map(({ occupationCode }) => occupationCode))
      url = /<([^>]+)>; rel="next"/.exec(String(response.headers.link ?? ''))?.[1]
      pages++
    }
    expect(pages).toBe(8)
    expect(new Set(codes).size).toBe(30)
  })

  test('finds occupations with highlights and groups, and refuses what is no query', async () => {
    const service = await startWith()
    const response = await service.get('/v1/occupations/search?q=kohungahunga&Lang=mi')
    expect(response.statusCode).toBe(200)
    expect(response.json()).toMatchObject({
      query: 'kohungahunga',
      totalCount: 1,
      results: [
        {
          occupationCode: 'A1',
          titleEnglish: 'Early Childhood Teacher',
          titleMaori: 'Kaiako kōhungahunga',
          matchedName: 'Kaiako kōhungahunga',
          matchedLanguage: 'mi',
          matchedField: 'title',
          highlights: [[7, 19]],
          group: { code: '1', nameEnglish: 'Education' },
        },
      ],
      groups: [{ code: '1', nameEnglish: 'Education', count: 1 }],
    })
    for (const [query, status] of [
      ['q=', 200],
      ['', 200],
      ['q=of%20the', 200],
      ['q=!!!', 200],
      ['q=%F0%9F%98%80', 200],
      ['q=%D9%85%D9%87%D9%86%D8%AF%D8%B3', 200],
      [`q=${'x'.repeat(201)}`, 400],
      ['q=a%00b', 400],
      ['q=truck&Page=11', 400],
      ['q=truck&Limit=101', 400],
      ['q=truck&Lang=fr', 400],
      ['query=truck', 400],
    ]) {
      const { statusCode } = await service.get(`/v1/occupations/search?${query}`)
      expect([query, statusCode]).toEqual([query, status])
    }
  })
})

/** The operations that need an index. */
async function searchEverywhere(service: Service) {
  return [
    await service.get('/v1/occupations/search?q=truck'),
    await service.get('/v1/occupations/suggestions?q=tru'),
    await service.request({
      method: 'POST',
      url: '/v1/codings',
      headers: { 'x-api-key': service.key, 'content-type': 'application/json' },
      payload: JSON.stringify({ items: [{ title: 'Truck driver' }] }),
    }),
  ]
}

describe('without an index', () => {
  test('search is 503 with Retry-After until there is one, and everything else is served', async () => {
    const service = await Service.start()
    await service.import(RECORDS)
    for (const response of await searchEverywhere(service)) {
      expect(response.statusCode).toBe(503)
      expect(response.headers['retry-after']).toBe('5')
      expect(response.json()).toMatchObject({ status: 503, type: '/problems/unavailable' })
    }
    expect((await service.get('/v1/occupations')).json().totalCount).toBe(2)
    await untilHolds(async () => expect((await service.get('/readyz')).statusCode).toBe(200))
    await service.index()
    for (const { statusCode } of await searchEverywhere(service)) expect(statusCode).toBe(200)
  })

  test('that could not be built, callers are told to wait longer; the next catalogue has one', async () => {
    const service = await Service.start()
    await service.import(RECORDS)
    const { catalogue } = service.revisions.current
    await recordIndexFailure(service.database, catalogue, 'it needs too much memory')
    await service.revisions.refresh()
    for (const response of await searchEverywhere(service)) {
      expect(response.statusCode).toBe(503)
      expect(response.headers['retry-after']).toBe('300')
      expect(response.body).not.toContain('too much memory')
    }
    await service.import([{ occupationCode: 'C3', titleEnglish: 'Truck Mechanic' }])
    for (const { headers } of await searchEverywhere(service)) expect(headers['retry-after']).toBe('5')
    await service.index()
    for (const { statusCode } of await searchEverywhere(service)) expect(statusCode).toBe(200)
  })

  test('of the newest catalogue, the previous one serves', async () => {
    const service = await startWith()
    await service.import([{ occupationCode: 'C3', titleEnglish: 'Truck Mechanic' }])
    await recordIndexFailure(service.database, service.revisions.current.catalogue, 'it is too large')
    await service.revisions.refresh()
    const response = await service.get('/v1/occupations/search?q=truck')
    expect((response.json() as SearchBody).totalCount).toBe(1)
  })

  test('that can be read, the log says so once', async () => {
    const service = await Service.start()
    await service.import(RECORDS)
    await service.database.write('search', (writer) => writer.run('drop table search_index'))
    for (let change = 0; change < 2; change++) {
      await service.database.write('search', (writer) => bumpRevision(writer, 'search'))
      await service.revisions.refresh()
    }
    for (const { statusCode } of await searchEverywhere(service)) expect(statusCode).toBe(503)
    const lines = service.log.filter((line) => line.includes('the search index could not be loaded'))
    expect(lines).toHaveLength(1)
  })
})

test('GET /v1/occupations/suggestions completes the input', async () => {
  const service = await startWith()
  const response = await service.get('/v1/occupations/suggestions?q=kinder')
  expect(response.json()).toEqual({
    suggestions: [
      {
        text: 'Kindergarten Teacher',
        occupationCode: 'A1',
        titleEnglish: 'Early Childhood Teacher',
        language: 'en',
        highlights: [[0, 6]],
      },
    ],
  })
})

describe('POST /v1/codings', () => {
  const post = (service: Service, payload: unknown) =>
    service.request({
      method: 'POST',
      url: '/v1/codings',
      headers: { 'x-api-key': service.key, 'content-type': 'application/json' },
      payload: JSON.stringify(payload),
    })

  test('has a coding for each item in its place, also for those without a title', async () => {
    const service = await startWith()
    const blank = { certainty: 0, candidates: [], error: 'The title is blank.' }
    const response = await post(service, {
      items: [
        { id: '7', title: 'Truck driver', tasks: ['Delivers goods'] },
        { title: '' },
        {},
        { title: '…' },
        { id: '', title: ' ', tasks: [''] },
        { id: '8', title: `Truck driver ${'of everything '.repeat(30)}` },
        { id: '9', title: 'Truck driver', tasks: ['Drives', 'Delivers goods '.repeat(70)] },
      ],
    })
    expect(response.statusCode).toBe(200)
    expect(response.json().items).toEqual([
      expect.objectContaining({
        id: '7',
        code: 'B2',
        candidates: expect.arrayContaining([
          expect.objectContaining({ occupationCode: 'B2', titleEnglish: 'Truck Driver' }),
        ]),
      }),
      blank,
      blank,
      { certainty: 0, candidates: [] },
      blank,
      {
        id: '8',
        certainty: 0,
        candidates: [],
        error: 'The title has 432 characters; at most 300 are allowed.',
      },
      {
        id: '9',
        certainty: 0,
        candidates: [],
        error: 'A task has 1,049 characters; at most 1,000 are allowed.',
      },
    ])
    for (const [items, detail] of [
      [[{ title: 7 }, { titel: 'x' }], 'items[0].title'],
      [[{ title: 'Truck driver' }, null], 'items[1] must be an object, not null.'],
      [Array.from({ length: 301 }, () => ({ title: 'x' })), '300'],
    ] as const) {
      const refused = await post(service, { items })
      expect([refused.statusCode, refused.json().detail]).toEqual([400, expect.stringContaining(detail)])
    }
  })
})
