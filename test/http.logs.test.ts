import { expect, test } from 'vitest'
import { until } from './support/command.ts'
import { exchange } from './support/connection.ts'
import { Service } from './support/service.ts'

/** What every line has. */
const OF_EVERY_LINE = ['level', 'time']

function linesOf({ log }: Service): Record<string, unknown>[] {
  return log.map((line) => JSON.parse(line) as Record<string, unknown>)
}

test('a request is one line: its id, operation, status, time and client, and nothing else', async () => {
  const service = await Service.start()
  await service.publish([{ localId: 'a' }], { token: 'submission-0001' })
  const results = '/v1/submissions/submission-0001/validation-results'
  const { key } = await service.createKey({ client: 'careers-site' })
  service.log.length = 0

  const expected: [string, Record<string, string | undefined>, Record<string, unknown>][] = [
    [
      '/v1/occupations',
      { 'x-api-key': key },
      { operation: 'occupations', status: 200, client: 'careers-site' },
    ],
    ['/v1/occupations?Limit=0', {}, { operation: 'occupations', status: 400, client: 'tests' }],
    ['/v1/occupations', { 'x-api-key': 'wrong' }, { operation: 'occupations', status: 401 }],
    [results, { eid: '1001' }, { operation: 'validation-results', status: 200, client: 'tests' }],
    [results, { eid: '2001' }, { operation: 'validation-results', status: 401, client: 'tests' }],
    [
      results,
      { eid: '1001', accept: 'text/html' },
      { operation: 'validation-results', status: 406, client: 'tests' },
    ],
    ['/livez', {}, { operation: 'livez', status: 200 }],
    ['/readyz', {}, { operation: 'readyz', status: 200 }],
    ['/openapi.json', {}, { operation: 'openapi', status: 200 }],
    ['/problems/not-found', {}, { operation: 'problems', status: 200 }],
    ['/nowhere', {}, { operation: 'unknown', status: 404 }],
    ['/v9/occupations', {}, { operation: 'occupations', status: 400 }],
    ['/v1/occupations%zz', {}, { operation: 'unknown', status: 400 }],
  ]
  for (const [url, headers, line] of expected) {
    service.log.length = 0
    const response = await service.get(url, headers)
    await until(() => linesOf(service).some(({ audit }) => audit === undefined) || undefined)
    const lines = linesOf(service)
      .filter(({ audit }) => audit === undefined)
      .map((each) => {
        for (const name of OF_EVERY_LINE) delete each[name]
        return each
      })
    const { ms, ...rest } = lines[0] ?? {}
    expect([url, lines.length, rest]).toEqual([url, 1, { id: response.headers['x-request-id'], ...line }])
    expect(ms).toBeTypeOf('number')
    expect(ms).toBeGreaterThanOrEqual(0)
  }
})

test('nothing that is secret or personal is in any line, whatever happens', async () => {
  const service = await Service.start({ LOG_LEVEL: 'trace', OCCUPATIONS_ACCESS: 'public' })
  const SECRETS = {
    token: 'secret-token-7c1f',
    eid: 'secret-eid-55',
    student: 'secret-student-1234',
    record: 'secret-record-text',
    returnId: 'secret-return-9',
  }
  const { key } = await service.createKey({ client: 'vendor', eids: [SECRETS.eid] })
  const entry = { localId: 'a', studentId: SECRETS.student, recordText: SECRETS.record }
  await service.publish([entry], { token: SECRETS.token, eid: SECRETS.eid, returnId: SECRETS.returnId })

  const path = `/submissions/${SECRETS.token}/validation-results`
  const ask = async (url: string, headers: Record<string, string | undefined> = {}) =>
    await service.get(url, { 'x-api-key': key, eid: SECRETS.eid, ...headers })
  const wrongKey = `${key.slice(0, -4)}wxyz`
  const answers = [
    await ask(`/v1${path}`),
    // Addresses that are rewritten, refused and unknown.
    await ask(path),
    await ask(path, { 'x-api-version': '1' }),
    await ask(`/v9${path}`),
    await ask(`/v1${path}`, { 'x-api-key': undefined, authorization: `Bearer ${key}` }),
    await ask(`/v1${path}`, { 'x-api-key': wrongKey }),
    await ask(`/v1${path}`, { 'x-api-key': undefined, authorization: `Basic ${key}` }),
    await ask(`/v1${path}`, { 'x-api-key': undefined, authorization: `Bearer a.${key}.b` }),
    await ask(`/v1${path}?page=0&${SECRETS.student}=1`),
    await ask(`/v1${path}x/${SECRETS.student}`),
    await ask(`/v1/submissions/${SECRETS.token}%zz/validation-results`),
    await ask(`/v1${path}?${'x'.repeat(9000)}`),
    await ask(`/v1/occupations?${key}=${SECRETS.record}`),
    await service.request({
      method: 'POST',
      url: `/v1${path}`,
      headers: { 'x-api-key': key },
      payload: SECRETS.record,
    }),
  ]
  expect(answers.map(({ statusCode }) => statusCode)).toEqual([
    ...[200, 200, 200, 400, 200, 401, 401, 401, 400, 404, 400, 414, 400, 405],
  ])
  await exchange(service, `GET /v1${path}\0 HTTP/1.1\r\nX-API-Key: ${key}\r\n\r\n`)
  await exchange(service, `GET /v1${path} HTTP/1.1\r\nX-API-Key: ${key}\r\n\r\n`)
  for (const table of ['result_entry', 'submission', 'api_key']) {
    await service.database.write('schema', (writer) => writer.run(`drop table ${table}`))
    expect(
      (await ask(`/v1${path}?page=1&pageSize=7`, { 'x-api-key': table === 'api_key' ? wrongKey : key }))
        .statusCode,
    ).toBe(500)
  }

  expect(service.log.length).toBeGreaterThanOrEqual(answers.length + 2)
  const all = service.log.join('')
  expect(all).toContain('"client":"vendor"')
  expect(all).toContain('the request failed')
  for (const secret of [
    ...Object.values(SECRETS),
    key,
    key.slice('mahi_0123456789ab_'.length),
    wrongKey,
    'wxyz',
  ]) {
    expect([secret, all.includes(secret)]).toEqual([secret, false])
  }
})
