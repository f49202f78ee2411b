import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { createKey } from '../src/api/access/keys.ts'
import { Issuer } from './support/jwks.ts'
import { Service } from './support/service.ts'

const RESULTS = '/v1/submissions/submission-0001/validation-results'

// Windows end when a test says so.
beforeEach(() => {
  vi.useFakeTimers({ toFake: ['Date'] })
})
afterEach(() => {
  vi.useRealTimers()
})

const pass = (seconds: number) => vi.advanceTimersByTime(seconds * 1000)

type Response = Awaited<ReturnType<Service['get']>>

/** What the fields of the IETF draft say. */
function readFields({ headers }: Response) {
  const [, policy, q, w] = /^"([a-z-]+)";q=(\d+);w=(\d+)$/.exec(String(headers['ratelimit-policy'])) ?? []
  const [, name, r, t] = /^"([a-z-]+)";r=(\d+);t=(\d+)$/.exec(String(headers.ratelimit)) ?? []
  return { policy, q: Number(q), w: Number(w), name, r: Number(r), t: Number(t) }
}

function assertTooMany(response: Response, seconds: number): void {
  expect(response.statusCode).toBe(429)
  expect(response.headers['content-type']).toBe('application/problem+json; charset=utf-8')
  expect(response.json()).toMatchObject({
    type: '/problems/too-many-requests',
    status: 429,
    instance: `urn:uuid:${response.headers['x-request-id']}`,
  })
  const wait = String(response.headers['retry-after'])
  expect(wait).toMatch(/^[1-9]\d*$/)
  expect(Number(wait)).toBeLessThanOrEqual(seconds)
  expect(response.json().detail).toContain(`${wait} s`)
  expect(readFields(response)).toMatchObject({ r: 0, t: Number(wait) })
}

async function statuses(count: number, ask: () => Promise<Response>): Promise<number[]> {
  const seen: number[] = []
  for (let index = 0; index < count; index++) seen.push((await ask()).statusCode)
  return seen
}

describe('a credential has a request limit for each operation', () => {
  test('and sees how many are left, and when to retry', async () => {
    const service = await Service.start({ RATE_LIMIT_RESULTS: '3/60' })
    await service.publish([], { token: 'submission-0001' })
    const ask = async () => await service.get(RESULTS, { eid: '1001' })

    for (const left of [2, 1, 0]) {
      const response = await ask()
      expect(response.statusCode).toBe(200)
      expect(readFields(response)).toMatchObject({
        policy: 'validation-results',
        q: 3,
        w: 60,
        name: 'validation-results',
        r: left,
        t: 60,
      })
      expect(response.headers).not.toHaveProperty('retry-after')
    }
    assertTooMany(await ask(), 60)
    assertTooMany(await ask(), 60)
  })

  test('that another credential and another operation do not use up', async () => {
    const service = await Service.start({ RATE_LIMIT_RESULTS: '2/60', RATE_LIMIT_OCCUPATIONS: '2/60' })
    await service.publish([], { token: 'submission-0001' })
    const { key } = await service.createKey({ client: 'tests', eids: ['1001'] })
    const ask = async (url: string, by: string) => await service.get(url, { 'x-api-key': by, eid: '1001' })

    expect(await statuses(3, () => ask(RESULTS, service.key))).toEqual([200, 200, 429])
    expect(await statuses(3, () => ask('/v1/occupations', service.key))).toEqual([200, 200, 429])
    expect(await statuses(3, () => ask(RESULTS, key))).toEqual([200, 200, 429])
  })

  test('wherever it calls from and however it names itself', async () => {
    const service = await Service.start({ RATE_LIMIT_OCCUPATIONS: '2/60' })
    const ask = async (headers: Record<string, string>, remoteAddress: string) =>
      (await service.request({ url: '/occupations', headers, remoteAddress })).statusCode
    expect(await ask({ 'x-api-key': service.key }, '10.0.0.1')).toBe(200)
    expect(await ask({ authorization: `bearer ${service.key}` }, '10.0.0.2')).toBe(200)
    expect(await ask({ 'x-api-key': service.key, 'x-client-id': 'tests' }, '10.0.0.3')).toBe(429)
  })

  test('whatever the response', async () => {
    const service = await Service.start({ RATE_LIMIT_RESULTS: '5/60' })
    await service.publish([], { token: 'submission-0001' })
    const ask = async (query = '', headers = {}) =>
      await service.get(RESULTS + query, { eid: '1001', ...headers })

    const { etag } = (await ask()).headers
    const answers = [
      await ask('', { 'if-none-match': String(etag) }),
      await ask('?page=0'),
      await ask('', { eid: '1001', 'x-api-version': '1.0' }),
      await ask('', { accept: 'text/html' }),
      await ask(),
    ]
    expect(answers.map(({ statusCode }) => statusCode)).toEqual([304, 400, 200, 406, 429])
    expect(answers.map((answer) => readFields(answer).r)).toEqual([3, 2, 1, 0, 0])
    const head = await service.request({
      method: 'HEAD',
      url: RESULTS,
      headers: { 'x-api-key': service.key, eid: '1001' },
    })
    expect(head.statusCode).toBe(429)
  })

  test('and has them again when the window is over, and not before', async () => {
    const service = await Service.start({ RATE_LIMIT_OCCUPATIONS: '2/30' })
    const ask = async () => await service.get('/v1/occupations')
    expect(await statuses(2, ask)).toEqual([200, 200])
    pass(29.5)
    const refused = await ask()
    assertTooMany(refused, 30)
    expect(refused.headers['retry-after']).toBe('1')
    pass(0.5)
    const again = await ask()
    expect([again.statusCode, readFields(again)]).toEqual([
      200,
      expect.objectContaining({ q: 2, w: 30, r: 1, t: 30 }),
    ])
  })
})

test('without a key a public catalogue is limited by address', async () => {
  const service = await Service.start({ OCCUPATIONS_ACCESS: 'public', RATE_LIMIT_OCCUPATIONS: '2/60' })
  const from = (remoteAddress: string) => async () =>
    await service.request({ url: '/v1/occupations', remoteAddress })
  expect(await statuses(3, from('10.0.0.1'))).toEqual([200, 200, 429])
  expect(await statuses(3, from('10.0.0.2'))).toEqual([200, 200, 429])
  expect((await service.get('/v1/occupations')).statusCode).toBe(200)
})

describe('an address has a limit of failed credentials', () => {
  const wrong =
    (service: Service, remoteAddress: string, headers: Record<string, string> = {}) =>
    async () =>
      await service.request({
        url: '/v1/occupations',
        remoteAddress,
        headers: { 'x-api-key': 'wrong', ...headers },
      })

  test('and sees how many are left, and when to retry; valid credentials are not affected', async () => {
    const service = await Service.start({ RATE_LIMIT_FAILED_CREDENTIALS: '2/60' })
    for (const left of [1, 0]) {
      const response = await wrong(service, '10.0.0.1')()
      expect(response.statusCode).toBe(401)
      expect(readFields(response)).toMatchObject({ policy: 'failed-credentials', q: 2, w: 60, r: left })
    }
    assertTooMany(await wrong(service, '10.0.0.1')(), 60)
    expect(await statuses(3, wrong(service, '10.0.0.2'))).toEqual([401, 401, 429])
    const headers = { 'x-api-key': service.key }
    const valid = await service.request({ url: '/v1/occupations', remoteAddress: '10.0.0.1', headers })
    expect(valid.statusCode).toBe(200)
  })

  test('for all operations together, also for missing credentials, but not for refusals of valid ones', async () => {
    const service = await Service.start({ RATE_LIMIT_FAILED_CREDENTIALS: '4/60' })
    const ask = async (url: string, headers: Record<string, string>) =>
      (await service.request({ url, headers, remoteAddress: '10.0.0.1' })).statusCode
    const own = { 'x-api-key': service.key, eid: '1001' }
    expect(await statuses(5, () => service.get(RESULTS, { eid: '1001' }))).toEqual(Array(5).fill(401))
    expect(await ask(RESULTS, own)).toBe(401)
    expect(await ask('/v1/occupations', {})).toBe(401)
    expect(await ask(RESULTS, { eid: '1001' })).toBe(401)
    expect(await ask(RESULTS, { authorization: 'Bearer wrong' })).toBe(401)
    expect(await ask('/occupations', { 'x-api-key': service.key, 'x-client-id': 'other' })).toBe(401)
    expect(await ask('/v1/occupations', { 'x-api-key': '' })).toBe(429)
  })

  test('where an IPv6 address counts as its /64 network', async () => {
    const service = await Service.start({ RATE_LIMIT_FAILED_CREDENTIALS: '2/60' })
    const [first, second] = ['2001:db8:0:1::1', '2001:db8:0:1:ffff:2:3:4']
    expect((await wrong(service, first ?? '')()).statusCode).toBe(401)
    expect((await wrong(service, second ?? '')()).statusCode).toBe(401)
    expect((await wrong(service, '2001:db8:0:1::5')()).statusCode).toBe(429)
    expect((await wrong(service, '2001:db8:0:2::1')()).statusCode).toBe(401)
    expect((await wrong(service, '::ffff:10.0.0.1')()).statusCode).toBe(401)
    expect((await wrong(service, '::ffff:10.0.0.2')()).statusCode).toBe(401)
  })

  test('beyond which no credential causes any work', async () => {
    const issuer = await Issuer.start()
    const authorization = `Bearer ${await issuer.sign(await issuer.addKey(), { aud: 'somebody else' })}`
    const service = await Service.start({ ...issuer.settings, RATE_LIMIT_FAILED_CREDENTIALS: '1/60' })
    const reads = vi.spyOn(service.database, 'get')
    const refreshes = vi.spyOn(service.revisions, 'refresh').mockResolvedValue(undefined)
    const ask = wrong(service, '10.0.0.1')
    expect(await statuses(100, ask)).toEqual([401, ...Array(99).fill(429)])
    expect(refreshes).toHaveBeenCalledTimes(1)
    expect(reads.mock.calls.filter(([sql]) => sql.includes('api_key'))).toEqual([])

    const forged = () =>
      service.request({ url: '/v1/occupations', remoteAddress: '10.0.0.2', headers: { authorization } })
    expect(await statuses(100, forged)).toEqual([401, ...Array(99).fill(429)])
    expect(service.log.filter((line) => line.includes('a JWT is not valid'))).toHaveLength(1)
  })

  test('which valid credentials do not use up, also those that are seen for the first time', async () => {
    const issuer = await Issuer.start()
    const signer = await issuer.addKey()
    const service = await Service.start({ ...issuer.settings, RATE_LIMIT_FAILED_CREDENTIALS: '1/60' })
    const ask = async (headers: Record<string, string>) =>
      (await service.request({ url: '/v1/occupations', headers })).statusCode
    for (let index = 0; index < 3; index++) {
      const { key } = await createKey(service.database, { client: 'new', expires: Date.now() + 60_000 })
      expect(await ask({ 'x-api-key': key })).toBe(200)
      const token = await issuer.sign(signer, { sub: `user ${index}`, scope: 'occupations:read' })
      expect(await ask({ authorization: `Bearer ${token}` })).toBe(200)
    }
    expect(await statuses(2, () => service.get('/v1/occupations', { 'x-api-key': 'wrong' }))).toEqual([
      401, 429,
    ])
  })

  test('by the address from the trusted proxy, not from the caller', async () => {
    const service = await Service.start({
      RATE_LIMIT_FAILED_CREDENTIALS: '2/60',
      TRUST_PROXY: '10.0.0.1, 10.1.0.0/16',
    })
    const from = (proxy: string, forwarded: string) => wrong(service, proxy, { 'x-forwarded-for': forwarded })

    expect(await statuses(3, from('10.0.0.1', '192.0.2.1'))).toEqual([401, 401, 429])
    expect((await from('10.0.0.1', '192.0.2.2')()).statusCode).toBe(401)
    // What stands before the address that the proxy added is the caller's own word.
    expect((await from('10.0.0.1', '203.0.113.7, 192.0.2.1')()).statusCode).toBe(429)
    // A chain of proxies that are all trusted.
    expect((await from('10.1.2.3', '192.0.2.1, 10.0.0.1')()).statusCode).toBe(429)
    // Who comes directly is no proxy, whatever it sends.
    expect(await statuses(3, from('10.0.0.2', '192.0.2.9'))).toEqual([401, 401, 429])
    const headers = {
      'x-forwarded-for': '192.0.2.10',
      forwarded: 'for=192.0.2.10',
      'x-real-ip': '192.0.2.10',
    }
    expect((await wrong(service, '10.0.0.2', headers)()).statusCode).toBe(429)
  })
})

test('a limit that is off counts nothing and sends no headers', async () => {
  const service = await Service.start({ RATE_LIMIT_RESULTS: '1/60' })
  for (let index = 0; index < 3; index++) {
    for (const headers of [{}, { 'x-api-key': 'wrong' }]) {
      const response = await service.get('/v1/occupations', headers)
      expect([200, 401]).toContain(response.statusCode)
      expect(response.headers).not.toHaveProperty('ratelimit')
      expect(response.headers).not.toHaveProperty('ratelimit-policy')
    }
  }
})
