import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { type Answer, type CacheRequest, SharedCache } from '../bench/scale/cache.ts'
import { type CdnOptions, simulateCdn } from '../bench/scale/cdn.ts'
import { CACHE_CONTROL, listUrls, RealOrigin, simulatedOrigin } from '../bench/scale/origin.ts'
import { Installation } from './support/command.ts'
import { UNLIMITED } from './support/filled-database.ts'

const REQUEST: CacheRequest = { url: '/v1/occupations', headers: { 'accept-encoding': 'br' } }

function answer(headers: Record<string, string> = {}, body = 'one'): Answer {
  return { status: 200, headers: { 'cache-control': CACHE_CONTROL, etag: `W/"${body}"`, ...headers }, body }
}

/** A cache that was answered at once, at second 1000. */
function cacheWith(given: Answer, request = REQUEST): SharedCache {
  const cache = new SharedCache()
  cache.receive(request, given, 1000, 1000)
  return cache
}

describe('a shared cache', () => {
  test('sends an answer for a minute, for ten more while it asks about it, and no longer', () => {
    const cache = cacheWith(answer())
    expect(cache.find(REQUEST, 1059.9)).toMatchObject({ use: 'fresh' })
    for (const now of [1060, 1659.9]) {
      expect(cache.find(REQUEST, now)).toMatchObject({
        use: 'stale',
        ask: { headers: { 'if-none-match': 'W/"one"' } },
      })
    }
    expect(cache.find(REQUEST, 1660)).toMatchObject({
      use: 'none',
      ask: { headers: { 'if-none-match': 'W/"one"' } },
    })
  })

  test('counts as age what a cache before it and the way took, and no clock that goes ahead', () => {
    expect(cacheWith(answer({ age: '50' })).find(REQUEST, 1009.9)).toMatchObject({ use: 'fresh' })
    expect(cacheWith(answer({ age: '50' })).find(REQUEST, 1010)).toMatchObject({ use: 'stale' })
    expect(cacheWith(answer({ date: '960' })).find(REQUEST, 1020)).toMatchObject({ use: 'stale' })
    expect(cacheWith(answer({ date: '2000' })).find(REQUEST, 1059)).toMatchObject({ use: 'fresh' })
    const slow = new SharedCache()
    slow.receive(REQUEST, answer(), 1000, 1030)
    expect(slow.find(REQUEST, 1060)).toMatchObject({ use: 'stale' })
  })

  test('keeps an answer that the origin confirms for as long again, under its new headers', () => {
    const cache = cacheWith(answer({ age: '60' }))
    cache.receive(REQUEST, { status: 304, headers: answer().headers, body: '' }, 1100, 1100)
    expect(cache.find(REQUEST, 1159)).toMatchObject({ use: 'fresh', stored: { answer: { body: 'one' } } })
    expect(() =>
      cache.receive(REQUEST, { status: 304, headers: { etag: 'W/"other"' }, body: '' }, 1200, 1200),
    ).toThrow('not kept')
  })

  test('puts a new answer in the place of the old one', () => {
    const cache = cacheWith(answer())
    cache.receive(REQUEST, answer({}, 'two'), 1100, 1100)
    expect(cache.find(REQUEST, 1101)).toMatchObject({ use: 'fresh', stored: { answer: { body: 'two' } } })
  })

  test('keeps apart what the answer varies by, and nothing else', () => {
    const cache = cacheWith(answer({ vary: 'Accept-Encoding' }))
    const find = (headers: Record<string, string>) => cache.find({ url: REQUEST.url, headers }, 1001).use
    expect(find({ 'accept-encoding': 'br', accept: '*/*' })).toBe('fresh')
    expect(find({ 'accept-encoding': 'gzip' })).toBe('none')
    expect(find({})).toBe('none')
  })

  test.each([
    ['private, no-cache', {}, {}],
    ['public, no-store, max-age=60', {}, {}],
    ['public', {}, {}],
    ['max-age=60', {}, { authorization: 'Bearer x' }],
    ['public, max-age=60', { vary: '*' }, {}],
  ])('keeps nothing under %s %j of a request with %j', (control, headers, sent) => {
    const request = { url: REQUEST.url, headers: sent }
    const cache = cacheWith(answer({ 'cache-control': control, ...headers }), request)
    expect(cache.find(request, 1000)).toMatchObject({ use: 'none', stored: undefined })
  })

  test('asks without a condition for what it does not keep, whatever its own caller knows', () => {
    const request = { url: REQUEST.url, headers: { 'if-none-match': 'W/"one"' } }
    expect(new SharedCache().find(request, 1000)).toMatchObject({ ask: { headers: {} } })
  })
})

const SMALL: Omit<CdnOptions, 'askOrigin' | 'imports' | 'seed' | 'shield'> = {
  pointsOfPresence: 4,
  requestsPerSecond: 4,
  seconds: 3_000,
  warmUp: 0,
  urls: listUrls(20),
  zipfExponent: 1,
  roundTrip: 0.1,
}

test('whatever the imports: no answer is older than max-age and stale-while-revalidate allow, and each URL is asked for at most once a minute from each place', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.integer(),
      fc.boolean(),
      fc.array(fc.integer({ min: 0, max: 2_000 }), { maxLength: 4 }),
      async (seed, shield, times) => {
        const imports = times.sort((one, other) => one - other)
        const asked = new Map<string, number>()
        const origin = simulatedOrigin(imports)
        const counts = await simulateCdn({
          ...SMALL,
          seed,
          shield,
          imports,
          askOrigin: (request, now) => {
            const key = request.headers['accept-encoding'] + request.url
            asked.set(key, (asked.get(key) ?? 0) + 1)
            return origin(request, now)
          },
        })
        expect(counts.fresh + counts.stale + counts.waited).toBe(counts.requests)
        expect(counts.oldest).toBeLessThan(660 + SMALL.roundTrip)
        // The last import is to be seen everywhere in time: nothing outdated is sent after that.
        expect(counts.since.slice(67).every(({ outdated }) => outdated === 0)).toBe(true)
        const places = shield ? 1 : SMALL.pointsOfPresence
        for (const times of asked.values())
          expect(times).toBeLessThanOrEqual(places * (SMALL.seconds / 60 + 1))
        expect([...asked.values()].reduce((sum, each) => sum + each, 0)).toBe(counts.origin)
      },
    ),
    { numRuns: 15 },
  )
})

test('the same seed gives the same figures, and another one others', async () => {
  const run = (seed: number) =>
    simulateCdn({ ...SMALL, seed, shield: true, imports: [900], askOrigin: simulatedOrigin([900]) })
  const first = await run(1)
  expect(await run(1)).toEqual(first)
  expect(await run(2)).not.toEqual(first)
})

test('with a real Mahi behind them the caches send what it sent, and their questions are answered 304 until an import', async () => {
  const mahi = await new Installation().fill(
    Array.from({ length: 200 }, (_, index) => ({
      occupationCode: `O${String(index).padStart(7, '0')}`,
      titleEnglish: `Title ${index}`,
    })),
  )
  const { url } = await mahi.serve({ ...UNLIMITED, OCCUPATIONS_ACCESS: 'public' })
  const sent = await fetch(`${url}/v1/occupations`)
  expect(sent.headers.get('cache-control')).toBe(CACHE_CONTROL)
  const origin = await RealOrigin.of(url)
  const run = (imports: number[]) =>
    simulateCdn({
      ...SMALL,
      seed: 7,
      shield: false,
      requestsPerSecond: 1,
      seconds: 1_500,
      imports,
      askOrigin: origin.ask,
      onImport: async (index) => {
        await mahi.fill([{ occupationCode: 'O0000000', titleEnglish: `Changed ${index}` }])
        await origin.untilChanged()
      },
      onAnswer: origin.check,
    })
  const { oldest, requests, origin: asked } = await run([500])
  expect(oldest).toBeLessThan(660)
  expect(asked).toBeLessThan(requests)
  expect(origin.counts.notModified).toBeGreaterThan(0)
  expect(origin.counts.full + origin.counts.notModified).toBe(asked)
})
