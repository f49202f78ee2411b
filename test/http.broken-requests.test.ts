import { once } from 'node:events'
import { connect } from 'node:net'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { gzipSync } from 'node:zlib'
import { beforeEach, describe, expect, onTestFinished, test } from 'vitest'
import { SCOPES } from '../src/api/access/principal.ts'
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
  'the beginning of TLS': Buffer.from('16030100f8010000f40303', 'hex'),
  'HTTP/2': 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n',
  'a version that there is not': `GET /livez HTTP/9.9\r\n${HOST}\r\n`,
  'a method that there is not': `BREW /livez HTTP/1.1\r\n${HOST}\r\n`,
  'a method in small letters': `get /livez HTTP/1.1\r\n${HOST}\r\n`,
  'no Host': 'GET /livez HTTP/1.1\r\nAccept: */*\r\n\r\n',
  'two Hosts': `GET /livez HTTP/1.1\r\n${HOST}Host: example.org\r\n\r\n`,
  'the same Host twice': `GET /livez HTTP/1.1\r\n${HOST}hOST: localhost\r\n\r\n`,
  'a Host that is none': 'GET /livez HTTP/1.1\r\nHost: a/b\r\n\r\n',
  'HTTP/2 in the words of HTTP/1': `GET /livez HTTP/2.0\r\n${HOST}\r\n`,
  'RTSP with a method of HTTP': 'GET /v1/occupations RTSP/1.0\r\n\r\n',
  'a method of RTSP': 'SETUP rtsp://localhost/livez RTSP/1.0\r\n\r\n',
  'a fragment': `GET /v1/occupations#?Limit=1 HTTP/1.1\r\n${HOST}\r\n`,
  'a header name with a space': `GET /livez HTTP/1.1\r\n${HOST}X Y: 1\r\n\r\n`,
  'a header without a colon': `GET /livez HTTP/1.1\r\n${HOST}nothing\r\n\r\n`,
  'a header with a NUL': `GET /livez HTTP/1.1\r\n${HOST}X-A: a\0b\r\n\r\n`,
  'two lengths that differ': `GET /livez HTTP/1.1\r\n${HOST}Content-Length: 4\r\nContent-Length: 5\r\n\r\nabcd`,
  'two lengths in one': `GET /livez HTTP/1.1\r\n${HOST}Content-Length: 4, 5\r\n\r\nabcd`,
  'a negative length': `GET /livez HTTP/1.1\r\n${HOST}Content-Length: -1\r\n\r\n`,
  'a length that is no number': `GET /livez HTTP/1.1\r\n${HOST}Content-Length: many\r\n\r\n`,
  'a length and chunks': `GET /livez HTTP/1.1\r\n${HOST}Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`,
  'a coding that is not chunked': `GET /livez HTTP/1.1\r\n${HOST}Transfer-Encoding: gzip\r\n\r\n`,
  'a path that is not percent-encoded': `GET /v1/occupations%zz HTTP/1.1\r\n${HOST}Connection: close\r\n\r\n`,
  'a path that is not UTF-8': `GET /v1/submissions/%ff%fe/validation-results HTTP/1.1\r\n${HOST}Connection: close\r\n\r\n`,
  'a path that ends too soon': `GET /v9/occupations/%E0%A4 HTTP/1.1\r\n${HOST}Connection: close\r\n\r\n`,
}

test('malformed HTTP gets 400, and a line in the log under its id', async () => {
  for (const [what, bytes] of Object.entries(MALFORMED)) {
    const answer = await exchange(service, bytes)
    expect([what, answer.status]).toEqual([what, 400])
    assertProblem(answer, 400, 'malformed-request')
    const lines = service.log
      .map((line) => JSON.parse(line))
      .filter(({ id }) => id === answer.headers['x-request-id'])
    expect(lines, what).toMatchObject([{ level: 'info', status: 400 }])
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

test('a broken request ends its connection, once its answer is there', async () => {
  const connection = (await Connection.open(service)).send('nonsense\r\n\r\n')
  const { headers } = await connection.read()
  expect(headers.connection).toBe('close')
  expect(await connection.readToEnd()).toBe('')
})

test('a broken request does no harm to other connections', async () => {
  const good = await Connection.open(service)
  expect((await good.send(LIVEZ).read()).status).toBe(200)
  for (let index = 0; index < 20; index++)
    assertProblem(await exchange(service, '\0\r\n\r\n'), 400, 'malformed-request')
  expect((await good.send(LIVEZ).read()).status).toBe(200)
})

describe('a connection that has had good requests', () => {
  test('gets the response to a broken one in turn', async () => {
    const connection = await Connection.open(service)
    for (let index = 0; index < 3; index++) expect((await connection.send(LIVEZ).read()).status).toBe(200)
    assertProblem(await connection.send('nonsense\r\n\r\n').read(), 400, 'malformed-request')
    expect(await connection.readToEnd()).toBe('')
  })

  test('has the answers to those first, when all came at once', async () => {
    const page = `GET /v1/occupations?Limit=2 HTTP/1.1\r\n${HOST}\r\n`
    const connection = (await Connection.open(service)).send(`${page}${LIVEZ}${page}nonsense\r\n\r\n`)
    const [first, second, third] = [await connection.read(), await connection.read(), await connection.read()]
    expect([first.status, second.status, third.status]).toEqual([200, 200, 200])
    expect(JSON.parse(first.body)).toMatchObject({ resultsCount: 2 })
    expect(third.body).toBe(first.body)
    assertProblem(await connection.read(), 400, 'malformed-request')
    expect(await connection.readToEnd()).toBe('')
  })
})

test('a connection that waits keeps nothing of the requests that it has had', async () => {
  setFlagsFromString('--expose-gc')
  const collectGarbage = runInNewContext('gc') as () => void
  await listen(service)
  const answers: WeakRef<object>[] = []
  service.app.server.on('request', (_, response) => answers.push(new WeakRef(response)))

  const connection = await Connection.open(service)
  for (const path of ['/livez', '/v1/occupations', '/nowhere'])
    await connection.send(`GET ${path} HTTP/1.1\r\n${HOST}\r\n`).read()
  await nextTurn()
  collectGarbage()
  expect(answers.map((answer) => answer.deref())).toEqual([undefined, undefined, undefined])
})

test('a method of another protocol has its answer in its turn, and the log does not complain', async () => {
  const page = `GET /v1/occupations?Limit=2 HTTP/1.1\r\n${HOST}\r\n`
  const connection = (await Connection.open(service)).send(`${page}SETUP rtsp://a RTSP/1.0\r\n\r\n`)
  expect(JSON.parse((await connection.read()).body)).toMatchObject({ resultsCount: 2 })
  assertProblem(await connection.read(), 400, 'malformed-request')
  expect(await connection.readToEnd()).toBe('')
  const lines = service.log.map((line) => JSON.parse(line))
  expect(lines.filter(({ level, audit }) => level !== 'info' && audit === undefined)).toEqual([])
})

describe('requests that follow each other without waiting', () => {
  test('get separate responses in order', async () => {
    const paths = [
      '/livez',
      '/nowhere',
      '/v1/occupations?Limit=1',
      '/v9/occupations',
      '/readyz',
      '/v1/occupations%zz',
      '/problems/not-found',
      '/v1/occupations?Limit=0',
      '/livez',
    ]
    const connection = await Connection.open(service)
    connection.send(paths.map((path) => `GET ${path} HTTP/1.1\r\n${HOST}\r\n`).join(''))
    const answers: Answer[] = []
    for (const _ of paths) answers.push(await connection.read())
    expect(answers.map(({ status }) => status)).toEqual([200, 404, 200, 400, 200, 400, 200, 400, 200])
    expect(new Set(answers.map(({ headers }) => headers['x-request-id'])).size).toBe(paths.length)
  })

  test('are all answered, when there are many', async () => {
    const connection = await Connection.open(service)
    const ask = `GET /v1/occupations HTTP/1.1\r\n${HOST}\r\n`
    const { body } = await connection.send(ask).read()
    connection.send(ask.repeat(60))
    const bodies = new Set<string>()
    for (let index = 0; index < 60; index++) bodies.add((await connection.read()).body)
    expect([...bodies]).toEqual([body])
  })
})

describe('a body that comes with GET', () => {
  const CASES: Record<string, [headers: string, body: string]> = {
    'with a length': ['Content-Length: 5\r\n', 'hello'],
    'of JSON': ['Content-Type: application/json\r\nContent-Length: 7\r\n', '{"a":1}'],
    'of broken JSON': ['Content-Type: application/json\r\nContent-Length: 5\r\n', '{{{{{'],
    'of a type that is none': ['Content-Type: ;;;\r\nContent-Length: 5\r\n', 'hello'],
    'in chunks': ['Transfer-Encoding: chunked\r\n', '5\r\nhello\r\n0\r\n\r\n'],
    'that is large': ['Content-Length: 300000\r\n', 'x'.repeat(300_000)],
    'that looks like a request': [`Content-Length: ${LIVEZ.length}\r\n`, LIVEZ],
  }

  test('is not looked at, and the next request is answered', async () => {
    for (const [what, [headers, body]] of Object.entries(CASES)) {
      const connection = await Connection.open(service)
      connection.send(`GET /v1/occupations?Limit=1 HTTP/1.1\r\n${HOST}${headers}\r\n${body}`)
      connection.send(`GET /v1/occupations?Limit=3 HTTP/1.1\r\n${HOST}\r\n`)
      const answers = [await connection.read(), await connection.read()]
      expect(
        answers.map((answer) => JSON.parse(answer.body).resultsCount),
        what,
      ).toEqual([1, 3])
      expect((await connection.send(LIVEZ).read()).status, what).toBe(200)
    }
  })

  test('whose chunks are broken has its answer, and ends the connection', async () => {
    const connection = await Connection.open(service)
    connection.send(
      `GET /livez HTTP/1.1\r\n${HOST}Transfer-Encoding: chunked\r\n\r\nzz\r\nhello\r\n0\r\n\r\n${LIVEZ}`,
    )
    expect((await connection.read()).status).toBe(200)
    expect(await connection.readToEnd()).toBe('')
  })

  test('that never comes keeps nobody waiting', async () => {
    const connection = await Connection.open(service)
    connection.send(`GET /v1/occupations?Limit=1 HTTP/1.1\r\n${HOST}Content-Length: 500\r\n\r\n`)
    expect((await connection.read()).status).toBe(200)
  })
})

describe('a body with a malformed chunk', () => {
  const chunk = (text: string | Buffer) =>
    Buffer.concat([Buffer.from(`${text.length.toString(16)}\r\n`), Buffer.from(text), Buffer.from('\r\n')])
  const BAD = 'zz\r\nabc\r\n0\r\n\r\n'

  test('gets its response at once, and does not keep its file from others', async () => {
    service = await Service.start({ CONSOLE: 'on', DEFINITIONS: makeSmallDefinition() })
    const { key } = await service.createKey({ scopes: SCOPES, eids: ['1001'] })
    const headers = { 'x-api-key': key, eid: '1001' }
    const created = await service.request({
      method: 'POST',
      url: '/v1/submissions',
      headers: { ...headers, 'content-type': 'application/json' },
      payload: '{"returnId":"202512"}',
    })
    const file = `/v1/submissions/${created.json().submissionToken}/files/people`
    const own = `X-API-Key: ${key}\r\nEID: 1001\r\n`
    const cases: [string, string, string | Buffer][] = [
      ['POST /v1/submissions', `${own}Content-Type: application/json\r\n`, '{"returnId":'],
      [
        'POST /console/sign-in',
        'Sec-Fetch-Site: same-origin\r\nContent-Type: application/x-www-form-urlencoded\r\n',
        'key=abc',
      ],
      [`PUT ${file}`, `${own}Content-Type: text/csv\r\n`, 'localId,id\nx,'],
      [
        `PUT ${file}`,
        `${own}Content-Type: text/csv\r\nContent-Encoding: gzip\r\n`,
        gzipSync('localId,id\n'.repeat(100)).subarray(0, 20),
      ],
    ]
    for (const [line, given, good] of cases) {
      for (const apart of [false, true]) {
        const head = `${line} HTTP/1.1\r\n${HOST}${given}Transfer-Encoding: chunked\r\n\r\n`
        const connection = await Connection.open(service)
        connection.send(Buffer.concat([Buffer.from(head), chunk(good), ...(apart ? [] : [Buffer.from(BAD)])]))
        // The part before is being read when the malformed one arrives.
        if (apart) for (let turn = 0; turn < 50; turn++) await nextTurn()
        const answer = await connection.send(apart ? BAD : LIVEZ).read()
        expect([line, answer.status]).toEqual([line, 400])
        if (!line.includes('console')) assertProblem(answer, 400, 'malformed-body')
        connection.end()
        expect(await connection.readToEnd()).toBe('')
        const stored = await service.request({
          method: 'PUT',
          url: file,
          headers: { ...headers, 'content-type': 'text/csv' },
          payload: 'localId,id\n1,A1\n',
        })
        expect(stored.statusCode).toBe(200)
      }
    }
  })
})

describe('a connection of which one half is closed', () => {
  test('has its answer, and is closed', async () => {
    const connection = (await Connection.open(service))
      .send(`GET /v1/occupations HTTP/1.1\r\n${HOST}\r\n`)
      .end()
    expect((await connection.read()).status).toBe(200)
    expect(await connection.readToEnd()).toBe('')
  })

  test('has every answer, when there are several to come', async () => {
    const ask = (limit: number) => `GET /v1/occupations?Limit=${limit} HTTP/1.1\r\n${HOST}\r\n`
    const connection = (await Connection.open(service)).send(ask(1) + ask(2) + ask(3)).end()
    for (const count of [1, 2, 3]) expect(JSON.parse((await connection.read()).body).resultsCount).toBe(count)
    expect(await connection.readToEnd()).toBe('')
  })

  test('in the middle of a request gets a response, and is closed', async () => {
    for (const part of [
      'GET /liv',
      `GET /livez HTTP/1.1\r\n${HOST}`,
      `GET /livez HTTP/1.1\r\n${HOST}X-A: `,
    ]) {
      const connection = (await Connection.open(service)).send(part).end()
      assertProblem(await connection.read(), 400, 'malformed-request')
      expect(await connection.readToEnd()).toBe('')
    }
  })

  test('before anything was said is closed', async () => {
    expect(await (await Connection.open(service)).end().readToEnd()).toBe('')
  })
})

test('a request that comes byte by byte is answered as any other', async () => {
  const connection = await Connection.open(service)
  for (const byte of `GET /v1/occupations?Limit=2 HTTP/1.1\r\n${HOST}\r\n`) {
    connection.send(byte)
    await new Promise(setImmediate)
  }
  expect(JSON.parse((await connection.read()).body)).toMatchObject({ resultsCount: 2 })
})

test('older and rarer forms of a request are answered', async () => {
  const http10 = (await Connection.open(service)).send('GET /livez HTTP/1.0\r\n\r\n')
  expect((await http10.read()).status).toBe(200)
  expect(await http10.readToEnd()).toBe('')
  expect((await exchange(service, `OPTIONS * HTTP/1.1\r\n${HOST}\r\n`)).status).toBe(204)
  const upgrade = `GET /livez HTTP/1.1\r\n${HOST}Connection: Upgrade\r\nUpgrade: websocket\r\n\r\n`
  expect((await exchange(service, upgrade)).status).toBe(200)
})

test('a request with Upgrade ends its connection, because those behind it have no response', async () => {
  for (const path of ['/livez', '/v1/occupations', '/nowhere']) {
    const upgrade = `GET ${path} HTTP/1.1\r\n${HOST}Connection: Upgrade\r\nUpgrade: websocket\r\n\r\n`
    const connection = (await Connection.open(service)).send(`${upgrade}${LIVEZ}`)
    expect((await connection.read()).headers.connection).toBe('close')
    expect(await connection.readToEnd()).toBe('')
  }
})

test('Node looks every second for requests that arrive too slowly', async () => {
  await listen(service)
  const { server } = service.app
  expect([server.headersTimeout, server.requestTimeout]).toEqual([15_000, 3_600_000])
  const interval = Object.getOwnPropertySymbols(server).find(
    ({ description }) => description === 'http.server.connectionsCheckingInterval',
  )
  expect(interval && Reflect.get(server, interval)).toMatchObject({ _repeat: 1000 })
})

test.each([
  ['CONNECT', 'CONNECT localhost:1 HTTP/1.1\r\nHost: localhost\r\n\r\n'],
  ['a malformed request', 'nonsense\r\n\r\n'],
  ['half a request', `POST /v1/codings HTTP/1.1\r\n${HOST}Content-Length: 5\r\n\r\nab`],
])('a client that resets its connection after %s does not end the process', async (_, request) => {
  const port = await listen(service)
  const thrown: unknown[] = []
  const note = (error: unknown) => thrown.push(error)
  process.prependListener('uncaughtException', note)
  onTestFinished(() => {
    process.off('uncaughtException', note)
  })
  for (let index = 0; index < 5; index++) {
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

test('a connection has at most 64 waiting requests: after their responses it is closed, and the rest is not parsed', async () => {
  const connection = await Connection.open(service)
  let parsed = 0
  service.app.server.on('request', () => parsed++)
  connection.send(LIVEZ.repeat(600))
  for (let count = 1; count <= 65; count++) {
    const { status, headers } = await connection.read()
    expect([count, status, headers.connection ?? 'keep-alive']).toEqual([
      count,
      200,
      count === 65 ? 'close' : 'keep-alive',
    ])
  }
  // What the client still sends is discarded: a reset would take responses from it that it has not read.
  connection.send(LIVEZ.repeat(100)).end()
  expect(await connection.readToEnd()).toBe('')
  expect(parsed).toBe(65)
})
