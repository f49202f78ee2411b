import { expect, test } from 'vitest'
import { createClient } from '../client/src/index.ts'
import { Front } from '../client/test/front.ts'
import { DEADLINE } from './support/command.ts'
import { Service } from './support/service.ts'

async function startClient(options: { cachedPages?: number } = {}) {
  const service = await Service.start()
  await service.import(['A', 'B', 'C'].map((occupationCode) => ({ occupationCode })))
  const { submissionToken } = await service.publish(['a', 'b', 'c'].map((localId) => ({ localId })))
  const front = await Front.start(service)
  const client = createClient({
    baseUrl: front.baseUrl,
    apiKey: service.key,
    eid: '1001',
    deadline: DEADLINE,
    ...options,
  })
  const readOccupations = () => Array.fromAsync(client.occupations.all({ limit: 1 }))
  const readResults = () => Array.fromAsync(client.validationResults.all(submissionToken, { pageSize: 1 }))
  return { service, front, client, token: submissionToken, readOccupations, readResults }
}

test('pages seen before cost a 304 each, and read the same', async () => {
  const { front, readOccupations, readResults } = await startClient()
  const first = [await readOccupations(), await readResults()]
  const second = [await readOccupations(), await readResults()]
  expect(second).toEqual(first)
  expect(front.statuses).toEqual([200, 200, 200, 200, 200, 200, 304, 304, 304, 304, 304, 304])
})

test('changed pages are fetched again', async () => {
  const { service, front, client, token, readOccupations, readResults } = await startClient()
  await readOccupations()
  await readResults()
  await service.import([{ occupationCode: 'A', titleEnglish: 'Changed' }])
  await service.publish([{ localId: 'x' }], { token })

  front.received.length = 0
  expect((await readOccupations())[0]).toMatchObject({ titleEnglish: 'Changed' })
  expect(await readResults()).toEqual([{ localId: 'x' }])
  expect(front.statuses).toEqual([200, 200, 200, 200])
  expect((await client.occupations.list({ limit: 1 })).data).toMatchObject([{ titleEnglish: 'Changed' }])
  expect(front.statuses.at(-1)).toBe(304)
})

test('changing a returned page does not change the cached one', async () => {
  const { client, front } = await startClient()
  const page = await client.occupations.list()
  page.data?.pop()
  expect((await client.occupations.list()).data).toHaveLength(3)
  expect(front.statuses).toEqual([200, 304])
})

test('the configured number of pages is cached, the last used ones', async () => {
  const { client, front } = await startClient({ cachedPages: 2 })
  for (const cursor of ['A', 'B', 'B', 'A', 'C', 'A', 'B']) await client.occupations.list({ cursor })
  expect(front.statuses).toEqual([200, 200, 304, 304, 200, 304, 200])
})

test('without a cache, no request is conditional', async () => {
  const { front, client } = await startClient({ cachedPages: 0 })
  await client.occupations.list()
  await client.occupations.list()
  expect(front.statuses).toEqual([200, 200])
  expect(front.received.every(({ headers }) => headers['if-none-match'] === undefined)).toBe(true)
})

test('the service can still refuse a cached page', async () => {
  const { client, front } = await startClient()
  await client.occupations.list()
  front.meet({ status: 401, body: '{}' })
  await expect(client.occupations.list()).rejects.toMatchObject({ status: 401 })
  // A 304 that nobody asked for holds no page.
  front.meet({ status: 304 })
  await expect(client.occupations.list({ limit: 7 })).rejects.toMatchObject({ status: 304 })
})
