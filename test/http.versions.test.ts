import { beforeEach, expect, test } from 'vitest'
import { exchange } from './support/connection.ts'
import { Service } from './support/service.ts'

const RESULTS = '/submissions/submission-0001/validation-results'

let service: Service

beforeEach(async () => {
  service = await Service.start({ RATE_LIMIT_RESULTS: '1000/60' })
  await service.publish([{ localId: 'a' }], { token: 'submission-0001' })
})

async function ask(path: string, version?: string) {
  return await service.get(path, { eid: '1001', 'x-api-version': version })
}

/** What a request says over a real connection, where a header can come more than once. */
async function askWithVersions(path: string, ...versions: string[]) {
  const lines = [
    `GET ${path} HTTP/1.1`,
    'Host: localhost',
    `X-API-Key: ${service.key}`,
    'Connection: close',
    ...versions.map((version) => `x-api-version: ${version}`),
  ]
  return await exchange(service, `${lines.join('\r\n')}\r\n\r\n`)
}

const IN_URL = {
  '': true,
  '/v1': true,
  '/v1.0': true,
  '/v2': false,
  '/v9': false,
  '/v1.1': false,
  '/v0': false,
}
const IN_HEADER = {
  '1': true,
  '1.0': true,
  v1: true,
  'v1.0': true,
  V1: true,
  '2': false,
  v9: false,
  '1.1': false,
}

test('the header overrides the address, and either is refused when it is not supported', async () => {
  for (const [prefix, known] of Object.entries(IN_URL)) {
    for (const path of [`${prefix}/occupations`, prefix + RESULTS]) {
      for (const none of [undefined, '', ' '])
        expect([path, (await ask(path, none)).statusCode]).toEqual([path, known ? 200 : 400])
      for (const [version, supported] of Object.entries(IN_HEADER)) {
        const { statusCode } = await ask(path, version)
        expect([path, version, statusCode]).toEqual([path, version, supported ? 200 : 400])
      }
    }
  }
})

test('a refusal names the version, where it came from, and those that are supported', async () => {
  const fromUrl = await ask('/v9/occupations')
  expect(fromUrl.json()).toEqual({
    type: '/problems/unsupported-version',
    title: 'This version of the API is not supported',
    status: 400,
    detail: 'Version "9" in the URL is not supported. Supported versions: 1.0.',
    instance: `urn:uuid:${fromUrl.headers['x-request-id']}`,
  })
  const fromHeader = await ask('/v1/occupations', 'v3')
  expect(fromHeader.json().detail).toBe(
    'Version "3" in the header x-api-version is not supported. Supported versions: 1.0.',
  )
  expect((await ask('/v9/occupations', '8')).json().detail).toContain('"8" in the header')
})

test('a malformed version is refused', async () => {
  for (const version of ['one', '1.', '.1', '1.0.0', '01', '1 0', '-1', '1e0', 'vv1', 'v', '*', '１']) {
    const response = await ask('/v1/occupations', Buffer.from(version).toString('latin1'))
    expect([version, response.statusCode]).toEqual([version, 400])
    expect(response.json().detail).toContain('Supported versions: 1.0.')
  }
  const long = await ask('/v1/occupations', '9'.repeat(5000))
  expect(long.json().detail.length).toBeLessThan(200)
  for (const path of [
    '/v01/occupations',
    '/v1.00/occupations',
    '/v1.0.0/occupations',
    `/v${'9'.repeat(50)}/occupations`,
  ]) {
    expect([path, (await ask(path)).statusCode]).toEqual([path, 400])
  }
})

test('the header twice is one version when both are the same, and none when they differ', async () => {
  for (const same of [
    ['1', '1'],
    ['1', '1.0'],
    ['v1', '1.0', '1'],
  ]) {
    expect([same, (await askWithVersions('/v1/occupations', ...same)).status]).toEqual([same, 200])
    expect([same, (await askWithVersions('/v9/occupations', ...same)).status]).toEqual([same, 200])
    expect((await ask('/v1/occupations', same.join(', '))).statusCode).toBe(200)
  }
  for (const different of [
    ['1', '2'],
    ['2', '1'],
    ['2', '2'],
    ['2', '3'],
  ]) {
    const answer = await askWithVersions('/v1/occupations', ...different)
    expect([different, answer.status]).toEqual([different, 400])
    expect(JSON.parse(answer.body)).toMatchObject({ type: '/problems/unsupported-version' })
    expect(JSON.parse(answer.body).detail).toContain('Supported versions: 1.0.')
  }
})

test('a version on its own is not a path', async () => {
  for (const path of ['/v1', '/v1/', '/v9', '/v9/', '/v1/livez', '/v1/nowhere', '/V1/occupations']) {
    expect([path, (await ask(path)).statusCode]).toEqual([path, 404])
  }
})

test('an address that names the host, as proxies send it, has its version read too', async () => {
  const origin = 'http://mahi.example:8080'
  expect((await askWithVersions(`${origin}/v1/occupations`)).status).toBe(200)
  expect((await askWithVersions(`${origin}/occupations?Limit=1`)).status).toBe(200)
  expect((await askWithVersions(`${origin}/v9/occupations`)).status).toBe(400)
  expect((await askWithVersions(`${origin}/v9/occupations`, '1')).status).toBe(200)
  expect((await askWithVersions(`${origin}/v1/occupations`, '9')).status).toBe(400)
})

test('an address with escaped letters is the same address', async () => {
  for (const path of ['/%6Fccupations', '/v1/%6fccupations', '/%76%31/occupations']) {
    expect([path, (await ask(path)).statusCode]).toEqual([path, 200])
    expect([path, (await ask(path, '9')).statusCode]).toEqual([path, 400])
  }
  expect((await ask('/v9/%6Fccupations')).json()).toMatchObject({
    type: '/problems/unsupported-version',
  })
  // What stands for itself alone is left: an escaped slash is no slash.
  expect((await ask('/v1%2Foccupations')).statusCode).toBe(404)
})
