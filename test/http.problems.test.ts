import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { PROBLEMS } from '../src/api/request/problems.ts'
import { Connection, exchange, listen } from './support/connection.ts'
import { Service } from './support/service.ts'

const RESULTS = '/v1/submissions/submission-0001/validation-results'
const SLUGS = Object.keys(PROBLEMS) as (keyof typeof PROBLEMS)[]

/** Breaks what both operations read, behind the back of a service that runs. */
async function breakData(service: Service): Promise<void> {
  for (const table of ['submission', 'occupation_posting', 'occupation']) {
    await service.database.write('schema', (writer) => writer.run(`drop table ${table}`))
  }
}

/** What would tell which programs and versions answer. */
const BANNERS = ['server', 'x-powered-by', 'via', 'x-aspnet-version', 'x-runtime', 'x-version']

/** Met in test/operation.test.ts, test/occupations.*.test.ts and test/submissions.*.test.ts. */
const BODY_PROBLEMS = [
  'no-such-occupation',
  'no-such-group',
  'occupation-removed',
  'no-such-submission',
  'no-such-file',
  'no-such-work',
  'no-such-run',
  'no-such-cause',
  'no-explanation',
  'no-receipt',
  'no-such-return',
  'no-such-rule',
  'no-such-organisation',
  'no-such-revision',
  'no-such-decision',
  'precondition-required',
  'malformed-body',
  'invalid-body',
  'conflict',
  'gone',
  'precondition-failed',
  'content-too-large',
  'unsupported-media-type',
  'unprocessable-content',
] as const satisfies readonly (keyof typeof PROBLEMS)[]

test('no operation says of a resource that does not exist that no endpoint has the URL', () => {
  const described = readFileSync(new URL('../openapi.json', import.meta.url), 'utf8')
  expect(described).toContain('/problems/no-such-organisation')
  expect(described).not.toContain('/problems/not-found')
})

test('every response restricts browsers and identifies no server, and every error has a problem body with its URL', async () => {
  const service = await Service.start({ RATE_LIMIT_OCCUPATIONS: '6/60' })
  await service.publish([{ localId: 'a' }], { token: 'submission-0001' })
  const url = `http://127.0.0.1:${await listen(service)}`
  const get = async (path: string, headers: Record<string, string> = {}, method = 'GET') => {
    const own = { 'x-api-key': service.key, eid: '1001', ...headers }
    const response = await fetch(url + path, { method, headers: own })
    const body = await response.text()
    return { status: response.status, headers: Object.fromEntries(response.headers), body }
  }
  const raw = async (bytes: string) => await exchange(service, bytes)
  const preflight = { origin: 'https://a.example', 'access-control-request-method': 'GET' }
  const etag = (await get('/v1/occupations')).headers.etag ?? ''
  const answers = [
    await get('/v1/occupations', { 'if-none-match': etag }),
    await get('/v1/occupations', {}, 'HEAD'),
    await get('/v1/occupations?Limit=0'),
    await get('/v1/occupations?Limmit=1'),
    await get('/v1/occupations', { accept: 'image/png' }),
    await get('/v1/occupations'),
    await get(RESULTS),
    await get(`${RESULTS}?page=0`),
    await get(`${RESULTS}?page=9`),
    await get(RESULTS, { eid: '2002' }),
    await get('/v1/occupations', { 'x-api-key': 'wrong' }),
    await get('/v9/occupations'),
    await get('/nowhere'),
    await get('/problems/nothing'),
    await get('/v1/occupations%zz'),
    await get('/livez'),
    await get('/readyz'),
    await get('/openapi.json'),
    await get('/problems/not-found'),
    await get('/v1/occupations', {}, 'DELETE'),
    await get(`/v1/occupations?${'x'.repeat(9000)}`),
    await get('/v1/occupations', preflight, 'OPTIONS'),
    await raw('nonsense\r\n\r\n'),
    await raw('GET /livez HTTP/1.1\r\n\r\n'),
    await raw('GET /livez HTTP/1.1\r\nHost: a\r\nExpect: the-moon\r\n\r\n'),
    await raw(`GET /livez HTTP/1.1\r\nHost: a\r\nX-Long: ${'x'.repeat(20_000)}\r\n\r\n`),
    await raw('CONNECT a:1 HTTP/1.1\r\nHost: a\r\n\r\n'),
  ]
  await breakData(service)
  answers.push(await get(RESULTS))
  await service.database.write('schema', (writer) => writer.run('drop table migration'))
  answers.push(await get('/readyz'))

  const seen = new Set<string>()
  for (const { status, headers, body } of answers) {
    expect([status, headers]).toEqual([
      status,
      expect.objectContaining({
        'x-content-type-options': 'nosniff',
        'content-security-policy': "default-src 'none'; base-uri 'none'; frame-ancestors 'none'",
        'referrer-policy': 'no-referrer',
        'cross-origin-resource-policy': 'same-origin',
        'api-supported-versions': '1.0',
      }),
    ])
    // There is none yet.
    expect(headers).not.toHaveProperty('api-deprecated-versions')
    for (const banner of BANNERS) expect(headers).not.toHaveProperty(banner)
    expect(JSON.stringify(headers)).not.toMatch(/node|fastify|sqlite|postgres/i)
    if (status < 400) continue
    expect(headers).toMatchObject({
      'content-type': 'application/problem+json; charset=utf-8',
      'content-length': String(Buffer.byteLength(body)),
      'cache-control': 'no-store',
    })
    const problem = JSON.parse(body)
    const slug = String(problem.type).slice('/problems/'.length) as keyof typeof PROBLEMS
    seen.add(slug)
    expect(problem).toMatchObject({
      title: PROBLEMS[slug].title,
      status: PROBLEMS[slug].status,
      detail: expect.stringMatching(/\S.*\.$/s),
      instance: `urn:uuid:${headers['x-request-id']}`,
    })
    expect(status).toBe(PROBLEMS[slug].status)
    expect(problem.instance).toMatch(
      /^urn:uuid:[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/,
    )
    expect((await service.request({ url: problem.type })).statusCode).toBe(200)
  }
  const ids = answers.map(({ headers }) => headers['x-request-id'])
  expect(new Set(ids).size).toBe(answers.length)
  // No test waits for a request that does not arrive in time; those of bodies are met in test/operation.test.ts.
  // A suspension is in test/access.suspension.test.ts.
  const elsewhere: readonly string[] = ['request-timeout', 'organisation-suspended', ...BODY_PROBLEMS]
  expect([...seen].sort()).toEqual(SLUGS.filter((slug) => !elsewhere.includes(slug)).sort())
})

describe('a failure of the service is 500 without internal details', () => {
  test.each(['/v1/occupations', RESULTS])('%s', async (url) => {
    const service = await Service.start()
    await service.publish([], { token: 'submission-0001' })
    await breakData(service)

    const response = await service.get(url, { eid: '1001' })
    expect(response.statusCode).toBe(500)
    const id = response.headers['x-request-id']
    expect(response.json()).toEqual({
      type: '/problems/internal-error',
      title: 'The service failed',
      status: 500,
      detail: 'The service failed. The log has the cause under this ID.',
      instance: `urn:uuid:${id}`,
    })
    expect(JSON.stringify(response.headers)).not.toMatch(/sql|table|submission|occupation_/i)
    expect(response.headers).not.toHaveProperty('etag')

    const lines = service.log.map((line) => JSON.parse(line)).filter((line) => line.id === id)
    expect(lines).toHaveLength(2)
    const [cause, answer] = lines
    expect(cause).toMatchObject({ level: 'error', msg: 'the request failed' })
    expect(cause.err.message).toMatch(/no such table|does not exist/)
    expect(cause.err.stack).toContain('.ts:')
    expect(answer).toMatchObject({ level: 'info', status: 500 })
  })

  test('and an unavailable database is 500 or 503 without details', async () => {
    const service = await Service.start()
    await service.publish([], { token: 'submission-0001' })
    await service.get(RESULTS, { eid: '1001' })
    const { database, revisions } = service
    await revisions.stop()
    await database.close()
    // It is closed again when the test ends.
    Object.assign(database, { close: async () => undefined })

    for (const url of ['/v1/occupations?Limit=7', RESULTS]) {
      const response = await service.get(url, { eid: '1001' })
      expect([500, 503]).toContain(response.statusCode)
      expect(response.headers['content-type']).toBe('application/problem+json; charset=utf-8')
      expect(response.body).not.toMatch(/sqlite|postgres|pool|connection|not open|\.ts|node_modules/i)
      const id = response.headers['x-request-id']
      expect(service.log.some((line) => line.includes(`"id":"${id}"`) && line.includes('"err"'))).toBe(true)
    }
    expect((await service.request({ url: '/readyz' })).statusCode).toBe(503)
    expect((await service.request({ url: '/livez' })).statusCode).toBe(200)
  })
})

describe('the page of a kind of problem', () => {
  test('says what it means and what to do, to people and to programs', async () => {
    const service = await Service.start()
    const programs = [undefined, '*/*', 'application/json', 'application/problem+json, */*;q=0.1']
    const browser = 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8'
    for (const slug of SLUGS) {
      const url = `/problems/${slug}`
      const { status, title, advice } = PROBLEMS[slug]
      for (const accept of programs) {
        const response = await service.request({ url, headers: accept === undefined ? {} : { accept } })
        expect([url, response.statusCode]).toEqual([url, 200])
        expect(response.headers['content-type']).toBe('application/json; charset=utf-8')
        expect(response.json()).toEqual({ type: url, status, title, advice })
      }

      const page = await service.request({ url, headers: { accept: browser } })
      expect([url, page.statusCode]).toEqual([url, 200])
      expect(page.headers['content-type']).toBe('text/html; charset=utf-8')
      expect(page.headers.vary).toContain('accept')
      expect(page.headers['content-security-policy']).toContain("default-src 'none'")
      expect(page.body).toContain(`<title>${title}</title>`)
      expect(page.body).toContain(advice)
      expect(page.body).toContain(`HTTP status ${status}`)
      expect(page.body).not.toMatch(/https?:|<script|src=/)
    }
  })

  test('that does not exist gets 404, whatever its name', async () => {
    const service = await Service.start()
    for (const slug of ['nothing', 'constructor', '__proto__', 'Unauthorized', '%00', '%3Cb%3Ex']) {
      const response = await service.request({ url: `/problems/${slug}` })
      expect([slug, response.statusCode]).toEqual([slug, 404])
      expect(response.json().detail).toContain('organisation-suspended, not-found')
      const page = await service.request({ url: `/problems/${slug}`, headers: { accept: 'text/html' } })
      expect([slug, page.statusCode]).toEqual([slug, 404])
      expect(page.headers['content-type']).toBe('text/html; charset=utf-8')
      expect(page.body).toContain('Unknown problem')
      expect(page.body).toContain('href="/problems"')
      expect(page.body).not.toContain('<b>x')
    }
  })

  test('needs no key, and a limit that is used up does not close it', async () => {
    const service = await Service.start({ RATE_LIMIT_FAILED_CREDENTIALS: '1/60' })
    const connection = await Connection.open(service)
    const ask = (path: string) => `GET ${path} HTTP/1.1\r\nHost: localhost\r\n\r\n`
    const statuses: number[] = []
    for (const path of ['/v1/occupations', '/v1/occupations', '/problems/too-many-requests']) {
      statuses.push((await connection.send(ask(path)).read()).status)
    }
    expect(statuses).toEqual([401, 429, 200])
  })
})
