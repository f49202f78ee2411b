import { expect, test } from 'vitest'
import { Service } from './support/service.ts'

const entry = (localId: number, errorType: string) => ({
  localId: String(localId),
  errorCode: errorType === 'Error' ? 'E1' : 'W1',
  errorDescription: 'A finding.',
  errorType,
  fileType: 'Learner',
  studentId: String(localId % 2),
})
const entries = [entry(1, 'Error'), entry(2, 'Warning'), entry(3, 'Error'), entry(4, 'Warning')]
const token = 'submission'
const path = `/v1/submissions/${token}/validation-results`

/** Queries whose pages differ. */
const QUERIES = [
  '',
  '?pageSize=2',
  '?page=2&pageSize=2',
  '?page=2&pageSize=1',
  '?Filter.ErrorType=Error',
  '?Filter.ErrorType=Warning',
  '?Filter.ErrorCode=E1&pageSize=2',
  '?Filter.StudentId=1',
  '?Filter.StudentId=1&Filter.ErrorType=Error',
]

test('each page has an ETag of its own, with which it is not sent again until a run is published', async () => {
  const service = await Service.start()
  await service.publish(entries, { token })
  const get = (query: string, headers = {}) => service.get(`${path}${query}`, { eid: '1001', ...headers })
  const etags = new Map<string, string>()
  for (const query of QUERIES) {
    const { headers, statusCode } = await get(query)
    expect(statusCode).toBe(200)
    etags.set(query, String(headers.etag))
  }
  expect(new Set(etags.values()).size).toBe(QUERIES.length)
  // Pages of one run have ETags that begin alike.
  expect(new Set([...etags.values()].map((etag) => etag.split('-')[0])).size).toBe(1)
  for (const query of QUERIES)
    for (const [other, etag] of etags) {
      const { statusCode, body } = await get(query, { 'if-none-match': etag })
      expect([query, other, statusCode]).toEqual([query, other, query === other ? 304 : 200])
      expect(body === '').toBe(query === other)
    }
  const other = await get('?pageSize=2', { 'if-none-match': etags.get('?pageSize=2'), accept: 'text/csv' })
  expect(other.statusCode).not.toBe(304)
  await service.publish(entries, { token })
  for (const [query, etag] of etags)
    expect((await get(query, { 'if-none-match': etag })).statusCode).toBe(200)
})

test('page 1 of a run without entries, or of a filter that finds none, is empty; page 2 is past the end', async () => {
  const service = await Service.start()
  for (const [published, query] of [
    [[], '?'],
    [entries, '?Filter.ErrorCode=none&'],
  ] as const) {
    await service.publish(published, { token })
    expect((await service.get(`${path}${query}page=1`, { eid: '1001' })).json()).toMatchObject({
      page: 1,
      results: [],
      totalCount: 0,
    })
    const past = await service.get(`${path}${query}page=2`, { eid: '1001' })
    expect([past.statusCode, past.json().errorCode]).toEqual([400, 'PR2'])
  }
})
