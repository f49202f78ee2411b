import { randomBytes } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { until } from './support/command.ts'
import { Connection } from './support/connection.ts'
import { Service } from './support/service.ts'

interface Operation {
  operationId: string
}
const { paths } = JSON.parse(readFileSync(new URL('../openapi.json', import.meta.url), 'utf8')) as {
  paths: Record<string, Record<string, Operation>>
}

/** Every operation that changes something, as openapi.json describes it. */
const WRITING = Object.entries(paths).flatMap(([path, operations]) =>
  Object.entries(operations)
    .filter(([method]) => method !== 'get')
    .map(([method, { operationId }]) => ({
      operationId,
      method: method.toUpperCase() as 'POST' | 'PUT' | 'DELETE',
      url: path.replaceAll(/\{[^}]+\}/g, 'x'),
    })),
)

/** Bodies that no operation can accept, or not in this form. */
const BODIES = [
  '',
  '{',
  'null',
  '[]',
  '"text"',
  '{"__proto__":{"a":1}}',
  '{"a":'.repeat(5000),
  `[${'['.repeat(5000)}`,
  '{"eid":1e999,"returnId":{},"limit":"\ud800"}',
  Buffer.from([0xff, 0xfe, 0x00, 0x80]),
  Buffer.from([0x1f, 0x8b, 0x08, 0x00, 0xde, 0xad]),
]
const TYPES = ['application/json', 'application/json; charset=utf-16', 'text/csv', 'text/plain', 'x', '']
const CODINGS = [undefined, 'gzip', 'br', 'identity']

test('a hostile body gets a problem that openapi.json describes, from every operation that has one', async () => {
  const service = await Service.start()
  for (const { operationId, method, url } of WRITING) {
    for (const [index, payload] of BODIES.entries()) {
      for (const type of TYPES) {
        const coding = CODINGS[index % CODINGS.length]
        const headers = {
          'x-api-key': service.key,
          eid: '1001',
          ...(type !== '' && { 'content-type': type }),
          ...(coding !== undefined && { 'content-encoding': coding }),
        }
        // Fails unless the document describes the response.
        const response = await service.request({ method, url, headers, payload })
        const sent = [operationId, type, coding, String(payload).slice(0, 30)]
        expect([...sent, response.statusCode < 500, response.statusCode]).toEqual([
          ...sent,
          true,
          response.statusCode,
        ])
      }
    }
  }
  expect(WRITING.length).toBeGreaterThan(15)
})

test('a body that is refused half-read gets its problem over a real connection', async () => {
  const service = await Service.start({ UPLOAD_MAX_MB: '1' })
  const { key } = await service.createKey({ scopes: ['submissions:write'], eids: ['1001'] })
  const url = await service.app.listen({ host: '127.0.0.1', port: 0 })
  const send = async (path: string, method: string, type: string, body: string | Buffer, coding = {}) => {
    const response = await fetch(`${url}/v1${path}`, {
      method,
      headers: { 'x-api-key': key, eid: '1001', 'content-type': type, ...coding },
      // A stream has no Content-Length: the service finds the limit while it reads.
      body: new Blob([Buffer.from(body)]).stream(),
      duplex: 'half',
    } as RequestInit)
    return [
      response.status,
      response.headers.get('content-type'),
      ((await response.json()) as { type?: string }).type,
    ]
  }
  const problem = 'application/problem+json; charset=utf-8'
  expect(
    await send('/submissions', 'POST', 'application/json', `{"returnId":"${'x'.repeat(100_000)}"}`),
  ).toEqual([413, problem, '/problems/content-too-large'])
  const created = await fetch(`${url}/v1/submissions`, {
    method: 'POST',
    headers: { 'x-api-key': key, eid: '1001', 'content-type': 'application/json' },
    body: '{"returnId":"202512"}',
  })
  const { submissionToken } = (await created.json()) as { submissionToken: string }
  const path = `/submissions/${submissionToken}/files/learners`
  const large = randomBytes(3_000_000)
  expect(await send(path, 'PUT', 'application/x-ndjson', large, { 'content-encoding': 'gzip' })).toEqual([
    413,
    problem,
    '/problems/content-too-large',
  ])
})

const MB = 2 ** 20
const BIG = 30 * MB

/** The head of a request, with the length of its body. */
function headOf(service: Service, lines: Record<string, string>): string {
  const all = { host: 'localhost', 'x-api-key': service.key, ...lines }
  const text = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`)
  return `POST /v1/codings HTTP/1.1\r\n${text.join('')}\r\n`
}

test.each([
  [
    401,
    { 'x-api-key': 'wrong', 'content-type': 'application/json', 'content-length': `${BIG}` },
    Buffer.alloc(BIG, 'x'),
  ],
  [415, { 'content-type': 'text/plain', 'content-length': `${BIG}` }, Buffer.alloc(BIG, 'x')],
  [413, { 'content-type': 'application/json', 'content-length': `${BIG}` }, Buffer.alloc(BIG, 'x')],
  [
    413,
    { 'content-type': 'application/json', 'transfer-encoding': 'chunked' },
    Buffer.from(`${MB.toString(16)}\r\n${'x'.repeat(MB)}\r\n`.repeat(30)),
  ],
])(
  'a client that sends 30 MB and only then reads gets its %i, and no further request is carried out',
  async (status, lines, body) => {
    const service = await Service.start()
    const before = service.log.length
    const connection = await Connection.open(service)
    connection.send(headOf(service, lines)).send(body).send('GET /livez HTTP/1.1\r\nhost: localhost\r\n\r\n')
    expect((await connection.read()).status).toBe(status)
    expect(await connection.readToEnd()).toBe('')
    expect(service.log.slice(before).filter((line) => line.includes('livez'))).toEqual([])
  },
)

test('a body has its memory until the response, whatever becomes of it, and not longer', async () => {
  const service = await Service.start({ OCCUPATIONS_ACCESS: 'public' })
  await service.import([{ occupationCode: 'A', titleEnglish: 'Nurse' }])
  await service.index()
  const { slots } = service.app.inFlight
  const headers = { 'content-type': 'application/json' }
  const payload = `{"items":[${Array.from({ length: 4 }, () => `{"title":"nurse"}${' '.repeat(50_000)}`)}]}`
  for (const [text, status] of [
    [payload, 200],
    [payload.slice(0, -1), 400],
  ] as const) {
    const response = await service.request({ method: 'POST', url: '/v1/codings', payload: text, headers })
    expect([response.statusCode, slots.used]).toEqual([status, 0])
  }
  const connection = await Connection.open(service)
  connection.send(headOf(service, { ...headers, 'content-length': '100000' })).send(' '.repeat(50_000))
  await until(() => slots.used > 0)
  connection.end()
  await until(() => slots.used === 0)
})

test('a body that is deep, has many values or no UTF-8 is refused, and what looks like it in a text is not', async () => {
  const service = await Service.start({ OCCUPATIONS_ACCESS: 'public' })
  await service.import([{ occupationCode: 'A', titleEnglish: 'Nurse' }])
  await service.index()
  const statusOf = async (payload: string | Buffer) => {
    const headers = { 'content-type': 'application/json' }
    return (await service.request({ method: 'POST', url: '/v1/codings', payload, headers })).statusCode
  }
  const titled = (title: string) => JSON.stringify({ items: [{ title }] })
  expect(await statusOf(`{"items":${'['.repeat(101)}${']'.repeat(101)}}`)).toBe(400)
  expect(await statusOf(`{"items":[${'1,'.repeat(300_000)}1]}`)).toBe(413)
  expect(await statusOf(Buffer.from(titled('\u00e9'), 'latin1'))).toBe(400)
  for (const broken of ['{"items":[1 2]}', '{"items":[{"title":"\\"}]}', '{"items":["', '\ufeff', ' \n'])
    expect([broken, await statusOf(broken)]).toEqual([broken, 400])
  expect(await statusOf(titled(`${'['.repeat(110)}"\\${'{'.repeat(10)}`))).toBe(200)
})
