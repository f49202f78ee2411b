import { describe, expect, test } from 'vitest'
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
    const state = etag.replace(/^W\/"(.*)-.*$/, '$1')
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
    for (const wrong of [
      '12',
      'x1.a',
      etag.replace(/[cr]/, (kind) => (kind === 'c' ? 'r' : 'c')),
      'c1; c2',
    ]) {
      const response = await since(path, wrong)
      expect([wrong, response.statusCode]).toEqual([wrong, 400])
      expect(response.json().detail).toContain('X-Min-Revision must be an ETag of this operation')
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
