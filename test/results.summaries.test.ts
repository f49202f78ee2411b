import { expect, test } from 'vitest'
import type { Database } from '../src/foundation/database/database.ts'
import { Service } from './support/service.ts'

const entries = (count: number) =>
  Array.from({ length: count }, (_, index) => ({
    localId: String(index),
    errorCode: `E${index % 3}`,
    errorType: 'Error',
    studentId: 'S1',
  }))

/** The statements that read runs from here on. */
function watchRuns({ database }: Service): string[] {
  const seen: string[] = []
  const get = database.get.bind(database)
  const watched: Database['get'] = async (sql, parameters) => {
    if (sql.includes('submission_run')) seen.push(sql)
    return await get(sql, parameters)
  }
  Object.assign(database, { get: watched })
  return seen
}

test.each(['summary', 'causes'])(
  'the %s of a run is read once, and its ETag lasts as long as the run is current',
  async (name) => {
    const service = await Service.start()
    const { submissionToken: token } = await service.publish(entries(9))
    const path = `/v1/submissions/${token}/validation-results/${name}`
    const read = (headers: Record<string, string> = {}, path_ = path) =>
      service.get(path_, { eid: '1001', ...headers })
    const statements = watchRuns(service)

    const first = await read()
    expect(first.statusCode).toBe(200)
    expect(first.json()).toMatchObject({ submissionToken: token, runId: 1 })
    expect(first.headers).toMatchObject({ 'cache-control': 'private, no-cache' })
    const etag = String(first.headers.etag)
    expect(etag).toMatch(/^W\/"r\d+\.[0-9a-z]+-/)
    const reads = statements.length
    expect(reads).toBeGreaterThan(0)

    const second = await read()
    expect([second.body, second.headers.etag]).toEqual([first.body, etag])
    expect((await read({ 'if-none-match': etag })).statusCode).toBe(304)
    expect(statements).toHaveLength(reads)
    // Another organisation gets neither the bytes nor a 304.
    expect((await read({ eid: '2002', 'if-none-match': etag })).statusCode).toBe(401)

    await service.publish(entries(4), { token })
    const later = await read({ 'if-none-match': etag })
    expect([later.statusCode, later.json().runId]).toEqual([200, 2])
    expect(later.headers.etag).not.toBe(etag)
    // Of another submission with the same content.
    const { submissionToken: other } = await service.publish(entries(4))
    expect((await read({}, path.replace(token, other))).json()).toMatchObject({ submissionToken: other })
  },
)
