import fc from 'fast-check'
import { beforeEach, describe, expect, test } from 'vitest'
import { exchange } from './support/connection.ts'
import { cases } from './support/properties.ts'
import { Service } from './support/service.ts'

let service: Service

beforeEach(async () => {
  service = await Service.start()
})

/** Asks for the catalogue with these headers and no others. */
async function statusOf(headers: Record<string, string>, from = service): Promise<number> {
  return (await from.request({ url: '/v1/occupations', headers })).statusCode
}

describe('a key is accepted', () => {
  test('as X-API-Key', async () => {
    expect(await statusOf({ 'x-api-key': service.key })).toBe(200)
  })

  test('as a bearer token, however the scheme is written', async () => {
    for (const scheme of ['Bearer', 'bearer', 'BEARER', 'bEaReR', 'Bearer  ']) {
      expect([scheme, await statusOf({ authorization: `${scheme} ${service.key}` })]).toEqual([scheme, 200])
    }
  })

  test('with the name of its client', async () => {
    const client = { 'x-client-id': 'tests' }
    expect(await statusOf({ 'x-api-key': service.key, ...client })).toBe(200)
    expect(await statusOf({ authorization: `Bearer ${service.key}`, ...client })).toBe(200)
  })

  test('on a real connection, where white space around a header does not count', async () => {
    const request = (name: string, value: string) =>
      `GET /v1/occupations HTTP/1.1\r\nHost: localhost\r\n${name}: ${value}\r\nConnection: close\r\n\r\n`
    for (const [name, value] of [
      ['X-API-Key', `  ${service.key}\t`],
      ['x-api-key', service.key],
      ['AUTHORIZATION', `Bearer ${service.key}  `],
    ] as const) {
      expect((await exchange(service, request(name, value))).status).toBe(200)
    }
  })
})

describe('an invalid credential gets 401', () => {
  test('nothing at all', async () => {
    const response = await service.request({ url: '/v1/occupations' })
    expect(response.statusCode).toBe(401)
    expect(response.json()).toMatchObject({ type: '/problems/unauthorized', status: 401 })
    expect(response.headers['www-authenticate']).toContain('Bearer')
    expect(response.headers['www-authenticate']).toContain('X-API-Key')
  })

  test('an X-Client-ID that does not match', async () => {
    for (const client of ['other', 'TESTS', 'test', 'tests1', '', '*', 'undefined']) {
      const headers = { 'x-client-id': client }
      expect([client, await statusOf({ 'x-api-key': service.key, ...headers })]).toEqual([client, 401])
      expect(await statusOf({ authorization: `Bearer ${service.key}`, ...headers })).toBe(401)
    }
  })

  test('a key that differs by one character, wherever', async () => {
    const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_'
    await fc.assert(
      fc.asyncProperty(
        fc.nat({ max: service.key.length - 1 }),
        fc.constantFrom(...alphabet),
        async (position, character) => {
          fc.pre(service.key[position] !== character)
          const key = service.key.slice(0, position) + character + service.key.slice(position + 1)
          expect(await statusOf({ 'x-api-key': key })).toBe(401)
        },
      ),
      cases(80),
    )
    expect(await statusOf({ 'x-api-key': service.key })).toBe(200)
  })

  test('a key that is truncated, extended, repeated, or in another case', async () => {
    const { key } = service
    const [, id = '', secret = ''] = /^(mahi_\w{12})_(.+)$/.exec(key) ?? []
    const others = [
      key.slice(0, -1),
      `${key}A`,
      `${key} ${key}`,
      `${key}, ${key}`,
      `${key}\t`.trim().toUpperCase(),
      `Bearer ${key}`,
      `"${key}"`,
      id,
      secret,
      `${id}_`,
      `_${secret}`,
      `${id}_${'A'.repeat(43)}`,
      `mahi_000000000000_${secret}`,
    ]
    for (const other of others) expect([other, await statusOf({ 'x-api-key': other })]).toEqual([other, 401])
  })

  test('an empty, blank, very long or non-ASCII value', async () => {
    const texts = ['', ' ', '\t', '0', 'null', 'x'.repeat(8000), `${service.key}${'x'.repeat(8000)}`, 'ÿþ']
    for (const each of texts) {
      expect(await statusOf({ 'x-api-key': each })).toBe(401)
      expect(await statusOf({ authorization: each })).toBe(401)
      expect(await statusOf({ authorization: `Bearer ${each}` })).toBe(401)
    }
  })

  test('another scheme, or a key in another place', async () => {
    const { key } = service
    for (const authorization of [
      key,
      `Basic ${Buffer.from(`tests:${key}`).toString('base64')}`,
      `Digest ${key}`,
      `ApiKey ${key}`,
      `Bearer${key}`,
      `Bearer: ${key}`,
      `Bearer ${key} ${key}`,
      `Bearer ${key},`,
      'Bearer',
      'Bearer undefined',
    ]) {
      expect([authorization, await statusOf({ authorization })]).toEqual([authorization, 401])
    }
    expect(await statusOf({ cookie: `x-api-key=${key}` })).toBe(401)
    for (const name of ['key', 'api_key', 'X-API-Key', 'access_token']) {
      expect((await service.request({ url: `/v1/occupations?${name}=${key}` })).statusCode).toBe(401)
    }
  })

  test('an X-API-Key that is wrong, whatever else comes with it', async () => {
    expect(await statusOf({ 'x-api-key': 'wrong', authorization: `Bearer ${service.key}` })).toBe(401)
  })
})

test('a credential is valid for its scopes only', async () => {
  await service.publish([], { token: 'submission-0001' })
  const url = '/v1/submissions/submission-0001/validation-results'
  const ask = async (key: string) => [
    await statusOf({ 'x-api-key': key }),
    (await service.request({ url, headers: { 'x-api-key': key, eid: '1001' } })).statusCode,
  ]
  const create = async (...scopes: Parameters<Service['createKey']>[0]['scopes'] & object) =>
    (await service.createKey({ scopes, eids: ['1001'] })).key

  expect(await ask(await create('occupations:read', 'validation-results:read'))).toEqual([200, 200])
  expect(await ask(await create('occupations:read'))).toEqual([200, 401])
  expect(await ask(await create('validation-results:read'))).toEqual([401, 200])
  expect(await ask(await create())).toEqual([401, 401])

  const detailOf = async (url: string, key: string) =>
    (await service.request({ url, headers: { 'x-api-key': key } })).json().detail
  expect(await detailOf('/v1/occupations', await create('validation-results:read'))).toBe(
    'This key lacks the scope occupations:read.',
  )
  expect(await detailOf('/v1/overview', await create('occupations:read'))).toBe(
    'This key lacks the scope operate.',
  )
})

test('a public catalogue needs no key, but refuses a wrong one, and nothing else is public', async () => {
  const open = await Service.start({ OCCUPATIONS_ACCESS: 'public' })
  await open.publish([], { token: 'submission-0001' })
  expect(await statusOf({}, open)).toBe(200)
  expect(await statusOf({ 'x-api-key': open.key }, open)).toBe(200)
  for (const headers of [{ 'x-api-key': 'wrong' }, { 'x-api-key': '' }, { authorization: 'Bearer wrong' }]) {
    expect(await statusOf(headers, open)).toBe(401)
  }
  const url = '/v1/submissions/submission-0001/validation-results'
  expect((await open.request({ url, headers: { eid: '1001' } })).statusCode).toBe(401)
  expect((await open.get(url, { eid: '1001' })).statusCode).toBe(200)
})

describe('the checks are made in order', () => {
  const RESULTS = '/v1/submissions/submission-0001/validation-results'

  test('the version before the credential', async () => {
    for (const path of ['/occupations', RESULTS.slice(3)]) {
      const response = await service.request({ url: `/v9${path}`, headers: { 'x-api-key': 'wrong' } })
      expect([response.statusCode, response.json().type]).toEqual([400, '/problems/unsupported-version'])
    }
  })

  test('the credential before the rate limit', async () => {
    const limited = await Service.start({ RATE_LIMIT_OCCUPATIONS: '1/60' })
    const ask = async (key: string) => await statusOf({ 'x-api-key': key }, limited)
    expect([await ask(limited.key), await ask(limited.key)]).toEqual([200, 429])
    expect(await ask('wrong')).toBe(401)
  })

  test('the rate limit before the authorisation', async () => {
    const limited = await Service.start({ RATE_LIMIT_RESULTS: '1/60' })
    const ask = async () => (await limited.get(RESULTS, { eid: '1001' })).statusCode
    expect([await ask(), await ask()]).toEqual([401, 429])

    const { key } = await limited.createKey({ scopes: ['occupations:read'] })
    const askWithout = async () => (await limited.get(RESULTS, { 'x-api-key': key, eid: '1001' })).statusCode
    expect([await askWithout(), await askWithout()]).toEqual([401, 429])
  })

  test('the authorisation before the parameters', async () => {
    await service.publish([], { token: 'submission-0001' })
    const wrong = `${RESULTS}?page=0`
    expect((await service.get(wrong, { eid: '1001' })).statusCode).toBe(400)
    expect((await service.get(wrong, { eid: '2001' })).statusCode).toBe(401)
    const { key } = await service.createKey({ scopes: ['validation-results:read'] })
    expect((await service.get('/v1/occupations?Limit=0', { 'x-api-key': key })).statusCode).toBe(401)
  })

  test('the parameters before the data', async () => {
    await service.publish([], { token: 'submission-0001' })
    const ask = async (query: string) => (await service.get(`${RESULTS}?${query}`, { eid: '1001' })).json()
    expect(await ask('page=9')).toMatchObject({ errorCode: 'PR2' })
    expect(await ask('page=9&pageSize=0')).toMatchObject({ errorCode: 'PR1' })

    await service.database.write('catalogue', (writer) => writer.run('drop table occupation_posting'))
    await service.database.write('catalogue', (writer) => writer.run('drop table occupation'))
    expect((await service.get('/v1/occupations')).statusCode).toBe(500)
    expect((await service.get('/v1/occupations?Limit=0')).statusCode).toBe(400)
  })
})
