import { expect, onTestFinished, test, vi } from 'vitest'
import { type CallOptions, type Client, createClient } from '../client/src/index.ts'
import { type Fault, Front } from '../client/test/front.ts'
import { Service } from './support/service.ts'

async function startClient() {
  const service = await Service.start()
  await service.import(['A', 'B', 'C'].map((occupationCode) => ({ occupationCode })))
  const { submissionToken } = await service.publish(['a', 'b', 'c'].map((localId) => ({ localId })))
  const front = await Front.start(service)
  const arrived: number[] = []
  const client = createClient({
    baseUrl: front.baseUrl,
    apiKey: service.key,
    eid: '1001',
    deadline: 1_000_000,
    fetch: async (url, init) => {
      const response = await fetch(url, init)
      arrived.push(response.status)
      return response
    },
  })
  return { front, client, token: submissionToken, arrived }
}

const reason = new RangeError('the reader has left')

const CALLS: Record<string, (client: Client, token: string, options: CallOptions) => Promise<unknown>> = {
  'occupations.list': (client, _, options) => client.occupations.list({}, options),
  'occupations.pages': (client, _, options) => client.occupations.pages({}, options).next(),
  'occupations.all': (client, _, options) => client.occupations.all({}, options).next(),
  'validationResults.page': (client, token, options) => client.validationResults.page(token, {}, options),
  'validationResults.all': (client, token, options) => client.validationResults.all(token, options).next(),
}

const PHASES: Record<string, Fault> = {
  'while it waits for the answer': 'hang',
  'in the middle of the body': 'stall',
  'in a pause': { status: 503, headers: { 'retry-after': '900' } },
}

test.for(Object.entries(CALLS))(
  "%s ends with the signal's reason, and sends nothing more",
  async ([, call]) => {
    const { client, front, token, arrived } = await startClient()
    const aborted = { signal: AbortSignal.abort(reason) }
    await expect(call(client, token, aborted), 'before it starts').rejects.toBe(reason)
    expect(front.received).toEqual([])

    for (const [phase, fault] of Object.entries(PHASES)) {
      const controller = new AbortController()
      front.meet(fault)
      front.received.length = 0
      arrived.length = 0
      const ended = expect(call(client, token, { signal: controller.signal }), phase).rejects.toBe(reason)
      await expect.poll(() => (fault === 'hang' ? front.received : arrived).length).toBe(1)
      controller.abort(reason)
      await ended
      expect(front.received, phase).toHaveLength(1)
    }
  },
)

const STREAMS: Record<
  string,
  (client: Client, token: string, options: CallOptions) => Promise<AsyncGenerator<unknown> | undefined>
> = {
  'the lines of a snapshot': async ({ occupations }, _, options) =>
    (await occupations.snapshot(options)).lines(),
  'the records of a snapshot': async ({ occupations }, _, options) =>
    (await occupations.snapshot(options)).records(),
  'an export of findings': ({ validationResults }, token, options) =>
    validationResults.export(token, options),
}

test.for(Object.entries(STREAMS))(
  'the signal ends %s with its reason, whatever has arrived',
  async ([, open]) => {
    const { client, front, token } = await startClient()
    const controller = new AbortController()
    const items = await open(client, token, { signal: controller.signal })
    await items?.next()
    controller.abort(reason)
    await expect(items?.next()).rejects.toBe(reason)

    const second = new AbortController()
    front.meet('stall')
    const stalled = await open(client, token, { signal: second.signal })
    const reading = expect(Array.fromAsync(stalled ?? [])).rejects.toBe(reason)
    second.abort(reason)
    await reading
  },
)

test('an abort while the token is being asked for ends the call', async () => {
  const { front } = await startClient()
  const controller = new AbortController()
  const client = createClient({
    baseUrl: front.baseUrl,
    token: () => {
      controller.abort(reason)
      return new Promise<string>(() => undefined)
    },
  })
  await expect(client.occupations.list({}, { signal: controller.signal })).rejects.toBe(reason)
  expect(front.received).toEqual([])
})

test('an iterator stops at the next item, though its page has more', async () => {
  const { client, token, front } = await startClient()
  for (const read of [
    (signal: AbortSignal) => client.occupations.all({}, { signal }),
    (signal: AbortSignal) => client.validationResults.all(token, { signal }),
  ]) {
    const controller = new AbortController()
    let count = 0
    await expect(async () => {
      for await (const _ of read(controller.signal)) {
        count++
        controller.abort(reason)
      }
    }).rejects.toBe(reason)
    expect(count).toBe(1)
  }
  expect(front.received).toHaveLength(2)
})

test('a signal that outlives a call knows nothing of it', async () => {
  const { client } = await startClient()
  const controller = new AbortController()
  await client.occupations.list({}, { signal: controller.signal })
  const abort = vi.spyOn(AbortController.prototype, 'abort')
  onTestFinished(() => abort.mockRestore())
  controller.abort(reason)
  // The reader's own, and none that the call had made.
  expect(abort.mock.contexts).toEqual([controller])
})

test('a signal that aborts ends every call it serves, and no other', async () => {
  const { client, front } = await startClient()
  const controller = new AbortController()
  await client.occupations.list({}, { signal: controller.signal })
  front.befall = ({ url }) => (url.endsWith('=3') ? undefined : 'hang')
  const ended = [1, 2].map((limit) =>
    expect(client.occupations.list({ limit }, { signal: controller.signal })).rejects.toBe(reason),
  )
  await expect.poll(() => front.received.length).toBe(3)
  controller.abort(reason)
  await Promise.all(ended)
  expect((await client.occupations.list({ limit: 3 })).totalCount).toBe(3)
})

test('leaving an iterator early sends no further request', async () => {
  const { client, front } = await startClient()
  for await (const _ of client.occupations.all({ limit: 1 })) break
  expect(front.received).toHaveLength(1)
})
