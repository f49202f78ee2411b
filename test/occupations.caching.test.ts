import { setImmediate as takeTurn } from 'node:timers/promises'
import { brotliDecompressSync, gunzipSync } from 'node:zlib'
import type { LightMyRequestResponse } from 'fastify'
import { expect, test } from 'vitest'
import { importOccupations } from '../src/catalogue/import/import.ts'
import type { SourceRecord } from '../src/engines/records/source-record.ts'
import { ask, get, type OccupationPage } from './support/catalogue.ts'
import { Service } from './support/service.ts'

const recordsOf = (...list: readonly string[]) => list.map((occupationCode) => ({ occupationCode }))
const etagOf = async (service: Service, url: string) => String((await ask(service, url)).headers.etag)

/** Records whose page is long enough to be worth compressing. */
const LONG = Array.from({ length: 30 }, (_, index) => ({
  occupationCode: `C${index}`,
  titleEnglish: `Kaiwhakahaere ā-rohe ${index}`,
  descriptionEnglish: `The ${index}th of thirty. `.repeat(index),
}))

function decode(response: LightMyRequestResponse): string {
  const encoding = response.headers['content-encoding']
  if (encoding === 'br') return brotliDecompressSync(response.rawPayload).toString()
  if (encoding === 'gzip') return gunzipSync(response.rawPayload).toString()
  expect(encoding).toBe(undefined)
  return response.body
}

test('a page has a weak ETag that names its query, however the query is written', async () => {
  const service = await Service.start()
  await service.import(recordsOf('A', 'B', 'C'))

  const etag = await etagOf(service, '/v1/occupations?Limit=20&Cursor=B')
  expect(etag).toMatch(/^W\/"[!#-~]+"$/)
  for (const same of [
    '/v1/occupations?Limit=20&Cursor=B',
    '/v1/occupations?cursor=%42&limit=20',
    '/v1/occupations?Cursor=B',
    '/v1/occupations?Cursor=B&Limit=&Filter.MajorGroupCode=&Filter.LastUpdatedAfter=',
    '/v1/occupations?&&lImIt=20&&Cu%72sor=B&',
    '/v1.0/occupations?Cursor=B',
    '/occupations?Cursor=B',
  ]) {
    expect(await etagOf(service, same), same).toBe(etag)
  }
  const others = [
    ...['', '?Cursor=A', '?Cursor=b', '?Limit=19&Cursor=B', '?Filter.Codes=A,B', '?Filter.Codes=A'],
    ...['?Cursor=B&Filter.MajorGroupCode=1', '?Cursor=B&Filter.MinorGroupCode=1'],
    ...['After', 'Before'].map((bound) => `?Cursor=B&Filter.LastUpdated${bound}=2020-01-01T00:00:00Z`),
    ...['?Filter.MajorGroupCode=B', '?Filter.MinorGroupCode=B'],
    '?Filter.MajorGroupCode=B&Filter.GroupRelation=Primary',
    ...['?Cursor=B&Fields=titleEnglish', '?Cursor=B&Fields=titleEnglish,titleMaori'],
  ]
  const etags = await Promise.all(others.map((query) => etagOf(service, `/v1/occupations${query}`)))
  expect(new Set([etag, ...etags]).size).toBe(others.length + 1)
  for (const [one, other] of [
    ['Filter.Codes=A,B', 'Filter.Codes=B,A,B'],
    ['Fields=titleEnglish,titleMaori', 'Fields=titleMaori,titleEnglish,titleMaori'],
  ])
    expect(await etagOf(service, `/v1/occupations?${one}`)).toBe(
      await etagOf(service, `/v1/occupations?${other}`),
    )
})

test('the ETag changes only with the catalogue', async () => {
  const service = await Service.start()
  const now = () => etagOf(service, '/v1/occupations')
  const seen = [await now()]
  await service.import(recordsOf('A', 'B'))
  seen.push(await now())
  await service.import([{ occupationCode: 'A', titleEnglish: 'new' }])
  seen.push(await now())
  await service.import(recordsOf('B'), { replace: true })
  seen.push(await now())
  await service.import([{ occupationCode: 'B', lastUpdatedDate: '2001-01-01T00:00:00Z' }], {
    keepDates: true,
  })
  seen.push(await now())
  expect(new Set(seen).size).toBe(5)

  await service.import(recordsOf('B'))
  await service.import(recordsOf('B', 'C'), { dryRun: true })
  await expect(service.import([{ occupationCode: 'C', titleEnglish: 5 }])).rejects.toThrow()
  await service.publish([{ localId: '1' }])
  await service.createKey({})
  expect(await now()).toBe(seen.at(-1))
})

test('If-None-Match with the ETag of the page, in any form and any list, is answered 304', async () => {
  const service = await Service.start()
  await service.import(recordsOf('A', 'B'))
  const etag = await etagOf(service, '/v1/occupations?Limit=1')
  const strong = etag.slice(2)

  for (const header of [
    etag,
    strong,
    '*',
    ' * ',
    `  ${etag}  `,
    `"x", ${etag}`,
    `W/"x",${strong},"y"`,
    `${etag},`,
    `,, ${etag}`,
  ]) {
    const response = await get(service, '/v1/occupations?Limit=1', { 'if-none-match': header })
    expect(response.statusCode, header).toBe(304)
    expect(response.rawPayload).toHaveLength(0)
    expect(response.headers).toMatchObject({
      etag,
      vary: 'accept-encoding',
      'cache-control': 'private, no-cache',
    })
    expect(response.headers).toHaveProperty('x-request-id')
    expect(response.headers).not.toHaveProperty('content-type')
    expect(response.headers).not.toHaveProperty('content-encoding')
    const own = { 'x-api-key': service.key, 'if-none-match': header }
    const head = await service.request({ method: 'HEAD', url: '/v1/occupations?Limit=1', headers: own })
    expect(head.statusCode).toBe(304)
  }
})

test('If-None-Match with anything else is answered with the page', async () => {
  const service = await Service.start()
  await service.import(recordsOf('A', 'B'))
  const etag = await etagOf(service, '/v1/occupations?Limit=1')
  const other = await etagOf(service, '/v1/occupations?Limit=2')
  const opaque = etag.slice(3, -1)

  for (const header of [
    '',
    '"x"',
    other,
    opaque,
    `W/${opaque}`,
    `w/"${opaque}"`,
    `"${opaque}`,
    '"*"',
    etag.toUpperCase(),
  ]) {
    const response = await get(service, '/v1/occupations?Limit=1', { 'if-none-match': header })
    expect(response.statusCode, header).toBe(200)
    expect(response.headers.etag).toBe(etag)
    expect(response.json()).toHaveProperty('resultsCount', 1)
  }
})

test('a page of a public catalogue can be kept by anyone for a minute', async () => {
  const service = await Service.start({ OCCUPATIONS_ACCESS: 'public' })
  await service.import(recordsOf('A'))

  const shared = 'public, max-age=60, stale-while-revalidate=600'
  const response = await service.request({ url: '/v1/occupations' })
  expect(response.headers['cache-control']).toBe(shared)
  expect(response.headers.vary).toBe('accept-encoding, x-api-version')
  const fresh = await get(service, '/v1/occupations', { 'if-none-match': String(response.headers.etag) })
  expect(fresh.statusCode).toBe(304)
  expect(fresh.headers['cache-control']).toBe(shared)
  expect((await get(service, '/v1/occupations', { 'x-api-key': 'wrong' })).headers['cache-control']).toBe(
    'no-store',
  )
})

test('a page is sent in an encoding that the caller accepts, brotli before gzip', async () => {
  const service = await Service.start()
  await service.import(LONG)
  const plain = await ask(service, '/v1/occupations')
  expect(plain.headers).not.toHaveProperty('content-encoding')

  for (const [header, encoding] of [
    ['gzip', 'gzip'],
    ['gzip, deflate, br, zstd', 'br'],
    ['BR', 'br'],
    ['*', 'br'],
    ['gzip;q=1.0, br;q=0.5', 'gzip'],
    ['br;q=0.000, *', 'gzip'],
    ['*;q=0', undefined],
    ['identity, br;q=0.1', undefined],
    ['zstd', undefined],
    ['nonsense;;q', undefined],
  ] as const) {
    const response = await get(service, '/v1/occupations', { 'accept-encoding': header })
    expect(response.statusCode, header).toBe(200)
    expect(response.headers['content-encoding'], header).toBe(encoding)
    expect(response.headers['content-type']).toBe('application/json; charset=utf-8')
    expect(response.headers.vary).toBe('accept-encoding')
    expect(decode(response), header).toBe(plain.body)
    expect(response.headers.etag).toBe(plain.headers.etag)
    if (encoding !== undefined) expect(response.rawPayload.length).toBeLessThan(plain.rawPayload.length)
  }
})

test('a service that keeps no pages compresses them all the same, and answers 304', async () => {
  const service = await Service.start({ PAGE_CACHE_MB: '0' })
  await service.import(LONG)

  const short = await get(service, '/v1/occupations?Limit=1', { 'accept-encoding': 'br, gzip' })
  expect(short.headers).not.toHaveProperty('content-encoding')
  const response = await get(service, '/v1/occupations', { 'accept-encoding': 'br, gzip' })
  expect(response.headers['content-encoding']).toBe('br')
  expect(JSON.parse(decode(response))).toHaveProperty('totalCount', LONG.length)
  const etag = String(response.headers.etag)
  expect((await get(service, '/v1/occupations', { 'if-none-match': etag })).statusCode).toBe(304)
  await service.import(recordsOf('Z'))
  expect((await get(service, '/v1/occupations', { 'if-none-match': etag })).statusCode).toBe(200)
})

test('each page is of one version of the catalogue while imports run', async () => {
  const service = await Service.start()
  /** A version has its number in every title, and a number of records that follows from it. */
  const sizeOf = (version: number) => 25 + (version % 7)
  /** Takes its time, so that requests come while the import is under way. */
  async function* recordsOfVersion(version: number): AsyncGenerator<SourceRecord> {
    for (let index = 0; index < sizeOf(version); index++) {
      if (index % 5 === 0) await takeTurn()
      const value = {
        occupationCode: `C${100 + index}`,
        titleEnglish: `${version}`,
        minorGroups: [{ minorGroup: { code: `${(index + version) % 2}` } }],
      }
      yield { file: 'version.ndjson', line: index + 1, value }
    }
  }
  const importVersion = (version: number) =>
    importOccupations(service.database, recordsOfVersion(version), { replace: true })
  await importVersion(0)

  const bodies = new Map<string, string>()
  const queries = [
    '?Limit=10',
    '?Limit=100',
    '?Limit=10&Cursor=C120',
    '?Limit=100&Filter.LastUpdatedAfter=2020-01-01T00:00:00Z',
    '?Limit=10&Filter.MinorGroupCode=1',
    '?Limit=100&Filter.MinorGroupCode=0&Filter.LastUpdatedAfter=2020-01-01T00:00:00Z',
  ]
  let version = 0
  const seen = new Set<string>()
  const goesOn = () => version < 25 || (seen.size < 5 && version < 500)
  const read = async (query: string) => {
    const filtered = query.includes('MinorGroupCode=')
    while (goesOn()) {
      await takeTurn()
      const response = await ask(service, `/v1/occupations${query}`)
      const page = response.json<OccupationPage>()
      const titles = new Set(page.data.map(({ titleEnglish }) => String(titleEnglish)))
      expect(titles.size).toBe(1)
      const [title = ''] = titles
      seen.add(title)
      if (!filtered) expect(page.totalCount).toBe(sizeOf(Number(title)))
      expect(page.data.length).toBe(page.resultsCount)
      if (query.includes('Limit=100')) expect(page.resultsCount).toBe(page.totalCount)
      // An ETag names one body for ever.
      const etag = String(response.headers.etag)
      expect(bodies.get(etag) ?? response.body).toBe(response.body)
      bodies.set(etag, response.body)
    }
  }
  const write = async () => {
    while (goesOn()) {
      await importVersion(++version)
      // Of some imports the service learns at once, of the others from what it reads.
      if (version % 3 === 0) await service.revisions.refresh()
      await takeTurn()
    }
  }
  await Promise.all([write(), ...queries.map(read)])
  expect(seen.size).toBeGreaterThanOrEqual(5)
})
