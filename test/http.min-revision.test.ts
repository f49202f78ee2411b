import { describe, expect, test } from 'vitest'
import { SCOPES } from '../src/api/access/principal.ts'
import { Service } from './support/service.ts'

const RESULTS = '/v1/submissions/submission-0001/validation-results'

async function startFilled() {
  const service = await Service.start()
  await service.import([{ occupationCode: 'A1' }])
  await service.publish([{ localId: 'a' }], { token: 'submission-0001' })
  const etagOf = async (path: string) => String((await service.get(path, { eid: '1001' })).headers.etag)
  const since = async (path: string, revision: string, headers: Record<string, string> = {}) =>
    await service.get(path, { eid: '1001', 'x-min-revision': revision, ...headers })
  return { service, etagOf, since }
}

describe.each(['/v1/occupations', RESULTS])('X-Min-Revision at %s', (path) => {
  test('is an ETag received before, or its part up to the hyphen', async () => {
    const { etagOf, since } = await startFilled()
    const etag = await etagOf(path)
    const state = etag.replace(/^W\/"([^-]*)-.*$/, '$1')
    for (const revision of [etag, state, state.split('.')[0] ?? '', '']) {
      const response = await since(path, revision)
      expect([revision, response.statusCode, response.headers.etag]).toEqual([revision, 200, etag])
    }
    expect((await since(path, etag, { 'if-none-match': etag })).statusCode).toBe(304)
  })

  test('is 412 if the data has not reached it, and 400 if it is malformed', async () => {
    const { etagOf, since } = await startFilled()
    const etag = await etagOf(path)
    const later = etag.replace(/\d+/, (number) => String(Number(number) + 1))
    for (const headers of [{}, { 'if-none-match': etag }]) {
      const response = await since(path, later, headers)
      expect([response.statusCode, response.json().type]).toEqual([412, '/problems/precondition-failed'])
    }
    for (const wrong of ['12', 'x1.a', 'c1; c2', 'c1,', 'k1', `${etag}, ${etag}x`]) {
      const response = await since(path, wrong)
      expect([wrong, response.statusCode, response.json().type]).toEqual([
        wrong,
        400,
        '/problems/invalid-parameters',
      ])
    }
  })

  test('is met once the data has changed', async () => {
    const { service, etagOf, since } = await startFilled()
    const before = await etagOf(path)
    await service.import([{ occupationCode: 'A2' }])
    await service.publish([{ localId: 'b' }], { token: 'submission-0001' })
    const after = await etagOf(path)
    expect(after).not.toBe(before)
    expect((await since(path, after)).headers.etag).toBe(after)
    expect((await since(path, before)).headers.etag).toBe(after)
  })
})

test('every operation accepts X-Min-Revision for all kinds of data, and is 412 for a state that no response can have', async () => {
  const { service, etagOf } = await startFilled()
  const reached = `${await etagOf('/v1/occupations')}, ${await etagOf(RESULTS)}`
  const paths = (await service.get('/openapi.json')).json().paths as Record<string, Record<string, Described>>
  const operations = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, described]) => ({ path, method, described })),
  )
  expect(operations.length).toBeGreaterThan(20)
  for (const { described } of operations) {
    const names = described.parameters.map(({ name }) => name.toLowerCase())
    expect([described.operationId, names]).toEqual([
      described.operationId,
      expect.arrayContaining(['x-min-revision']),
    ])
    expect(Object.keys(described.responses)).toContain('412')
  }
  const { key } = await service.createKey({ scopes: SCOPES, eids: ['1001'] })
  const reads = operations.filter(
    ({ method, path }) => method === 'get' && !path.includes('search') && !path.includes('suggestions'),
  )
  for (const { path } of reads) {
    const url = path
      .replace('{submissionToken}', 'submission-0001')
      .replace('{runId}', '1')
      .replace('{revision}', '1')
      .replace(/\{\w+\}/, 'A1')
      .replace(/changes$/, (end) => (path.includes('results') ? `${end}?from=1` : end))
    const get = async (revision: string) =>
      (await service.get(url, { 'x-api-key': key, eid: '1001', accept: '*/*', 'x-min-revision': revision }))
        .statusCode
    const without = await get('')
    expect([url, await get(reached)]).toEqual([url, without])
    for (const later of ['c99', 'r99', `${reached}, r99.x`])
      expect([url, later, await get(later)]).toEqual([url, later, 412])
  }
})

interface Described {
  readonly operationId: string
  readonly parameters: readonly { readonly name: string }[]
  readonly responses: Readonly<Record<string, unknown>>
}

test('responses that show a run name it, so that it can be sent back', async () => {
  const { service, etagOf } = await startFilled()
  const revision = (await etagOf(RESULTS)).replace(/^W\/"([^-]*)-.*$/, '$1')
  for (const path of [
    '',
    '/validation-runs',
    '/validation-runs/1',
    '/validation-results/summary',
    '/validation-results/causes',
  ]) {
    const { headers } = await service.get(`/v1/submissions/submission-0001${path}`, { eid: '1001' })
    expect([path, headers['x-revision']]).toEqual([path, revision])
  }
  expect((await service.get('/v1/submissions', { eid: '1001' })).headers['x-revision']).toBe(revision)
})
