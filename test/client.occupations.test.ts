import { expect, test } from 'vitest'
import { type Client, createClient, MahiError, type OccupationsQuery } from '../client/src/index.ts'
import { Front } from '../client/test/front.ts'
import { DEADLINE } from './support/command.ts'
import { Service } from './support/service.ts'

const record = (occupationCode: string, minor = 'M1', major = 'J1') => ({
  occupationCode,
  titleEnglish: `Title of ${occupationCode}`,
  minorGroups: [
    {
      minorGroupRelationType: 'Primary',
      minorGroup: {
        code: minor,
        majorGroups: [{ majorGroupRelationType: 'Primary', majorGroup: { code: major } }],
      },
    },
  ],
})

async function startClient(records: readonly unknown[]) {
  const service = await Service.start()
  await service.import(records)
  const front = await Front.start(service)
  return {
    service,
    front,
    client: createClient({ baseUrl: front.baseUrl, apiKey: service.key, deadline: DEADLINE }),
  }
}

/** A client of a service that answers these bodies in turn. */
function clientOf(bodies: readonly unknown[], headers: Record<string, string> = { etag: 'W/"c1-x"' }) {
  let index = 0
  return createClient({
    baseUrl: 'http://service.example',
    fetch: async () => Response.json(bodies[index++ % bodies.length], { headers }),
  })
}

test('pages that form a loop end the iteration', async () => {
  const page = (nextCursor: string) => ({
    data: [{ occupationCode: 'A' }],
    nextCursor,
    totalCount: 2,
    resultsCount: 1,
  })
  for (const bodies of [
    [page('A')],
    [page('a'), page('b')],
    [page('b'), page('a')],
    [page('😀'), page('\uffee')],
  ])
    await expect(Array.fromAsync(clientOf(bodies).occupations.all())).rejects.toMatchObject({
      kind: 'unreadable',
      title: 'The pages form a loop',
    })
})

test('a 200 that is not a catalogue page is an error, not an empty catalogue', async () => {
  const good = { totalCount: 0, data: [], resultsCount: 0 }
  expect(await clientOf([good]).occupations.list()).toEqual(good)
  for (const bad of [
    {},
    [],
    { status: 'ok' },
    { data: [] },
    { ...good, totalCount: undefined },
    { ...good, totalCount: '0' },
    { ...good, totalCount: -1 },
    { ...good, resultsCount: undefined },
    { ...good, resultsCount: 3 },
    { ...good, data: undefined },
    { ...good, data: 'letters', resultsCount: 7 },
    { ...good, data: [null], resultsCount: 1 },
    { ...good, data: ['a'], resultsCount: 1 },
    { ...good, nextCursor: 5 },
    { ...good, nextCursor: '' },
    { ...good, nextCursor: 'A' },
  ]) {
    const failure: unknown = await Array.fromAsync(clientOf([bad]).occupations.all()).catch(
      (error: unknown) => error,
    )
    expect([bad, failure]).toEqual([bad, expect.any(MahiError)])
    expect(failure).toMatchObject({ kind: 'unreadable' })
  }
  await expect(clientOf([good], {}).occupations.list()).rejects.toMatchObject({
    kind: 'unreadable',
    title: 'The response is not a page: it lacks an ETag',
  })
})

/** Functions with a value in their path, one of each kind of path and of request. */
const WITH_A_VALUE: Record<string, (client: Client, value: string) => Promise<unknown>> = {
  'occupations.get': ({ occupations }, code) => occupations.get(code),
  'occupations.withdrawCoding': ({ occupations }, id) => occupations.withdrawCoding(id),
  'validationResults.all': ({ validationResults }, token) => validationResults.all(token).next(),
  'validationResults.export': ({ validationResults }, token) => validationResults.export(token),
  'submissions.putFile of a file': ({ submissions }, file) => submissions.putFile('token', file, ''),
  'submissions.putFiles': ({ submissions }, token) => submissions.putFiles(token, ''),
  'submissions.markedFiles': ({ submissions }, token) => submissions.markedFiles(token),
  'submissions.waitForRun': ({ submissions }, token) => submissions.waitForRun(token, 1),
}

test('a value that would lead to another path is refused, and nothing is sent', async () => {
  const client = createClient({
    baseUrl: 'http://service.example',
    fetch: () => expect.fail('a request was sent'),
  })
  for (const [name, call] of Object.entries(WITH_A_VALUE)) {
    await expect(call(client, undefined as unknown as string), name).rejects.toMatchObject({
      kind: 'invalid',
    })
    for (const value of ['', '.', '..', '\ud800'])
      await expect(call(client, value), name).rejects.toMatchObject({
        name: 'MahiError',
        kind: 'invalid',
        title: `${JSON.stringify(value)} is not a valid token, code or name: it cannot be part of a URL`,
      })
  }
})

test('a credential that does not fit in a header is refused without being repeated', async () => {
  for (const secret of ['', 'secret\n', 'secret\r\nx: y', 'sēcret', 'secret\u{1F511}']) {
    for (const credential of [{ apiKey: secret }, { token: secret }]) {
      const refusal = (() => {
        try {
          createClient({ baseUrl: 'http://service.example', ...credential })
        } catch (error) {
          return error
        }
        return undefined
      })()
      expect(refusal).toBeInstanceOf(TypeError)
      expect(String((refusal as TypeError).stack)).not.toMatch(/cret(?!Fits)/)
    }
    const later = createClient({ baseUrl: 'http://service.example', token: async () => secret })
    await expect(later.occupations.list()).rejects.toThrow(TypeError)
  }
})

test('pages and all follow nextCursor to the end, from the cursor on where one is given', async () => {
  const { client, front } = await startClient(['A', 'B', 'C', 'D', 'E'].map((code) => record(code)))

  const pages = await Array.fromAsync(client.occupations.pages({ limit: 2 }))
  expect(pages[0]).toMatchObject({ currentCursor: 'A', nextCursor: 'C', totalCount: 5, resultsCount: 2 })
  expect(pages[0]?.data?.[0]).toMatchObject(record('A'))
  expect(pages.map(({ data }) => data?.map((each) => each.occupationCode))).toEqual([
    ['A', 'B'],
    ['C', 'D'],
    ['E'],
  ])
  expect(front.received.map(({ url }) => url)).toEqual([
    '/v1/occupations?Limit=2',
    '/v1/occupations?Limit=2&Cursor=C',
    '/v1/occupations?Limit=2&Cursor=E',
  ])
  const rest = await Array.fromAsync(client.occupations.all({ limit: 2, cursor: 'D' }))
  expect(rest.map((each) => each.occupationCode)).toEqual(['D', 'E'])
  expect(await Array.fromAsync(client.occupations.all({ minorGroupCode: 'none' }))).toEqual([])
})

test('every filter works as the interface says', async () => {
  const { client, service } = await startClient([record('A', 'M1', 'J1'), record('B', 'M2', 'J1')])
  const first = (await client.occupations.list()).data?.[0]?.lastUpdatedDate ?? ''
  await service.import([record('C', 'M3', 'J2')])
  const codesOf = async (query: OccupationsQuery) =>
    (await Array.fromAsync(client.occupations.all(query))).map((each) => each.occupationCode)

  expect(await codesOf({ majorGroupCode: 'J1' })).toEqual(['A', 'B'])
  expect(await codesOf({ minorGroupCode: 'M2' })).toEqual(['B'])
  expect(await codesOf({ majorGroupCode: 'J1', minorGroupCode: 'M3' })).toEqual([])
  expect(await codesOf({ lastUpdatedAfter: first })).toEqual(['C'])
  expect(await codesOf({ lastUpdatedAfter: new Date(first) })).toEqual(['C'])
  expect(await codesOf({ lastUpdatedAfter: first.replace('Z', '+00:00') })).toEqual(['C'])
  expect(await codesOf({ lastUpdatedBefore: new Date(Date.parse(first) + 1) })).toEqual(['A', 'B'])
  expect(await codesOf({ majorGroupCode: undefined, limit: undefined })).toEqual(['A', 'B', 'C'])
  expect(await codesOf({ majorGroupCode: 'J1', groupRelation: 'Primary' })).toEqual(['A', 'B'])
  expect(await codesOf({ codes: ['C', 'A'] })).toEqual(['A', 'C'])
  const { data } = await client.occupations.list({ fields: ['titleEnglish'], codes: ['A'] })
  expect(data).toEqual([{ titleEnglish: 'Title of A' }])
})

test('a search sends every parameter by its name in the API', async () => {
  const urls: string[] = []
  const client = createClient({
    baseUrl: 'http://service.example',
    fetch: async (url) => {
      urls.push(url)
      return Response.json({})
    },
  })
  await client.occupations.search({
    q: 'a',
    lang: 'mi',
    majorGroupCode: '1',
    minorGroupCode: '11',
    groupRelation: 'Primary',
    limit: 5,
    page: 2,
  })
  expect(urls).toEqual([
    'http://service.example/v1/occupations/search?q=a&Lang=mi&Filter.MajorGroupCode=1&Filter.MinorGroupCode=11&Filter.GroupRelation=Primary&Limit=5&page=2',
  ])
})

test('a record, all groups and one group can be read by code', async () => {
  const { client } = await startClient([record('A/ā')])
  expect(await client.occupations.get('A/ā')).toMatchObject({ titleEnglish: 'Title of A/ā' })
  const groups = await client.occupations.groups()
  expect(groups.minorGroups?.map(({ code }) => code)).toEqual(['M1'])
  expect((await client.occupations.group('J1')).majorGroups).toEqual(groups.majorGroups)
  await expect(client.occupations.get('B')).rejects.toMatchObject({ kind: 'problem', status: 404 })
})

test('a name that does not exist is refused by the service, not left out', async () => {
  const { client } = await startClient([record('A')])

  const misspelt = { majorGroup: 'J1' } as OccupationsQuery
  await expect(client.occupations.list(misspelt)).rejects.toThrow(/Filter\.MajorGroupCode/)
  const near = { limt: 5 } as OccupationsQuery
  await expect(client.occupations.list(near)).rejects.toThrow(
    'limt is not a parameter of this endpoint (did you mean "Limit"?)',
  )
  const failure: unknown = await client.occupations.list({ limit: 1000 }).catch((error: unknown) => error)
  expect(failure).toBeInstanceOf(MahiError)
  expect(failure).toMatchObject({ kind: 'problem', status: 400, type: '/problems/invalid-parameters' })
})

test('a base URL may have a path and a trailing slash, and must be absolute', async () => {
  const { client: _, service, front } = await startClient([record('A')])
  const page = { totalCount: 7, data: [], resultsCount: 0 }
  front.befall = ({ url }) =>
    url.startsWith('/prefix/v1/occupations')
      ? { status: 200, headers: { etag: 'W/"x"' }, body: JSON.stringify(page) }
      : undefined

  for (const baseUrl of [`${front.baseUrl}/prefix`, new URL(`${front.baseUrl}/prefix/`)]) {
    expect(await createClient({ baseUrl, apiKey: service.key }).occupations.list()).toEqual(page)
  }
  expect(() => createClient({ baseUrl: '/v1' })).toThrow(TypeError)
  expect(() => createClient({ baseUrl: 'https://user:password@example.org' })).toThrow(TypeError)
})

test('a key and a token are sent, and neither follows a redirect', async () => {
  const { service, front } = await startClient([record('A')])
  const { baseUrl } = front

  expect((await createClient({ baseUrl, token: service.key }).occupations.list()).totalCount).toBe(1)
  let asked = 0
  const renewed = createClient({
    baseUrl,
    cachedPages: 0,
    token: async () => {
      asked++
      return service.key
    },
  })
  await renewed.occupations.list()
  await renewed.occupations.list()
  expect(asked).toBe(2)
  await expect(
    createClient({ baseUrl, token: () => Promise.reject(new RangeError('signed out')) }).occupations.list(),
  ).rejects.toThrow(RangeError)
  await expect(createClient({ baseUrl, token: () => 'ā' }).occupations.list()).rejects.toThrow(TypeError)

  const before = front.received.length
  front.meet({ status: 302, headers: { location: `${baseUrl}/v1/occupations` } })
  await expect(createClient({ baseUrl, apiKey: service.key }).occupations.list()).rejects.toMatchObject({
    kind: 'problem',
    status: 302,
    title: `HTTP 302 redirects to ${baseUrl}/v1/occupations`,
    location: `${baseUrl}/v1/occupations`,
  })
  expect(front.received.length - before).toBe(1)
})
