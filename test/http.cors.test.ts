import { describe, expect, test } from 'vitest'
import { Service } from './support/service.ts'

const ORIGIN = 'https://careers.example'
const EXPOSED =
  'Catalogue-Revision, Delta-Token, ETag, Found-Count, Link, Ndjson-Digest, RateLimit, RateLimit-Policy, Repr-Digest, Retry-After, Total-Count, X-Request-Id, api-supported-versions'

/** What a browser asks before it sends a key from a page of another origin. */
async function preflight(service: Service, origin: string, url = '/v1/occupations') {
  return await service.request({
    method: 'OPTIONS',
    url,
    headers: {
      origin,
      'access-control-request-method': 'GET',
      'access-control-request-headers': 'x-api-key,eid,x-api-version,if-none-match',
    },
  })
}

describe('by default any web page may call', () => {
  test('and a browser learns so before it calls', async () => {
    const service = await Service.start()
    // Of an address that there is not, so that its page reads the 404.
    const results = '/v1/submissions/x/validation-results'
    for (const url of ['/v1/occupations', results, '/v9/occupations', '/nowhere']) {
      const { statusCode, headers } = await preflight(service, ORIGIN, url)
      expect(statusCode).toBe(204)
      expect(headers).toMatchObject({
        'access-control-allow-origin': '*',
        'access-control-allow-methods': url === '/nowhere' ? 'DELETE, GET, HEAD, POST, PUT' : 'GET, HEAD',
        'access-control-allow-headers': 'x-api-key,eid,x-api-version,if-none-match',
        'access-control-max-age': '86400',
      })
      // Keys travel in a header, never in a cookie.
      expect(headers).not.toHaveProperty('access-control-allow-credentials')
    }
  })

  test('and reads every answer, also without an Origin, so that a cached one suits all, with the headers that matter', async () => {
    const service = await Service.start({ RATE_LIMIT_OCCUPATIONS: '2/60' })
    const ask = async (url: string, headers: Record<string, string> = {}) =>
      await service.get(url, { origin: ORIGIN, ...headers })
    const answers = [
      await ask('/v1/occupations'),
      await ask('/v1/occupations?Limit=0'),
      await ask('/v1/occupations'),
      await ask('/v1/occupations', { 'x-api-key': 'wrong' }),
      await ask('/v9/occupations'),
      await ask('/nowhere'),
      await ask(`/v1/occupations?${'x'.repeat(9000)}`),
    ]
    expect(answers.map(({ statusCode }) => statusCode)).toEqual([200, 400, 429, 401, 400, 404, 414])
    expect(answers[0]?.headers.vary).toBe('accept-encoding')
    answers.push(await service.get('/v1/occupations'))
    for (const { headers } of answers) {
      expect(headers['access-control-allow-origin']).toBe('*')
      expect(headers['access-control-expose-headers']).toBe(EXPOSED)
    }
  })
})

describe('with a list of origins', () => {
  const settings = { CORS_ORIGINS: `${ORIGIN}, https://other.example:8443` }

  test('those may call, and caches distinguish them', async () => {
    const service = await Service.start(settings)
    for (const origin of [ORIGIN, 'https://other.example:8443']) {
      expect((await preflight(service, origin)).headers['access-control-allow-origin']).toBe(origin)
      const { headers } = await service.get('/v1/occupations', { origin })
      expect(String(headers.vary).toLowerCase().split(', ').sort()).toEqual(['accept-encoding', 'origin'])
      for (const url of ['/v1/occupations', '/v9/occupations', '/nowhere', '/v1/occupations?Limit=0'])
        expect((await service.get(url, { origin })).headers['access-control-allow-origin']).toBe(origin)
    }
  })

  test('no other may, however alike it looks', async () => {
    const service = await Service.start(settings)
    for (const origin of [`${ORIGIN}.evil.example`, 'http://careers.example', `${ORIGIN}:8443`, 'null']) {
      expect((await preflight(service, origin)).headers).not.toHaveProperty('access-control-allow-origin')
      const response = await service.get('/v1/occupations', { origin })
      expect(response.statusCode).toBe(200)
      expect(response.headers).not.toHaveProperty('access-control-allow-origin')
    }
  })
})
