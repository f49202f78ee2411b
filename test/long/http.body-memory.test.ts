import { once } from 'node:events'
import { Worker } from 'node:worker_threads'
import { expect, test, vi } from 'vitest'
import { Connection } from '../support/connection.ts'
import { Service } from '../support/service.ts'

const MB = 2 ** 20

const OPTIONS = { OCCUPATIONS_ACCESS: 'public', RATE_LIMIT_CODINGS: 'off', CONSOLE: 'on' }
const HOST = 'Host: localhost\r\n'
/** A megabyte, in items that are each small enough. */
const LARGE = `{"items":[${Array.from({ length: 8 }, () => `{"title":"nurse"}${' '.repeat(MB / 8)}`)}]}`
const PARTS = [
  [
    'JSON bodies',
    2 * MB,
    `POST /v1/codings HTTP/1.1\r\n${HOST}Content-Type: application/json\r\nContent-Length: ${2 * MB}\r\n\r\n`,
  ],
  [
    'forms',
    1_000_000,
    `POST /console/sign-in HTTP/1.1\r\n${HOST}Origin: http://localhost\r\nContent-Type: application/x-www-form-urlencoded\r\nContent-Length: 1000000\r\n\r\n`,
  ],
] as const

test.each(PARTS)(
  '%s that stall have a limit together, and leave room for small ones',
  async (_, size, head) => {
    const service = await Service.start(OPTIONS)
    await service.import([{ occupationCode: 'A', titleEnglish: 'Nurse' }])
    await service.index()
    const most = Math.floor((48 * MB) / size) + 2
    const stalled: Connection[] = []
    for (let index = 0; index < most; index++) {
      const connection = await Connection.open(service)
      stalled.push(connection.send(head).send(Buffer.alloc(size - 10, ' ')))
    }
    const { status, headers, body } = await Promise.any(stalled.map((each) => each.read()))
    expect(status).toBe(503)
    expect(headers).toMatchObject({ 'retry-after': '1', connection: 'close' })
    expect(body).toContain('Too many large bodies')
    // One that is as small as usual is still read.
    const payload = { items: [{ title: 'nurse' }] }
    const small = await service.request({ method: 'POST', url: '/v1/codings', payload })
    expect(small.statusCode).toBe(200)

    // The slowest make room for others, which would have none.
    const clock = vi.spyOn(performance, 'now').mockReturnValue(performance.now() + 6_000)
    const headersOf = { 'content-type': 'application/json' }
    const fresh = await service.request({
      method: 'POST',
      url: '/v1/codings',
      payload: LARGE,
      headers: headersOf,
    })
    clock.mockRestore()
    expect(fresh.statusCode).toBe(200)
  },
)

test('a body has its memory until the response, and not longer', async () => {
  const service = await Service.start(OPTIONS)
  await service.import([{ occupationCode: 'A', titleEnglish: 'Nurse' }])
  await service.index()
  const headers = { 'content-type': 'application/json' }
  const payload = LARGE
  for (let index = 0; index < 60; index++) {
    const { statusCode } = await service.request({ method: 'POST', url: '/v1/codings', payload, headers })
    expect(statusCode).toBe(200)
  }
  for (let index = 0; index < 60; index++) {
    const broken = await service.request({
      method: 'POST',
      url: '/v1/codings',
      payload: payload.slice(0, -1),
      headers,
    })
    expect(broken.statusCode).toBe(400)
  }
})

test('a body with more values than any sensible one is refused before it is parsed', async () => {
  const service = await Service.start(OPTIONS)
  const headers = { 'content-type': 'application/json' }
  const send = async (payload: string) =>
    await service.request({ method: 'POST', url: '/v1/codings', payload, headers })
  for (const many of [
    `{"items":[${'{},'.repeat(260_000)}{}]}`,
    '['.repeat(260_000),
    `[${'1,'.repeat(260_000)}1]`,
  ]) {
    const { statusCode, body } = await send(many)
    expect([statusCode, JSON.parse(body).detail]).toEqual([413, expect.stringContaining('250,000 values')])
  }
  // What is inside of texts does not count.
  const title = `\\"${',[{"'.repeat(40_000)}`
  const text = await send(JSON.stringify({ items: [{ title }, { title }, { title }] }))
  expect(text.statusCode).toBe(400)
})

test('counting the values of a body needs little memory, however many they are', async () => {
  // Without limits of its own, the thread would have those of this process.
  const resourceLimits = { maxOldGenerationSizeMb: 48, maxYoungGenerationSizeMb: 8 }
  const worker = new Worker(new URL('support/parse-in-worker.ts', import.meta.url), {
    workerData: '{"items":[',
    resourceLimits,
    execArgv: [],
  })
  const [message] = await once(worker, 'message')
  await worker.terminate()
  expect(message).toContain('has more than 250,000 values')
})

test('a form with more fields than any page has is refused', async () => {
  const service = await Service.start(OPTIONS)
  const headers = { 'content-type': 'application/x-www-form-urlencoded', origin: 'http://localhost' }
  const { statusCode, body } = await service.app.inject({
    method: 'POST',
    url: '/console/sign-in',
    payload: 'kept-a=&'.repeat(10_001),
    headers: { ...headers, host: 'localhost' },
  })
  expect(statusCode).toBe(413)
  expect(body).toContain('more than 10,000 fields')
})

test('a client that leaves in the middle of a body leaves none of its memory behind', async () => {
  const service = await Service.start(OPTIONS)
  await service.import([{ occupationCode: 'A', titleEnglish: 'Nurse' }])
  await service.index()
  const [, size, head] = PARTS[0]
  for (let index = 0; index < 30; index++) {
    const connection = await Connection.open(service)
    connection
      .send(head)
      .send(Buffer.alloc(size - 10, ' '))
      .end()
    await connection.readToEnd()
  }
  const payload = LARGE
  const headers = { 'content-type': 'application/json' }
  expect((await service.request({ method: 'POST', url: '/v1/codings', payload, headers })).statusCode).toBe(
    200,
  )
})
