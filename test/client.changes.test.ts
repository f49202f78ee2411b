import { expect, test } from 'vitest'
import { createClient, MahiError } from '../client/src/index.ts'
import { Front } from '../client/test/front.ts'
import { DEADLINE } from './support/command.ts'
import { Service } from './support/service.ts'

const record = (occupationCode: string, titleEnglish = 'A title') => ({ occupationCode, titleEnglish })

async function startClient(codes: readonly string[]) {
  const service = await Service.start({ OCCUPATIONS_LIMIT_MAX: '3' })
  await service.import(codes.map((code) => record(code)))
  const front = await Front.start(service)
  return {
    service,
    front,
    client: createClient({ baseUrl: front.baseUrl, apiKey: service.key, deadline: DEADLINE }),
  }
}

async function collect<Item, End>(items: AsyncGenerator<Item, End>): Promise<[Item[], End]> {
  const collected: Item[] = []
  for (;;) {
    const { value, done } = await items.next()
    if (done) return [collected, value]
    collected.push(value)
  }
}

test('a snapshot and then every change keep a copy', async () => {
  const { client, service } = await startClient(['A', 'B', 'C', 'D'])
  const snapshot = await client.occupations.snapshot()
  expect(snapshot).toMatchObject({ revision: 1, totalCount: 4 })
  const [records] = await collect(snapshot.records())
  expect(records.map(({ occupationCode }) => occupationCode)).toEqual(['A', 'B', 'C', 'D'])

  await service.import(
    ['A', 'C', 'D', 'E', 'F'].map((code) => record(code, 'New')),
    { replace: true },
  )
  const [changes, token] = await collect(client.occupations.allChanges({ since: snapshot.delta }))
  expect(changes.map(({ change, occupationCode }) => `${change} ${occupationCode}`)).toEqual([
    'updated A',
    'removed B',
    'updated C',
    'updated D',
    'created E',
    'created F',
  ])
  expect(changes[0]?.record).toMatchObject(record('A', 'New'))
  expect(await collect(client.occupations.allChanges({ since: token }))).toEqual([[], token])
  expect((await client.occupations.changes({ since: 'latest' })).delta).toBe(token)
  expect((await client.occupations.changes({ since: snapshot.delta, limit: 1 })).changes).toHaveLength(1)
})

test('a 200 that is not a page of changes is an error, not a catalogue without changes', async () => {
  const good = { changes: [], totalCount: 0, resultsCount: 0, revision: 1, delta: 'd' }
  const removal = { change: 'removed', occupationCode: 'A' }
  const ask = (body: unknown, headers: Record<string, string> = { etag: 'W/"c1-x"' }) =>
    createClient({
      baseUrl: 'http://service.example',
      fetch: async () => Response.json(body, { headers }),
    }).occupations.changes()
  expect(await ask(good)).toEqual(good)
  for (const bad of [
    [],
    { ...good, changes: undefined, resultsCount: undefined },
    { ...good, totalCount: -1 },
    { ...good, revision: undefined },
    { ...good, resultsCount: 1 },
    { ...good, delta: undefined },
    { ...good, next: 'n' },
    { ...good, changes: [{ ...removal, record: {} }], resultsCount: 1 },
    { ...good, changes: [{ change: 'updated', occupationCode: 'A' }], resultsCount: 1 },
  ])
    await expect(ask(bad), JSON.stringify(bad)).rejects.toMatchObject({ kind: 'unreadable' })
  await expect(ask(good, {})).rejects.toMatchObject({ kind: 'unreadable' })
})

test('a snapshot is sent again only if the catalogue is another one', async () => {
  const { client, service } = await startClient(['A'])
  const { etag } = await client.occupations.snapshot()
  await expect(client.occupations.snapshot({ ifNoneMatch: etag })).rejects.toMatchObject({ status: 304 })
  await service.import([{ occupationCode: 'Z', titleEnglish: 'New' }])
  expect(await client.occupations.snapshot({ ifNoneMatch: etag })).toMatchObject({ revision: 2 })
})

test('a snapshot that breaks off is an error', async () => {
  const { client, front } = await startClient(Array.from({ length: 3000 }, (_, number) => `O${number}`))
  await client.occupations.snapshot().then(({ records }) => collect(records()))
  front.meet('cut')
  const cut = await client.occupations.snapshot()
  const failure: unknown = await collect(cut.records()).catch((error: unknown) => error)
  expect(failure).toBeInstanceOf(MahiError)
  expect(failure).toMatchObject({ kind: 'network' })
})
