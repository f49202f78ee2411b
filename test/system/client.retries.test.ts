import fc from 'fast-check'
import { expect, onTestFinished, test, vi } from 'vitest'
import { createClient, MahiError } from '../../client/src/index.ts'
import { choosePause, readRetryAfter } from '../../client/src/retry.ts'
import { Front } from '../../client/test/front.ts'
import { DEADLINE } from '../support/command.ts'
import { cases } from '../support/properties.ts'
import { Service } from '../support/service.ts'

async function startClient(options: { deadline?: number } = {}) {
  const service = await Service.start()
  await service.import(['A', 'B', 'C'].map((occupationCode) => ({ occupationCode })))
  const front = await Front.start(service)
  return {
    service,
    front,
    client: createClient({ baseUrl: front.baseUrl, apiKey: service.key, deadline: DEADLINE, ...options }),
  }
}

const catchFailure = (promise: Promise<unknown>) =>
  promise.then(
    () => expect.unreachable('the call succeeded'),
    (error: unknown) => error,
  )

test('a 429 is retried when its Retry-After is over, and not before', async () => {
  const { client, front } = await startClient()
  let open: number | undefined
  front.befall = () => {
    const now = Date.now()
    // Timers may be a millisecond early.
    open ??= now + 990
    return now < open ? { status: 429, headers: { 'retry-after': '1' } } : undefined
  }
  expect((await client.occupations.list()).totalCount).toBe(3)
  expect(front.statuses).toEqual([429, 200])
})

test('a 503 or 429 without Retry-After, or with one that has passed, and a broken connection are retried too', async () => {
  const { client, front } = await startClient()
  front.meet('reset', { status: 503 }, { status: 429, headers: { 'retry-after': '0' } }, 'cut', {
    status: 503,
    headers: { 'retry-after': 'Wed, 21 Oct 2015 07:28:00 GMT' },
  })
  expect((await client.occupations.list()).totalCount).toBe(3)
  expect(front.received).toHaveLength(6)
})

test('other errors are not retried', async () => {
  const { client, front } = await startClient()
  for (const status of [400, 401, 404, 500, 502]) {
    front.meet({ status, body: '<html>' })
    expect(await catchFailure(client.occupations.list())).toMatchObject({
      kind: 'problem',
      status,
      message: `HTTP ${status}`,
    })
  }
  front.meet({ status: 200, body: '<html>Sign in to the network</html>' })
  expect(await catchFailure(client.occupations.list())).toMatchObject({ kind: 'unreadable', status: 200 })
  expect(front.received).toHaveLength(6)
})

test('a conflict with Retry-After is retried only after a lost connection of the same call', async () => {
  const { client, front } = await startClient()
  const conflict = { status: 409, headers: { 'retry-after': '1' } }
  const put = () => client.submissions.putFile('token', 'learners', 'localId')
  front.meet(conflict)
  expect(await catchFailure(put())).toMatchObject({ kind: 'problem', status: 409 })
  front.meet('reset', conflict, { status: 200, body: '{"records":1}' })
  expect(await put()).toEqual({ records: 1 })
  expect(front.statuses.slice(-2)).toEqual([409, 200])
})

test('a Retry-After beyond the deadline is not waited for: the problem is the error at once', async () => {
  const { client, front } = await startClient({ deadline: 1_000_000 })
  const body = JSON.stringify({
    type: '/problems/too-many-requests',
    title: 'Too many requests',
    status: 429,
  })
  front.meet({ status: 429, headers: { 'retry-after': '1001' }, body })

  const failure = await catchFailure(client.occupations.list())
  expect(failure).toBeInstanceOf(MahiError)
  expect(failure).toMatchObject({
    name: 'MahiError',
    message: 'Too many requests',
    kind: 'problem',
    type: '/problems/too-many-requests',
    status: 429,
    retryAfter: 1001,
  })
  expect(front.received).toHaveLength(1)
})

test('without a response, the deadline ends the call with the last error', async () => {
  const { client, front } = await startClient()
  let count = 0
  /** Calls with longer deadlines until one attempt has been reset: a slow machine may need a minute for it. */
  const failAfterReset = async (next: 'reset' | 'hang', isSo: (failure: unknown) => boolean) => {
    for (let deadline = 2_000; ; deadline *= 2) {
      count = 0
      front.befall = () => (count++ === 0 ? 'reset' : next)
      const failure = await catchFailure(client.occupations.list({}, { deadline }))
      if (isSo(failure) || deadline > 100_000) return failure
    }
  }
  expect(
    await failAfterReset('reset', (failure) => failure instanceof MahiError && failure.kind === 'network'),
  ).toMatchObject({
    kind: 'network',
    cause: expect.any(TypeError),
  })

  for (const fault of ['hang', 'stall'] as const) {
    front.befall = () => fault
    const failure = await catchFailure(client.occupations.list({}, { deadline: 50 }))
    expect(failure).toMatchObject({ kind: 'deadline', message: 'There was no response within 50 ms' })
  }

  // An attempt of the calls before can arrive only now, and be the one that is reset.
  const isOfTwo = (failure: unknown) =>
    count === 2 && failure instanceof MahiError && failure.cause !== undefined
  expect(await failAfterReset('hang', isOfTwo)).toMatchObject({
    kind: 'deadline',
    cause: { kind: 'network', cause: expect.any(TypeError) },
  })
})

test('no deadline is too long for a timer, and no pause', async () => {
  const { client, front } = await startClient({ deadline: Number.POSITIVE_INFINITY })
  expect((await client.occupations.list()).totalCount).toBe(3)
  front.meet({ status: 503, headers: { 'retry-after': '3000000' } })
  expect(await catchFailure(client.occupations.list())).toMatchObject({ status: 503, retryAfter: 3_000_000 })
  expect(front.received).toHaveLength(2)
})

test('further members of a problem body do not hide the properties of the error', async () => {
  const { client, front } = await startClient()
  const body =
    '{"title":"Odd","stack":"x","name":"x","message":"x","kind":"x","status":1,"__proto__":{"a":1}}'
  front.meet({ status: 400, body })
  const failure = await catchFailure(client.occupations.list())
  expect(failure).toBeInstanceOf(MahiError)
  expect(failure).toMatchObject({ name: 'MahiError', message: 'Odd', kind: 'problem', status: 400 })
  expect((failure as MahiError).stack).toContain('MahiError: Odd')
  expect(failure).not.toHaveProperty('a')
})

test('pauses double up to eight seconds, and between half and all of that is a matter of chance', () => {
  fc.assert(
    fc.property(fc.nat(60), (attempt) => {
      const full = Math.min(8_000, 250 * 2 ** attempt)
      const pause = choosePause(attempt)
      expect(pause).toBeGreaterThanOrEqual(full / 2)
      expect(pause).toBeLessThanOrEqual(full)
    }),
    cases(100),
  )
  expect(new Set(Array.from({ length: 20 }, () => choosePause(0))).size).toBeGreaterThan(1)
})

test("Retry-After is in seconds, or a date by the server's clock", () => {
  const read = (headers: Record<string, string>) => readRetryAfter(new Headers(headers))
  const date = 'Wed, 21 Oct 2015 07:28:00 GMT'
  expect(read({ 'retry-after': '120' })).toBe(120)
  expect(read({ 'retry-after': '0' })).toBe(0)
  expect(read({ 'retry-after': 'Wed, 21 Oct 2015 07:28:30 GMT', date })).toBe(30)
  expect(read({ 'retry-after': date })).toBe(0)
  for (const value of ['', 'soon', '-1', '1.5', '1e3']) expect(read({ 'retry-after': value }) ?? 0).toBe(0)
  expect(read({})).toBeUndefined()
})

test('waiting for a run survives two waits that are cut off late, as in a rolling restart', async () => {
  vi.useFakeTimers()
  onTestFinished(() => void vi.useRealTimers())
  let asked = 0
  const client = createClient({
    baseUrl: 'http://replica',
    apiKey: 'key',
    eid: '1001',
    fetch: async () => {
      const last = ++asked === 3
      await new Promise((resolve) => setTimeout(resolve, 29_000))
      if (!last) throw new TypeError('fetch failed', { cause: new Error('other side closed') })
      return Response.json({ runId: 1, status: 'Processed', dateCompleted: '2026-11-22T00:00:00.000Z' })
    },
  })
  const run = client.submissions.waitForRun('token', 1)
  run.catch(() => undefined)
  await vi.advanceTimersByTimeAsync(119_000)
  expect(await run).toMatchObject({ status: 'Processed' })
  expect(asked).toBe(3)
})

test('who follows the progress of a run waits for two seconds at a time', async () => {
  const waits: (string | null)[] = []
  const states = [
    { runId: 1, status: 'Queued' },
    { runId: 1, status: 'Processed', dateCompleted: '2026-11-22T00:00:00.000Z' },
  ]
  const client = createClient({
    baseUrl: 'http://service',
    apiKey: 'key',
    eid: '1001',
    fetch: async (_url, init) => {
      waits.push(new Headers(init?.headers).get('prefer'))
      return Response.json(states[waits.length - 1])
    },
  })
  const seen: unknown[] = []
  await client.submissions.waitForRun('token', 1, { onProgress: ({ status }) => seen.push(status) })
  expect(seen).toEqual(['Queued', 'Processed'])
  expect(waits).toEqual(['wait=2', 'wait=2'])
})
