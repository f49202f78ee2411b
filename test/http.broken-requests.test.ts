import { once } from 'node:events'
import { connect } from 'node:net'
import { beforeEach, expect, onTestFinished, test } from 'vitest'
import { SCOPES } from '../src/api/access/principal.ts'
import { untilHolds } from './support/command.ts'
import { type Answer, Connection, exchange, listen } from './support/connection.ts'
import { Service } from './support/service.ts'
import { makeSmallDefinition } from './support/small-definition.ts'

let service: Service

beforeEach(async () => {
  service = await Service.start({ OCCUPATIONS_ACCESS: 'public' })
  await service.import(['A', 'B', 'C'].map((occupationCode) => ({ occupationCode })))
})

const HOST = 'Host: localhost\r\n'
const LIVEZ = `GET /livez HTTP/1.1\r\n${HOST}\r\n`

function assertProblem({ status, headers, body }: Answer, expected: number, slug: string): void {
  expect(status).toBe(expected)
  expect(headers['content-type']).toBe('application/problem+json; charset=utf-8')
  expect(headers['api-supported-versions']).toBe('1.0')
  expect(headers).toHaveProperty('date')
  expect(JSON.parse(body)).toMatchObject({
    type: `/problems/${slug}`,
    status: expected,
    instance: `urn:uuid:${headers['x-request-id']}`,
  })
}

const MALFORMED: Record<string, string | Buffer> = {
  nonsense: 'this is not HTTP\r\n\r\n',
  'HTTP/2': 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n',
  'a method that there is not': `BREW /livez HTTP/1.1\r\n${HOST}\r\n`,
  'no Host': 'GET /livez HTTP/1.1\r\nAccept: */*\r\n\r\n',
  'two Hosts': `GET /livez HTTP/1.1\r\n${HOST}Host: example.org\r\n\r\n`,
  'a Host that is none': 'GET /livez HTTP/1.1\r\nHost: a/b\r\n\r\n',
  'a fragment': `GET /v1/occupations#?Limit=1 HTTP/1.1\r\n${HOST}\r\n`,
  'a header name with a space': `GET /livez HTTP/1.1\r\n${HOST}X Y: 1\r\n\r\n`,
  'a header without a colon': `GET /livez HTTP/1.1\r\n${HOST}nothing\r\n\r\n`,
  'a header with a NUL': `GET /livez HTTP/1.1\r\n${HOST}X-A: a\0b\r\n\r\n`,
  'two lengths that differ': `GET /livez HTTP/1.1\r\n${HOST}Content-Length: 4\r\nContent-Length: 5\r\n\r\nabcd`,
  'a negative length': `GET /livez HTTP/1.1\r\n${HOST}Content-Length: -1\r\n\r\n`,
  'a length and chunks': `GET /livez HTTP/1.1\r\n${HOST}Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`,
  'a coding that is not chunked': `GET /livez HTTP/1.1\r\n${HOST}Transfer-Encoding: gzip\r\n\r\n`,
  'a path that is not percent-encoded': `GET /v1/occupations%zz HTTP/1.1\r\n${HOST}Connection: close\r\n\r\n`,
  'a path that is not UTF-8': `GET /v1/submissions/%ff%fe/validation-results HTTP/1.1\r\n${HOST}Connection: close\r\n\r\n`,
}

test('malformed HTTP gets 400, and a line in the log under its id', async () => {
  for (const [what, bytes] of Object.entries(MALFORMED)) {
    const answer = await exchange(service, bytes)
    expect([what, answer.status]).toEqual([what, 400])
    assertProblem(answer, 400, 'malformed-request')
    // The line is written once the response has ended, which its client can see first.
    await untilHolds(() => {
      const lines = service.log
        .map((line) => JSON.parse(line))
        .filter(({ id }) => id === answer.headers['x-request-id'])
      expect(lines, what).toMatchObject([{ level: 'info', status: 400 }])
    })
  }
})

test('a Host is a name or an address, and a port where there is one', async () => {
  for (const host of ['localhost', 'EXAMPLE.org:8080', '192.0.2.1:', '[::1]:80', 'a_b', '']) {
    const { status } = await exchange(service, `GET /livez HTTP/1.1\r\nHost: ${host}\r\n\r\n`)
    expect([host, status]).toEqual([host, 200])
  }
  for (const host of ['a b', 'a:b', 'a:80:80', 'a@b', '[::1', 'a,b c', 'http://a', 'm\u0101ori']) {
    const { status } = await exchange(service, `GET /livez HTTP/1.1\r\nHost: ${host}\r\n\r\n`)
    expect([host, status]).toEqual([host, 400])
  }
})

test('headers that are too large, or too many, are 431', async () => {
  const long = 'x'.repeat(20_000)
  const many = Array.from({ length: 3000 }, (_, index) => `x-${index}: y\r\n`).join('')
  for (const bytes of [
    `GET /livez HTTP/1.1\r\n${HOST}X-Long: ${long}\r\n\r\n`,
    `GET /livez HTTP/1.1\r\n${HOST}${many}\r\n`,
    `GET /livez HTTP/1.1\r\n${HOST}${'a: b\r\n'.repeat(1000)}\r\n`,
    `GET /${long} HTTP/1.1\r\n${HOST}\r\n`,
    `GET /livez HTTP/1.1\r\n${HOST}Cookie: ${long}`,
  ]) {
    const connection = await Connection.open(service)
    assertProblem(await connection.send(bytes).read(), 431, 'headers-too-large')
    expect(await connection.readToEnd()).toBe('')
  }
})

test('an expectation that is unknown is 417, and the known one is met', async () => {
  const ask = (expectation: string) => `GET /livez HTTP/1.1\r\n${HOST}Expect: ${expectation}\r\n\r\n`
  assertProblem(await exchange(service, ask('202-accepted')), 417, 'expectation-failed')
  const connection = (await Connection.open(service)).send(ask('100-continue'))
  expect([(await connection.read()).status, (await connection.read()).status]).toEqual([100, 200])
})

test('a broken request has its response in turn, ends its connection, and does no harm to others', async () => {
  const good = await Connection.open(service)
  const page = `GET /v1/occupations?Limit=2 HTTP/1.1\r\n${HOST}\r\n`
  const connection = (await Connection.open(service)).send(`${page}${LIVEZ}${page}nonsense\r\n\r\n`)
  const [first, second, third] = [await connection.read(), await connection.read(), await connection.read()]
  expect([first.status, second.status, third.status]).toEqual([200, 200, 200])
  expect(JSON.parse(first.body)).toMatchObject({ resultsCount: 2 })
  expect(third.body).toBe(first.body)
  const broken = await connection.read()
  assertProblem(broken, 400, 'malformed-request')
  expect(broken.headers.connection).toBe('close')
  expect(await connection.readToEnd()).toBe('')
  expect((await good.send(LIVEZ).read()).status).toBe(200)
})

test('a body that comes with GET is not looked at, and the next request is answered', async () => {
  const cases: [headers: string, body: string][] = [
    ['Content-Type: application/json\r\nContent-Length: 5\r\n', '{{{{{'],
    ['Content-Type: ;;;\r\nContent-Length: 5\r\n', 'hello'],
    ['Transfer-Encoding: chunked\r\n', '5\r\nhello\r\n0\r\n\r\n'],
    ['Content-Length: 300000\r\n', 'x'.repeat(300_000)],
    [`Content-Length: ${LIVEZ.length}\r\n`, LIVEZ],
  ]
  for (const [headers, body] of cases) {
    const connection = await Connection.open(service)
    connection.send(`GET /v1/occupations?Limit=1 HTTP/1.1\r\n${HOST}${headers}\r\n${body}`)
    connection.send(`GET /v1/occupations?Limit=3 HTTP/1.1\r\n${HOST}\r\n`)
    const counts = []
    for (const _ of [1, 2]) counts.push(JSON.parse((await connection.read()).body).resultsCount)
    expect([headers, counts]).toEqual([headers, [1, 3]])
  }
})

test('a body with a malformed chunk gets its response at once, and does not keep its file from others', async () => {
  service = await Service.start({ DEFINITIONS: makeSmallDefinition() })
  const { key } = await service.createKey({ scopes: SCOPES, eids: ['1001'] })
  const headers = { 'x-api-key': key, eid: '1001' }
  const file = `/v1/submissions/${await service.createSubmission(headers)}/files/people`
  for (const [line, type, good] of [
    ['POST /v1/submissions', 'application/json', '{"returnId":'],
    [`PUT ${file}`, 'text/csv', 'localId,id\nx,'],
  ] as const) {
    const connection = await Connection.open(service)
    connection.send(
      `${line} HTTP/1.1\r\n${HOST}X-API-Key: ${key}\r\nEID: 1001\r\nContent-Type: ${type}\r\nTransfer-Encoding: chunked\r\n\r\n`,
    )
    connection.send(`${good.length.toString(16)}\r\n${good}\r\nzz\r\nabc\r\n0\r\n\r\n`)
    assertProblem(await connection.read(), 400, 'malformed-body')
    connection.end()
    expect(await connection.readToEnd()).toBe('')
  }
  const stored = await service.request({
    method: 'PUT',
    url: file,
    headers: { ...headers, 'content-type': 'text/csv' },
    payload: 'localId,id\n1,A1\n',
  })
  expect(stored.statusCode).toBe(200)
})

test('a client that closes its half of a connection still has every response', async () => {
  const ask = (limit: number) => `GET /v1/occupations?Limit=${limit} HTTP/1.1\r\n${HOST}\r\n`
  const connection = (await Connection.open(service)).send(ask(1) + ask(2) + ask(3)).end()
  for (const count of [1, 2, 3]) expect(JSON.parse((await connection.read()).body).resultsCount).toBe(count)
  expect(await connection.readToEnd()).toBe('')
  const half = (await Connection.open(service)).send('GET /liv').end()
  assertProblem(await half.read(), 400, 'malformed-request')
  expect(await half.readToEnd()).toBe('')
})

test('a request with Upgrade ends its connection, because those behind it have no response', async () => {
  for (const path of ['/livez', '/v1/occupations']) {
    const upgrade = `GET ${path} HTTP/1.1\r\n${HOST}Connection: Upgrade\r\nUpgrade: websocket\r\n\r\n`
    const connection = (await Connection.open(service)).send(`${upgrade}${LIVEZ}`)
    expect((await connection.read()).headers.connection).toBe('close')
    expect(await connection.readToEnd()).toBe('')
  }
})

test('a client that resets its connection after a broken request does not end the process', async () => {
  const port = await listen(service)
  const thrown: unknown[] = []
  const note = (error: unknown) => thrown.push(error)
  process.prependListener('uncaughtException', note)
  onTestFinished(() => {
    process.off('uncaughtException', note)
  })
  for (const request of ['CONNECT localhost:1 HTTP/1.1\r\nHost: localhost\r\n\r\n', 'nonsense\r\n\r\n']) {
    const socket = connect({ host: '127.0.0.1', port, allowHalfOpen: true })
    await once(socket, 'connect')
    socket.write(request)
    await once(socket, 'data')
    socket.resetAndDestroy()
  }
  const connections = () =>
    new Promise<number>((resolve) => service.app.server.getConnections((_, count) => resolve(count)))
  await expect.poll(connections).toBe(0)
  expect(thrown).toEqual([])
})
