import fc from 'fast-check'
import { expect, test } from 'vitest'
import { cases } from './support/properties.ts'
import { takeDatabaseUrl } from './support/reused-schemas.ts'
import { Service } from './support/service.ts'

const HEADERS = { eid: '1001' }

const numbered = (count: number) => Array.from({ length: count }, (_, index) => ({ localId: `L${index}` }))

const addressOf = (token: string, query = '') => `/v1/submissions/${token}/validation-results${query}`

test('a page says its number, its size, its entries and how many there are in all', async () => {
  const service = await Service.start()
  const { submissionToken } = await service.publish(numbered(5))

  const response = await service.get(addressOf(submissionToken, '?page=2&pageSize=2'), HEADERS)
  expect(response.statusCode).toBe(200)
  expect(response.headers['content-type']).toBe('application/json; charset=utf-8')
  expect(response.body).toBe(
    '{"page":2,"pageSize":2,"results":[{"localId":"L2"},{"localId":"L3"}],"totalCount":5}',
  )
})

test('the header Link leads through all pages of findings, of comparisons and of submissions', async () => {
  const service = await Service.start()
  const token = 'of-1001~.'
  const entries = Array.from({ length: 7 }, (_, index) => ({
    localId: `L${index}`,
    errorCode: index % 2 === 0 ? 'a&b=c#ā' : 'B',
  }))
  await service.publish(entries, { token })
  await service.publish(entries, { token })
  for (let each = 0; each < 4; each++) await service.publish([], { token: `another-${each}` })
  const follow = async (start: string) => {
    const sizes: number[] = []
    const found: { localId?: string }[] = []
    for (let path: string | undefined = start; path !== undefined; ) {
      const response = await service.get(path, HEADERS)
      expect([path, response.statusCode]).toEqual([path, 200])
      const { results, totalCount } = response.json()
      sizes.push(results.length)
      found.push(...results)
      const { link } = response.headers
      expect(link !== undefined).toBe(found.length < totalCount)
      path = link === undefined ? undefined : /^<(\/v1\/[!-;=?-~]+)>; rel="next"$/.exec(String(link))?.[1]
      if (link !== undefined) expect(path).toBeDefined()
    }
    return { sizes, ids: found.map(({ localId }) => localId) }
  }
  const at = addressOf(encodeURIComponent(token))
  const ids = entries.map(({ localId }) => localId)
  expect(await follow(`${at}?pageSize=3`)).toEqual({ sizes: [3, 3, 1], ids })
  expect(await follow(`${at}?pageSize=7`)).toEqual({ sizes: [7], ids })
  expect(await follow(`${at}?Filter.ErrorCode=${encodeURIComponent('a&b=c#ā')}&pageSize=2`)).toEqual({
    sizes: [2, 2],
    ids: ['L0', 'L2', 'L4', 'L6'],
  })
  expect(await follow(`${at}/changes?status=open&pageSize=5`)).toEqual({ sizes: [5, 2], ids })
  expect((await follow('/v1/submissions?pageSize=2')).sizes).toEqual([2, 2, 1])
  const exported = await service.get(at, { ...HEADERS, accept: 'text/csv' })
  expect(exported.headers.link).toBeUndefined()
})

test('an entry is returned as published, without absent fields', async () => {
  const service = await Service.start()
  const full = {
    localId: 'A-1',
    errorCode: 'E001',
    errorDescription: 'He hapa: “āēīōū” \u{1f600} \\ "quoted"\nand a second line',
    errorType: 'Warning',
    fileType: 'QualificationCompletion',
    courseCode: 'CS101/2',
    studentId: '0012345678',
    recordText: 'A|B,C;D\tE',
  }
  const entries = [full, {}, { errorType: 'Error', fileType: 'Course' }, full]
  const { submissionToken } = await service.publish(entries)

  expect((await service.get(addressOf(submissionToken), HEADERS)).json()).toEqual({
    page: 1,
    pageSize: 100,
    results: entries,
    totalCount: entries.length,
  })
})

test('whatever the page size, the pages hold every entry once, in the order of publication', async () => {
  const service = await Service.start({ RESULTS_PAGE_SIZE_MAX: '40' })
  const runs = new Map<number, { token: string; ids: string[] }>()
  const findRun = async (count: number) => {
    // Not in the order of their names: only the order of publication counts.
    const ids = numbered(count).map(({ localId }, index) => `${(index * 7919) % 1009}-${localId}`)
    const known = runs.get(count)
    if (known !== undefined) return known
    const { submissionToken } = await service.publish(ids.map((localId) => ({ localId })))
    const run = { token: submissionToken, ids }
    runs.set(count, run)
    return run
  }

  await fc.assert(
    fc.asyncProperty(
      fc.integer({ min: 0, max: 60 }),
      fc.integer({ min: 1, max: 40 }),
      async (count, size) => {
        const { token, ids } = await findRun(count)
        const pages = Math.max(1, Math.ceil(count / size))
        const seen: string[] = []
        for (let page = 1; page <= pages; page++) {
          const query = `?page=${page}&pageSize=${size}`
          const body = (await service.get(addressOf(token, query), HEADERS)).json()
          expect(body).toMatchObject({ page, pageSize: size, totalCount: count })
          seen.push(...body.results.map(({ localId }: { localId: string }) => localId))
        }
        expect(seen).toEqual(ids)

        const past = await service.get(addressOf(token, `?page=${pages + 1}&pageSize=${size}`), HEADERS)
        expect([past.statusCode, past.json().errorCode]).toEqual([400, 'PR2'])
      },
    ),
    {
      ...cases(6),
      examples: [
        [0, 1],
        [1, 1],
        [40, 40],
        [41, 40],
      ],
    },
  )
})

test('without parameters the first 100 entries come, and no more than the setting allows', async () => {
  const url = await takeDatabaseUrl()
  const service = await Service.start({}, url)
  const { submissionToken } = await service.publish(numbered(1100))
  const ask = async (from: Service, query: string) =>
    await from.get(addressOf(submissionToken, query), { ...HEADERS, 'x-api-key': service.key })

  expect((await ask(service, '')).json()).toMatchObject({ page: 1, pageSize: 100, totalCount: 1100 })
  expect((await ask(service, '')).json().results).toEqual(numbered(100))
  expect((await ask(service, '?pageSize=1000')).json().results).toHaveLength(1000)
  expect((await ask(service, '?pageSize=1001')).statusCode).toBe(400)

  const other = await Service.start({ RESULTS_PAGE_SIZE_MAX: '5' }, url)
  expect((await ask(other, '')).json()).toMatchObject({ pageSize: 5, results: numbered(5) })
  expect((await ask(other, '?pageSize=6')).json().errorCode).toBe('PR1')
})

test('a page has its own weak ETag, also with filters and as an export, and is not sent again to a client that has it', async () => {
  const service = await Service.start()
  const entries = numbered(10).map((entry, at) => ({
    ...entry,
    errorCode: at < 5 ? 'A' : 'B',
    studentId: at < 5 ? 'A' : 'B',
  }))
  const { submissionToken } = await service.publish(entries)
  const filters = [
    'ErrorCode=A',
    'ErrorCode=B',
    'StudentId=A',
    'StudentId=B',
    'ErrorCode=A&Filter.StudentId=A',
  ]
  const queries = [
    ...['?pageSize=2', '?pageSize=3', '?pageSize=2&page=2', '?pageSize=3&page=2'],
    ...filters.map((filter) => `?pageSize=2&Filter.${filter}`),
  ]
  const etags = new Set<unknown>()
  for (const query of queries) {
    const { etag, ...headers } = (await service.get(addressOf(submissionToken, query), HEADERS)).headers
    expect(etag).toMatch(/^W\/"[!#-~]+"$/)
    expect(headers).toMatchObject({ 'cache-control': 'private, no-cache', vary: 'accept, accept-encoding' })
    etags.add(etag)

    const again = await service.get(addressOf(submissionToken, query), {
      ...HEADERS,
      'if-none-match': String(etag),
    })
    expect([again.statusCode, again.body, again.headers.etag]).toEqual([304, '', etag])
  }
  expect(etags.size).toBe(queries.length)

  // HEAD has the headers of GET.
  const url = addressOf(submissionToken, queries[0])
  const { 'x-request-id': _, date: __, ...expected } = (await service.get(url, HEADERS)).headers
  const head = await service.request({
    method: 'HEAD',
    url,
    headers: { ...HEADERS, 'x-api-key': service.key },
  })
  expect([head.body, head.headers]).toEqual(['', expect.objectContaining(expected)])

  const exports = new Set<unknown>()
  for (const accept of ['text/csv', 'application/x-ndjson'])
    for (const query of ['', '?Filter.ErrorCode=A', '?Filter.ErrorCode=B']) {
      const response = await service.get(addressOf(submissionToken, query), { ...HEADERS, accept })
      exports.add(response.headers.etag)
    }
  expect(exports.size).toBe(6)
  for (const etag of exports) expect(etags).not.toContain(etag)
})
