import { beforeEach, expect, test } from 'vitest'
import { Connection, exchange } from './support/connection.ts'
import { Service } from './support/service.ts'

const RESULTS = '/v1/submissions/submission-0001/validation-results'
const ADDRESSES = [
  '/v1/occupations',
  '/occupations',
  RESULTS,
  '/livez',
  '/readyz',
  '/openapi.json',
  '/docs',
  '/problems/not-found',
]
const OTHER_METHODS = ['POST', 'PUT', 'PATCH', 'DELETE', 'TRACE', 'PROPFIND', 'QUERY']

let service: Service

beforeEach(async () => {
  service = await Service.start()
  await service.publish([{ localId: 'a' }], { token: 'submission-0001' })
})

function write(method: string, path: string, headers: Record<string, string> = {}, body = ''): string {
  const all = { Host: 'localhost', 'X-API-Key': service.key, EID: '1001', ...headers }
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}`)
  return `${method} ${path} HTTP/1.1\r\n${lines.join('\r\n')}\r\n\r\n${body}`
}

test('HEAD works wherever GET does, and says the same', async () => {
  const connection = await Connection.open(service)
  for (const path of [
    ...ADDRESSES,
    '/docs/static/reference.css',
    '/nowhere',
    '/v9/occupations',
    `${RESULTS}?page=0`,
  ]) {
    const get = await connection.send(write('GET', path)).read()
    const head = await connection.send(write('HEAD', path)).read({ head: true })
    const { 'x-request-id': _, date: __, 'last-modified': ___, ...expected } = get.headers
    expect([path, head.status, head.headers]).toEqual([
      path,
      get.status,
      expect.objectContaining({ ...expected, 'content-length': get.headers['content-length'] }),
    ])
  }
})

test('any other method gets 405, and Allow lists the supported ones', async () => {
  const connection = await Connection.open(service)
  for (const path of ADDRESSES) {
    for (const method of OTHER_METHODS) {
      const { status, headers, body } = await connection.send(write(method, path)).read()
      expect([method, path, status, headers.allow]).toEqual([method, path, 405, 'GET, HEAD, OPTIONS'])
      expect(headers['content-type']).toBe('application/problem+json; charset=utf-8')
      expect(JSON.parse(body)).toMatchObject({
        type: '/problems/method-not-allowed',
        status: 405,
        detail: `This endpoint does not support ${method}. Supported methods: GET, HEAD, OPTIONS.`,
        instance: `urn:uuid:${headers['x-request-id']}`,
      })
    }
  }
})

test('CONNECT is refused: the service is no proxy', async () => {
  for (const target of ['example.org:443', '/v1/occupations']) {
    const connection = await Connection.open(service)
    const { status, headers, body } = await connection.send(write('CONNECT', target)).read()
    expect([status, headers.allow]).toEqual([405, 'GET, HEAD, OPTIONS'])
    expect(JSON.parse(body).instance).toBe(`urn:uuid:${headers['x-request-id']}`)
    expect(await connection.readToEnd()).toBe('')
  }
})

test('OPTIONS lists the methods of a path, or gets 404', async () => {
  const connection = await Connection.open(service)
  for (const path of [...ADDRESSES, '*']) {
    const { status, headers, body } = await connection.send(write('OPTIONS', path)).read()
    const allow = path === '*' ? 'DELETE, GET, HEAD, OPTIONS, POST, PUT' : 'GET, HEAD, OPTIONS'
    expect([path, status, headers.allow, body]).toEqual([path, 204, allow, ''])
    // RFC 9110, section 8.6.
    expect(headers).not.toHaveProperty('content-length')
  }
  const { status, body } = await connection.send(write('OPTIONS', '/nowhere')).read()
  expect([status, JSON.parse(body).type]).toEqual([404, '/problems/not-found'])
  expect((await exchange(service, 'OPTIONS /livez HTTP/1.1\r\n\r\n')).status).toBe(400)
})

test('an address that does not exist is 404, by any method', async () => {
  const paths = [
    '/nowhere',
    '/v1/occupations/',
    '/v1/occupations/A/B',
    '/v1/submissions/x/y',
    '/v1/submissions/x/y/validation-results',
    '//v1/occupations',
    '/docs/static/../../package.json',
    '/docs/static/..%2f..%2fpackage.json',
    '/V1/OCCUPATIONS',
  ]
  const connection = await Connection.open(service)
  for (const path of paths) {
    for (const method of ['GET', 'POST', 'PROPFIND', 'OPTIONS']) {
      const { status, headers, body } = await connection.send(write(method, path)).read()
      expect([method, path, status]).toEqual([method, path, 404])
      expect(headers['content-type']).toBe('application/problem+json; charset=utf-8')
      expect(headers).not.toHaveProperty('allow')
      expect(JSON.parse(body)).toMatchObject({ type: '/problems/not-found', status: 404 })
    }
  }
})

test('a path that differs from an endpoint by slashes at its end gets a hint', async () => {
  const detailOf = async (path: string) =>
    JSON.parse((await exchange(service, write('GET', path))).body).detail
  expect(await detailOf('/v1/occupations/')).toContain('Did you mean /v1/occupations?')
  expect(await detailOf('/occupations//?Limit=1')).toContain('Did you mean /v1/occupations?')
  expect(await detailOf('/nowhere/')).not.toContain('Did you mean')
})

test('an Accept that excludes JSON is 406, and any other is not', async () => {
  const statusOf = async (path: string, accept: string) =>
    (await service.get(path, { accept, eid: '1001' })).statusCode
  for (const path of ['/v1/occupations', RESULTS]) {
    for (const accept of [
      'text/html',
      'image/*',
      'application/xml, text/plain',
      'application/json;q=0',
      '*/*;q=0',
      'application/problem+json',
    ]) {
      expect([path, accept, await statusOf(path, accept)]).toEqual([path, accept, 406])
    }
    for (const accept of [
      '',
      ' ',
      '*/*',
      'application/*',
      'application/json',
      'APPLICATION/JSON',
      'text/html, */*;q=0.1',
      'application/json; charset=utf-8',
      'application/json;q=0.001',
    ]) {
      expect([path, accept, await statusOf(path, accept)]).toEqual([path, accept, 200])
    }
  }
  const response = await service.get('/v1/occupations', { accept: 'text/html' })
  expect(response.headers['content-type']).toBe('application/problem+json; charset=utf-8')
  expect(response.json()).toMatchObject({ type: '/problems/not-acceptable', status: 406 })
})

test('an address that is too long is 414, whether it exists or not', async () => {
  for (const path of ['/v1/occupations?Cursor=', '/nowhere/', '/v1/submissions/']) {
    const { status, headers, body } = await exchange(service, write('GET', path + 'x'.repeat(9000)))
    expect([path, status]).toEqual([path, 414])
    expect(JSON.parse(body)).toMatchObject({
      type: '/problems/uri-too-long',
      status: 414,
      instance: `urn:uuid:${headers['x-request-id']}`,
    })
  }
  expect((await service.get(`/v1/occupations?${'&'.repeat(8000)}`)).statusCode).toBe(200)
})
