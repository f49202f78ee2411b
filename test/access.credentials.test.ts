import { readFileSync } from 'node:fs'
import { beforeEach, describe, expect, test } from 'vitest'
import { SCOPES } from '../src/api/access/principal.ts'
import { Service } from './support/service.ts'

const RESULTS = '/v1/submissions/submission-0001/validation-results'

let service: Service

beforeEach(async () => {
  service = await Service.start()
})

/** Asks for the catalogue with these headers and no others. */
async function statusOf(headers: Record<string, string>, from = service): Promise<number> {
  return (await from.request({ url: '/v1/occupations', headers })).statusCode
}

test('a key is accepted as X-API-Key and as a bearer token, with the name of its client or without', async () => {
  const { key } = service
  for (const client of [{}, { 'x-client-id': 'tests' }]) {
    expect(await statusOf({ 'x-api-key': key, ...client })).toBe(200)
    for (const scheme of ['Bearer', 'bearer', 'bEaReR', 'Bearer  '])
      expect([scheme, await statusOf({ authorization: `${scheme} ${key}`, ...client })]).toEqual([
        scheme,
        200,
      ])
  }
})

test('every invalid credential gets the same 401, whatever is wrong with it', async () => {
  const { key } = service
  const [, id = '', secret = ''] = /^(mahi_\w{12})_(.+)$/.exec(key) ?? []
  const expired = await service.createKey({ expires: Date.now() - 1 })
  const invalid: Record<string, string>[] = [
    {},
    ...['other', 'TESTS', 'tests1', '', '*'].flatMap((client) => [
      { 'x-api-key': key, 'x-client-id': client },
      { authorization: `Bearer ${key}`, 'x-client-id': client },
    ]),
    ...[
      ...[key.slice(0, -1), `${key}A`, `${key} ${key}`, `${key}, ${key}`, key.toUpperCase(), `Bearer ${key}`],
      ...[`"${key}"`, id, secret, `${id}_`, `_${secret}`, `${id}_${'A'.repeat(43)}`],
      ...[`mahi_000000000000_${secret}`, expired.key, '', ' ', 'x'.repeat(8000), 'ÿþ'],
    ].map((text) => ({ 'x-api-key': text })),
    ...[
      ...[key, `Basic ${Buffer.from(`tests:${key}`).toString('base64')}`, `ApiKey ${key}`, `Bearer${key}`],
      ...[`Bearer: ${key}`, `Bearer ${key} ${key}`, `Bearer ${key},`, 'Bearer', 'Bearer undefined', ''],
    ].map((authorization) => ({ authorization })),
    { cookie: `x-api-key=${key}` },
    // One that is wrong is not made up for by one that is right.
    { 'x-api-key': 'wrong', authorization: `Bearer ${key}` },
  ]
  const bodies = new Set<string>()
  for (const headers of invalid) {
    const response = await service.request({ url: '/v1/occupations', headers })
    expect([headers, response.statusCode]).toEqual([headers, 401])
    expect(response.headers['www-authenticate']).toBe(
      'Bearer realm="mahi", ApiKey realm="mahi", header="X-API-Key"',
    )
    bodies.add(response.body.replace(/urn:uuid:[\w-]+/, ''))
  }
  expect(bodies.size).toBe(1)
  for (const name of ['key', 'api_key', 'access_token'])
    expect((await service.request({ url: `/v1/occupations?${name}=${key}` })).statusCode).toBe(401)
})

test('every operation refuses a request without a credential, and a key without its scope, organisation or submission', async () => {
  interface Described {
    readonly security?: readonly { readonly apiKey?: readonly string[] }[]
    readonly parameters?: readonly { readonly name: string; readonly required?: boolean }[]
  }
  const { paths } = JSON.parse(readFileSync(new URL('../openapi.json', import.meta.url), 'utf8')) as {
    paths: Record<string, Record<string, Described>>
  }
  const { key } = await service.createKey({ scopes: [], eids: ['1001'] })
  const { key: full } = await service.createKey({ scopes: [...SCOPES], eids: ['1001'] })
  const token = 'submission-of-1002'
  await service.publish([], { token, eid: '1002' })
  let [refused, owned] = [0, 0]
  for (const [path, operations] of Object.entries(paths))
    for (const [method, { security = [], parameters = [] }] of Object.entries(operations)) {
      const [scope] = security.flatMap(({ apiKey = [] }) => apiKey)
      if (scope === undefined) continue
      const ask = async (headers: Record<string, string>) => {
        const url = path.replace('{submissionToken}', token).replaceAll(/\{[^}]+\}/g, 'x')
        const options = { method: method.toUpperCase() as 'GET', url, headers }
        const response = await service.request(options)
        return [method, path, response.statusCode, response.json().detail]
      }
      expect(await ask({})).toEqual([method, path, 401, expect.any(String)])
      const detail = expect.stringContaining(`lacks the scope ${scope}`)
      expect(await ask({ 'x-api-key': key, eid: '1001' })).toEqual([method, path, 401, detail])
      refused++
      if (!parameters.some(({ name, required }) => name === 'EID' && required === true)) continue
      const covered = 'This key covers organisation 1001, not 1002.'
      expect(await ask({ 'x-api-key': full, eid: '1002' })).toEqual([method, path, 401, covered])
      if (!path.includes('{submissionToken}')) continue
      const foreign = 'Organisation 1001 has no submission with this token.'
      expect(await ask({ 'x-api-key': full, eid: '1001' })).toEqual([method, path, 401, foreign])
      owned++
    }
  expect(refused).toBeGreaterThan(40)
  expect(owned).toBeGreaterThan(25)
})

test('a public catalogue needs no key, but refuses a wrong one, and nothing else is public', async () => {
  const open = await Service.start({ OCCUPATIONS_ACCESS: 'public' })
  await open.publish([], { token: 'submission-0001' })
  expect(await statusOf({}, open)).toBe(200)
  expect(await statusOf({ 'x-api-key': open.key }, open)).toBe(200)
  for (const headers of [{ 'x-api-key': 'wrong' }, { 'x-api-key': '' }, { authorization: 'Bearer wrong' }])
    expect(await statusOf(headers, open)).toBe(401)
  expect((await open.request({ url: RESULTS, headers: { eid: '1001' } })).statusCode).toBe(401)
  expect((await open.get(RESULTS, { eid: '1001' })).statusCode).toBe(200)
})

describe('the checks are made in order', () => {
  test('the version, the credential, the rate limit and the authorisation', async () => {
    const limited = await Service.start({ RATE_LIMIT_RESULTS: '1/60' })
    for (const path of ['/occupations', RESULTS.slice(3)]) {
      const response = await limited.request({ url: `/v9${path}`, headers: { 'x-api-key': 'wrong' } })
      expect([response.statusCode, response.json().type]).toEqual([400, '/problems/unsupported-version'])
    }
    const ask = async (key: string) =>
      (await limited.get(RESULTS, { 'x-api-key': key, eid: '1001' })).statusCode
    // There is no such submission.
    expect([await ask(limited.key), await ask(limited.key), await ask('wrong')]).toEqual([401, 429, 401])
    const { key } = await limited.createKey({ scopes: ['occupations:read'] })
    expect([await ask(key), await ask(key)]).toEqual([401, 429])
    const catalogue = await Service.start({ RATE_LIMIT_OCCUPATIONS: '1/60' })
    const without = await catalogue.createKey({ scopes: ['validation-results:read'] })
    const askWithout = async () => await statusOf({ 'x-api-key': without.key }, catalogue)
    expect([await askWithout(), await askWithout()]).toEqual([401, 429])
  })

  test('the authorisation, the parameters and the data', async () => {
    await service.publish([], { token: 'submission-0001' })
    const wrong = `${RESULTS}?page=0`
    expect((await service.get(wrong, { eid: '1001' })).statusCode).toBe(400)
    expect((await service.get(wrong, { eid: '2001' })).statusCode).toBe(401)
    const { key } = await service.createKey({ scopes: ['validation-results:read'] })
    expect((await service.get('/v1/occupations?Limit=0', { 'x-api-key': key })).statusCode).toBe(401)

    const ask = async (query: string) => (await service.get(`${RESULTS}?${query}`, { eid: '1001' })).json()
    expect(await ask('page=9')).toMatchObject({ errorCode: 'PR2' })
    expect(await ask('page=9&pageSize=0')).toMatchObject({ errorCode: 'PR1' })
    await service.database.write('catalogue', (writer) => writer.run('drop table occupation_posting'))
    await service.database.write('catalogue', (writer) => writer.run('drop table occupation'))
    expect((await service.get('/v1/occupations')).statusCode).toBe(500)
    expect((await service.get('/v1/occupations?Limit=0')).statusCode).toBe(400)
  })
})
