import { expect, test } from 'vitest'
import { createClient, type ReadAllOptions } from '../client/src/index.ts'
import { Front } from '../client/test/front.ts'
import { DEADLINE } from './support/command.ts'
import { Service } from './support/service.ts'

const entries = (run: string, count: number) =>
  Array.from({ length: count }, (_, index) => ({ localId: `${run}${index + 1}`, errorType: 'Error' }))

async function startClient(count: number) {
  const service = await Service.start()
  const { submissionToken } = await service.publish(entries('a', count))
  const front = await Front.start(service)
  const client = createClient({
    baseUrl: front.baseUrl,
    apiKey: service.key,
    eid: '1001',
    deadline: DEADLINE,
  })
  return { service, front, client, token: submissionToken }
}

/** Reads every entry, and publishes another run when `after` entries have come. */
async function readWhileReplaced(
  { service, client, token }: Awaited<ReturnType<typeof startClient>>,
  { after, count, ...options }: ReadAllOptions & { after: number; count: number },
): Promise<(string | undefined)[]> {
  const seen: (string | undefined)[] = []
  for await (const { localId } of client.validationResults.all(token, { pageSize: 2, ...options })) {
    seen.push(localId)
    if (seen.length === after && localId?.startsWith('a')) {
      await service.publish(entries('b', count), { token })
    }
  }
  return seen
}

test('page returns one page unchanged', async () => {
  const { client, token } = await startClient(3)

  expect(await client.validationResults.page(token, { page: 2, pageSize: 2 })).toEqual({
    page: 2,
    pageSize: 2,
    totalCount: 3,
    results: [{ localId: 'a3', errorType: 'Error' }],
  })
  expect((await client.validationResults.page(token)).results).toHaveLength(3)
})

test('all reads every entry once, in order, whatever the size of a page', async () => {
  const empty = await startClient(0)
  expect(await Array.fromAsync(empty.client.validationResults.all(empty.token))).toEqual([])
  expect(empty.front.received).toHaveLength(1)
  const { client, token } = await startClient(7)

  for (const pageSize of [1, 2, 3, 7, 8, undefined]) {
    const seen: (string | undefined)[] = []
    for await (const { localId } of client.validationResults.all(token, { pageSize })) seen.push(localId)
    expect(seen).toEqual(['a1', 'a2', 'a3', 'a4', 'a5', 'a6', 'a7'])
  }
})

test('export reads every entry with where it is, in one response', async () => {
  const { service, front, client, token } = await startClient(0)
  const findings = Array.from({ length: 120 }, (_, index) => ({
    localId: `a${index}`,
    file: 'people.csv',
    line: index + 2,
    field: 'age',
    value: 'ten',
    findingKey: `k${index}`,
    cause: 'column:people.age:type',
  }))
  await service.publish(findings, { token })
  const before = front.received.length
  const whole = await client.validationResults.export(token)
  expect(await Array.fromAsync(whole ?? [])).toEqual(findings)
  expect(front.received.length - before).toBe(1)
  await expect(client.validationResults.export('..')).rejects.toThrow('is not a valid token, code or name')
})

test('a service that has pages only has no export', async () => {
  const page = { page: 1, pageSize: 100, results: [{ localId: 'a' }], totalCount: 1 }
  const client = createClient({
    baseUrl: 'http://service.invalid',
    fetch: async () => Response.json(page, { headers: { etag: '"r1-1"' } }),
  })
  expect(await client.validationResults.export('token')).toBeUndefined()
  expect(await Array.fromAsync(client.validationResults.all('token'))).toEqual(page.results)
})

test.each([
  ['a line is missing', '{"localId":"a"}\n', '2'],
  ['a line is incomplete', '{"localId":"a"}\n{"loc', '2'],
  ['a line is not an entry', '[]\n{}\n', '2'],
])('an export of which %s is an error', async (_, body, count) => {
  const headers = { 'content-type': 'application/x-ndjson; charset=utf-8', 'total-count': count }
  const client = createClient({
    baseUrl: 'http://service.invalid',
    fetch: async () => new Response(body, { headers }),
  })
  const whole = await client.validationResults.export('token')
  await expect(Array.fromAsync(whole ?? [])).rejects.toMatchObject({ kind: 'unreadable' })
})

test('the size of the first page is that of every page, even where it was the service that chose it', async () => {
  const { client, token, front } = await startClient(101)
  let count = 0
  for await (const _ of client.validationResults.all(token)) count++
  expect(count).toBe(101)
  expect(front.received[1]?.url).toMatch(/\?page=2&pageSize=100$/)
})

test.for([
  { what: 'as long', count: 5 },
  { what: 'longer', count: 9 },
  { what: 'shorter, so that the next page does not exist', count: 1 },
  { what: 'empty', count: 0 },
])('a run replaced by one that is $what fails the reading, unless it may start over', async ({ count }) => {
  const failing = await startClient(5)
  await expect(readWhileReplaced(failing, { after: 2, count })).rejects.toMatchObject({
    name: 'MahiError',
    kind: 'new-run',
    submissionToken: failing.token,
  })

  const restarting = await startClient(5)
  let restarts = 0
  const seen = await readWhileReplaced(restarting, {
    after: 2,
    count,
    onNewRun: async () => {
      restarts++
    },
  })
  expect(restarts).toBe(1)
  expect(seen).toEqual([...entries('a', 2), ...entries('b', count)].map(({ localId }) => localId))
})

test('an error from onNewRun, synchronous or not, ends the iteration', async () => {
  const throwing = () => {
    throw new RangeError('enough')
  }
  for (const onNewRun of [throwing, async () => throwing()]) {
    const started = await startClient(5)
    await expect(readWhileReplaced(started, { after: 2, count: 5, onNewRun })).rejects.toThrow(RangeError)
  }
})

test('the new run is not read before onNewRun has finished', async () => {
  const started = await startClient(5)
  let requests: number[] = []
  const onNewRun = async () => {
    requests = [started.front.received.length]
    await fetch(`${started.front.baseUrl}/livez`)
    requests.push(started.front.received.length)
  }
  await readWhileReplaced(started, { after: 2, count: 5, onNewRun })
  expect(requests).toEqual([2, 3])
})

test('a run replaced after its last page was read is complete', async () => {
  const started = await startClient(4)
  expect(await readWhileReplaced(started, { after: 3, count: 9 })).toEqual(['a1', 'a2', 'a3', 'a4'])
})

test('a second reading notices a new run by its pages, though it knows those of the old run', async () => {
  const started = await startClient(5)
  expect(await readWhileReplaced(started, { after: 5, count: 5 })).toHaveLength(5)
  const seen: (string | undefined)[] = []
  for await (const { localId } of started.client.validationResults.all(started.token, { pageSize: 2 }))
    seen.push(localId)
  expect(seen).toEqual(['b1', 'b2', 'b3', 'b4', 'b5'])
})

test('without ETags, which something between may strip, several pages are not read as if they were one run', async () => {
  const { front, token, service } = await startClient(3)
  const client = createClient({
    baseUrl: front.baseUrl,
    apiKey: service.key,
    eid: '1001',
    fetch: async (url, init) => {
      const response = await fetch(url, init)
      const headers = new Headers(response.headers)
      headers.delete('etag')
      headers.delete('content-encoding')
      return new Response(await response.text(), { status: response.status, headers })
    },
  })
  const read = async (pageSize: number) => {
    for await (const _ of client.validationResults.all(token, { pageSize }));
  }
  await read(3)
  await expect(read(2)).rejects.toMatchObject({ kind: 'unreadable' })
})

test('the problem of wrong pagination is the error, field by field', async () => {
  const { client, token } = await startClient(3)

  const failure: unknown = await client.validationResults
    .page(token, { page: 9, pageSize: 2 })
    .catch((error: unknown) => error)
  expect(failure).toMatchObject({
    kind: 'problem',
    status: 400,
    errorCode: 'PR2',
    returnId: 'R1',
    submissionToken: token,
    content: { page: '9', pageSize: '2' },
    errors: { page: [expect.stringContaining('past the last page')] },
    instance: expect.stringMatching(/^urn:uuid:/),
    message: expect.stringContaining('past the last page'),
  })
})

test('a token is one segment of the URL, whatever its characters, and an unauthorised request is a problem', async () => {
  const { client, front, service, token } = await startClient(3)

  await expect(client.validationResults.page('a/b?c#d%')).rejects.toMatchObject({
    status: 401,
    type: '/problems/unauthorized',
  })
  expect(front.received[0]?.url).toBe('/v1/submissions/a%2Fb%3Fc%23d%25/validation-results')

  const withoutEid = createClient({ baseUrl: front.baseUrl, apiKey: service.key })
  await expect(withoutEid.validationResults.page(token)).rejects.toMatchObject({
    status: 401,
    message:
      'The request is not authorised: Send the header EID with the identifier of the organisation. This key covers organisation 1001.',
  })
  await expect(async () => {
    for await (const _ of withoutEid.validationResults.all(token));
  }).rejects.toMatchObject({ status: 401 })
})

test('the EID header is sent only to operations that require it', async () => {
  const { client, front, token } = await startClient(1)
  await client.occupations.list()
  await client.validationResults.page(token)
  expect(front.received.map(({ headers }) => headers.eid)).toEqual([undefined, '1001'])
})
