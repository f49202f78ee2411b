import { expect, test } from 'vitest'
import { Metrics, serveMetrics } from '../src/api/telemetry/metrics.ts'
import { Connection, exchange, listen } from './support/connection.ts'
import { countWork } from './support/counted-work.ts'
import { Service } from './support/service.ts'

const RESULTS = '/v1/submissions/submission-0001/validation-results'
const POLICY = "default-src 'none'; base-uri 'none'; frame-ancestors 'none'"

/** What would tell which programs and versions answer. */
const BANNERS = ['server', 'x-powered-by', 'via', 'x-aspnet-version', 'x-runtime', 'x-version']

test('every response restricts browsers, says which versions are supported, and does not identify the server', async () => {
  const service = await Service.start({ RATE_LIMIT_OCCUPATIONS: '5/60' })
  await service.publish([{ localId: 'a' }], { token: 'submission-0001' })
  const port = await listen(service)
  const raw = async (bytes: string) => await exchange(service, bytes)
  const url = `http://127.0.0.1:${port}`
  const get = async (path: string, headers: Record<string, string> = {}, method = 'GET') => {
    const response = await fetch(url + path, {
      method,
      headers: { 'x-api-key': service.key, eid: '1001', ...headers },
    })
    await response.arrayBuffer()
    return { status: response.status, headers: Object.fromEntries(response.headers) }
  }
  const etag = (await get('/v1/occupations')).headers.etag ?? ''
  const answers = [
    await get('/v1/occupations', { 'if-none-match': etag }),
    await get('/v1/occupations', {}, 'HEAD'),
    await get('/v1/occupations?Limit=0'),
    await get('/v1/occupations', { accept: 'image/png' }),
    await get('/v1/occupations'),
    await get(RESULTS),
    await get(`${RESULTS}?page=9`),
    await get(RESULTS, { eid: '2002' }),
    await get('/v1/occupations', { 'x-api-key': 'wrong' }),
    await get('/v9/occupations'),
    await get('/nowhere'),
    await get('/v1/occupations%zz'),
    await get('/livez'),
    await get('/readyz'),
    await get('/openapi.json'),
    await get('/problems/not-found'),
    await get('/v1/occupations', {}, 'DELETE'),
    await get(`/v1/occupations?${'x'.repeat(9000)}`),
    await get(
      '/v1/occupations',
      { origin: 'https://a.example', 'access-control-request-method': 'GET' },
      'OPTIONS',
    ),
    await raw('nonsense\r\n\r\n'),
    await raw('GET /livez HTTP/1.1\r\n\r\n'),
    await raw(`GET /livez HTTP/1.1\r\nHost: a\r\nX-Long: ${'x'.repeat(20_000)}\r\n\r\n`),
    await raw('CONNECT a:1 HTTP/1.1\r\nHost: a\r\n\r\n'),
  ]
  await service.database.write('schema', (writer) => writer.run('drop table result_block'))
  await service.database.write('schema', (writer) => writer.run('drop table submission'))
  answers.push(await get(RESULTS))
  await service.database.write('schema', (writer) => writer.run('drop table migration'))
  answers.push(await get('/readyz'))

  expect(new Set(answers.map(({ status }) => status))).toEqual(
    new Set([200, 204, 304, 400, 401, 404, 405, 406, 414, 429, 431, 500, 503]),
  )
  for (const { status, headers } of answers) {
    expect([status, headers]).toEqual([
      status,
      expect.objectContaining({
        'x-content-type-options': 'nosniff',
        'content-security-policy': POLICY,
        'referrer-policy': 'no-referrer',
        'cross-origin-resource-policy': 'same-origin',
        'api-supported-versions': '1.0',
      }),
    ])
    // There is none yet.
    expect(headers).not.toHaveProperty('api-deprecated-versions')
    for (const banner of BANNERS)
      expect([status, headers]).not.toEqual([
        status,
        expect.objectContaining({ [banner]: expect.anything() }),
      ])
    expect(JSON.stringify(headers)).not.toMatch(/node|fastify|sqlite|postgres/i)
  }
})

test('an HTML page loads content from this service only, and may not be framed', async () => {
  const service = await Service.start()
  for (const [url, accept] of [
    ['/docs/', 'text/html'],
    ['/problems/not-found', 'text/html'],
  ] as const) {
    const { statusCode, headers } = await service.request({ url, headers: { accept } })
    expect([url, statusCode, headers['content-type']]).toEqual([url, 200, 'text/html; charset=utf-8'])
    const policy = String(headers['content-security-policy'])
    expect(policy).toContain("default-src 'none'")
    expect(policy).toContain("base-uri 'none'")
    expect(policy).toContain("frame-ancestors 'none'")
    expect(policy).not.toMatch(/https?:|unsafe-eval|\*/)
    expect(headers).toMatchObject({
      'x-content-type-options': 'nosniff',
      'referrer-policy': 'no-referrer',
      'api-supported-versions': '1.0',
    })
  }
})

test('the metrics server sends no banner either', async () => {
  const server = await serveMetrics(new Metrics(), 0)
  const { port } = server.address() as { port: number }
  try {
    for (const path of ['/metrics', '/']) {
      const { headers } = await fetch(`http://127.0.0.1:${port}${path}`)
      expect(headers.get('x-content-type-options')).toBe('nosniff')
      for (const banner of BANNERS) expect(headers.has(banner)).toBe(false)
    }
  } finally {
    server.close()
  }
})

test('a page has the same headers whether the connection ends with it or stays open', async () => {
  const service = await Service.start({
    RATE_LIMIT_OCCUPATIONS: '1000/60',
    CORS_ORIGINS: 'https://a.example',
  })
  await service.import([{ occupationCode: 'A1', titleEnglish: 'x'.repeat(2000) }])
  await listen(service)
  const etag = (await service.get('/v1/occupations')).headers.etag
  const page = `/v1/occupations HTTP/1.1\r\nHost: a\r\nX-API-Key: ${service.key}\r\n`
  const requests = {
    page: `GET ${page}`,
    'page to a web page': `GET ${page}Origin: https://a.example\r\n`,
    'page to another web page': `GET ${page}Origin: https://b.example\r\n`,
    compressed: `GET ${page}Accept-Encoding: gzip\r\n`,
    'headers alone': `HEAD ${page}`,
    'not modified': `GET ${page}If-None-Match: ${etag}\r\n`,
  }
  const seen: unknown[] = []
  const begun = Date.now()
  for (const [name, request] of Object.entries(requests)) {
    const ask = async (more: string) =>
      (await Connection.open(service))
        .send(`${request}${more}\r\n`)
        .read({ head: request.startsWith('HEAD') })
    const open = await ask('')
    const ending = await ask('Connection: close\r\n')
    expect(ending.headers.connection, name).toBe('close')
    expect(open.headers, name).toMatchObject({ connection: 'keep-alive', 'keep-alive': 'timeout=65' })
    expect(Date.parse(open.headers.date ?? ''), name).toBeGreaterThan(begun - 2_000)
    expect(open.headers['x-request-id'], name).toMatch(/^[0-9a-f-]{36}$/)
    expect([open.status, lasting(open.headers)], name).toEqual([ending.status, lasting(ending.headers)])
    seen.push(open.status)
  }
  expect(seen).toEqual([200, 200, 200, 200, 200, 304])
})

/** Headers without those that differ from one answer to the next. */
function lasting(headers: Record<string, string>): Record<string, string> {
  const passing = ['connection', 'keep-alive', 'date', 'x-request-id', 'ratelimit']
  return Object.fromEntries(Object.entries(headers).filter(([name]) => !passing.includes(name)))
}

/** Parts of texts that are worst for a reader that looks ahead, or looks at each part again. */
const PARTS = ['/', ',', '"a,', 'a;b=",', 'a=&', '%2f', 'W/"c1.', '[']

/** The longest text of URLs and headers that Node.js accepts. */
const LONGEST = 16 * 1024

test('texts of URLs and headers are looked at a bounded number of times', async () => {
  const service = await Service.start({ OCCUPATIONS_ACCESS: 'public', CONSOLE: 'on' })
  await service.publish([{ localId: 'a' }], { token: 'submission-0001' })
  const [list, found, console] = ['/v1/occupations', `${RESULTS}?pageSize=1`, '/console/submissions']
  const urls = ['/', '/v1/occupations/', `${list}?Limit=`, `${list}/search?q=`, `${list}/changes?Since=`]
  const headers: readonly (readonly [string, string])[] = [
    ...['accept', 'accept-encoding', 'if-none-match', 'x-api-version', 'x-forwarded-for'].map(
      (name) => [name, list] as const,
    ),
    ...['authorization', 'x-client-id', 'content-type', 'host'].map((name) => [name, list] as const),
    ...['accept', 'eid', 'prefer'].map((name) => [name, found] as const),
    ['cookie', console],
  ]
  const caller = { 'x-api-key': service.key, eid: '1001' }
  const ask = async (url: string, more: Record<string, string> = {}) => {
    const options = { url, headers: { ...caller, ...more } }
    // Whatever is done once has been.
    await service.app.inject(options)
    const { total } = await countWork(() => service.app.inject(options))
    return total
  }
  for (const part of PARTS) {
    const text = `${part.repeat(Math.floor((LONGEST - 200) / part.length))}x`
    for (const start of [...urls, `${RESULTS}?Filter.ErrorCode=`, '/console/link/'])
      expect([part, start, (await ask(start + text)) < 100 * LONGEST]).toEqual([part, start, true])
    for (const [name, url] of headers) {
      const value = name === 'authorization' ? `Bearer ${text}` : text
      expect([part, name, (await ask(url, { [name]: value })) < 100 * LONGEST]).toEqual([part, name, true])
    }
  }
})
