import { createHash } from 'node:crypto'
import { expect, test } from 'vitest'
import { bumpRevision } from '../src/foundation/database/revisions.ts'
import { until } from './support/command.ts'
import { exchange } from './support/connection.ts'
import { Service } from './support/service.ts'

/** What every line has. */
const OF_EVERY_LINE = ['level', 'time']

function linesOf({ log }: Service): Record<string, unknown>[] {
  return log.map((line) => JSON.parse(line) as Record<string, unknown>)
}

test('a request is one line: its id, method, route, operation, status, bytes, time and client, and what it reads', async () => {
  const service = await Service.start()
  await service.publish([{ localId: 'a' }], { token: 'submission-0001' })
  const results = '/v1/submissions/submission-0001/validation-results'
  const { key } = await service.createKey({ client: 'careers-site' })
  service.log.length = 0

  const catalogue = { operation: 'occupations', route: '/v1/occupations' }
  const findings = {
    operation: 'validation-results',
    route: '/v1/submissions/:submissionToken/validation-results',
  }
  const submission = createHash('sha256').update('submission-0001').digest('hex')
  const owned = { key: expect.stringMatching(/^mahi_[0-9a-f]{12}$/), eid: '1001', submission }
  const expected: [string, Record<string, string | undefined>, Record<string, unknown>][] = [
    ['/v1/occupations', { 'x-api-key': key }, { ...catalogue, status: 200, client: 'careers-site' }],
    ['/v1/occupations?Limit=0', {}, { ...catalogue, status: 400, client: 'tests' }],
    ['/v1/occupations', { 'x-api-key': 'wrong' }, { ...catalogue, status: 401 }],
    [results, { eid: '1001' }, { ...findings, status: 200, client: 'tests', ...owned }],
    [results, { eid: '2001' }, { ...findings, status: 401, client: 'tests' }],
    [results, { eid: '1001', accept: 'text/html' }, { ...findings, status: 406, client: 'tests', ...owned }],
    ['/livez', {}, { operation: 'livez', route: '/livez', status: 200 }],
    ['/readyz', {}, { operation: 'readyz', route: '/readyz', status: 200 }],
    ['/openapi.json', {}, { operation: 'openapi', route: '/openapi.json', status: 200 }],
    ['/problems/not-found', {}, { operation: 'problems', route: '/problems/:slug', status: 200 }],
    ['/nowhere', {}, { operation: 'unknown', status: 404 }],
    ['/v9/occupations', {}, { ...catalogue, status: 400 }],
    ['/v1/occupations%zz', {}, { operation: 'unknown', status: 400 }],
  ]
  for (const [url, headers, line] of expected) {
    service.log.length = 0
    const response = await service.get(url, headers)
    await until(() => linesOf(service).some(({ audit }) => audit === undefined))
    const lines = linesOf(service)
      .filter(({ audit }) => audit === undefined)
      .map((each) => {
        for (const name of OF_EVERY_LINE) delete each[name]
        return each
      })
    const { ms, ...rest } = lines[0] ?? {}
    const of = { id: response.headers['x-request-id'], method: 'GET', outcome: 'sent' }
    const bytes = response.rawPayload.length
    expect([url, lines.length, rest]).toEqual([url, 1, { ...of, bytes, ...line }])
    expect(ms).toBeTypeOf('number')
    expect(ms).toBeGreaterThanOrEqual(0)
  }
  await service.request({ method: 'HEAD', url: '/v1/occupations', headers: { 'x-api-key': service.key } })
  expect(await until(() => linesOf(service).find(({ method }) => method === 'HEAD'))).toMatchObject({
    bytes: 0,
    status: 200,
  })
})

test('nothing that is secret or personal is in any line, whatever happens', async () => {
  const service = await Service.start({ LOG_LEVEL: 'trace', OCCUPATIONS_ACCESS: 'public' })
  const SECRETS = {
    token: 'secret-token-7c1f',
    student: 'secret-student-1234',
    record: 'secret-record-text',
    returnId: 'secret-return-9',
  }
  const { key } = await service.createKey({ client: 'vendor', eids: ['1055'] })
  const entry = { localId: 'a', studentId: SECRETS.student, recordText: SECRETS.record }
  await service.publish([entry], { token: SECRETS.token, eid: '1055', returnId: SECRETS.returnId })

  const path = `/submissions/${SECRETS.token}/validation-results`
  const ask = async (url: string, headers: Record<string, string | undefined> = {}) =>
    await service.get(url, { 'x-api-key': key, eid: '1055', ...headers })
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
  for (const table of ['result_block', 'submission', 'api_key']) {
    await service.database.write('schema', async (writer) => {
      await writer.run(`drop table ${table}`)
      // The keys are read again, which fails.
      await bumpRevision(writer, 'keys')
    })
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

test('the line of a change names the submission that it created or changed, and the key', async () => {
  const service = await Service.start()
  const { id, key } = await service.createKey({ scopes: ['submissions:write'], eids: ['1001'] })
  const headers = { 'x-api-key': key, eid: '1001' }
  service.log.length = 0
  const token = await service.createSubmission(headers)
  const deleted = await service.request({ method: 'DELETE', url: `/v1/submissions/${token}`, headers })
  expect(deleted.statusCode).toBe(200)
  const lines = await until(() => {
    const found = linesOf(service).filter(({ operation }) => operation !== undefined)
    return found.length === 2 ? found : undefined
  })
  const submission = createHash('sha256').update(token).digest('hex')
  const owned = { key: id, eid: '1001', submission }
  expect(lines).toMatchObject([
    { operation: 'create-submission', ...owned },
    { operation: 'delete-submission', ...owned },
  ])
  expect(service.log.join('')).not.toContain(token)
})

test('health probes are for the debug log while all is well', async () => {
  const service = await Service.start()
  service.log.length = 0
  await service.request({ url: '/livez' })
  await service.request({ url: '/readyz' })
  await service.database.write('schema', (writer) => writer.run('drop table migration'))
  await service.request({ url: '/readyz' })
  const probes = () => linesOf(service).filter(({ operation }) => operation !== undefined)
  await until(() => probes().length === 3)
  expect(probes().map(({ level, operation, status }) => [level, operation, status])).toEqual([
    ['debug', 'livez', 200],
    ['debug', 'readyz', 200],
    ['info', 'readyz', 503],
  ])
})

test('an id that the request came with is logged beside its own, if its form shows that it is random', async () => {
  const UUID = '0b8ff9ac-0d5a-4e9b-9a3b-6f3f0c1d2e3f'
  const TRACE = '4bf92f3577b34da6a3ce929d0e0e4736'
  const PARENT = `00-${TRACE}-00f067aa0ba902b7-01`
  const service = await Service.start()
  const cases: [Record<string, string>, Record<string, string>][] = [
    [{ 'x-request-id': UUID }, { requestId: UUID }],
    [{ 'x-request-id': UUID.replaceAll('-', '') }, { requestId: UUID.replaceAll('-', '') }],
    [{ traceparent: PARENT }, { trace: TRACE }],
    [{ traceparent: `cc${PARENT.slice(2)}-what-is-new` }, { trace: TRACE }],
    [
      { 'x-request-id': UUID, traceparent: PARENT },
      { requestId: UUID, trace: TRACE },
    ],
    [{ 'x-request-id': 'aroha@example.nz' }, {}],
    [{ 'x-request-id': `${UUID}"` }, {}],
    [{ traceparent: `ff${PARENT.slice(2)}` }, {}],
    [{ traceparent: `00-${'0'.repeat(32)}-00f067aa0ba902b7-01` }, {}],
    [{ traceparent: PARENT.toUpperCase().replace('BF', 'XX') }, {}],
  ]
  for (const [headers, ids] of cases) {
    const response = await service.get('/v1/occupations', headers)
    const id = String(response.headers['x-request-id'])
    const line = await until(() => linesOf(service).find((each) => each.id === id))
    const { requestId, trace } = line
    expect({ ...(requestId !== undefined && { requestId }), ...(trace !== undefined && { trace }) }).toEqual(
      ids,
    )
    expect(id).not.toBe(UUID)
  }
})
