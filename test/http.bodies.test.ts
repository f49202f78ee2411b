import { randomBytes } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { gzipSync } from 'node:zlib'
import { expect, test } from 'vitest'
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
  process.stdout.write(
    `${WRITING.length} operations with ${BODIES.length * TYPES.length} hostile bodies each\n`,
  )
})

test('a body that is refused half-read gets its problem over a real connection', async () => {
  const service = await Service.start()
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
  const torn = gzipSync(randomBytes(3_000_000)).fill(0, 100_000, 200_000)
  expect(await send(path, 'PUT', 'application/x-ndjson', torn, { 'content-encoding': 'gzip' })).toEqual([
    400,
    problem,
    expect.stringContaining('/problems/'),
  ])
})
