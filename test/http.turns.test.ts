import { EventEmitter, once } from 'node:events'
import type { Server } from 'node:http'
import { type AddressInfo, connect, type Socket } from 'node:net'
import type { FastifyRequest } from 'fastify'
import { expect, onTestFinished, test } from 'vitest'
import { Turns } from '../src/api/serving/turns.ts'
import { until } from './support/command.ts'
import { Service } from './support/service.ts'

/** So many pages keep the process busy for some hundred milliseconds. */
const PAGES = 100

const page = (index: number) => `/v1/occupations?Limit=100&Cursor=C${1000 + index}`
const get = (path: string, more = '') => `GET ${path} HTTP/1.1\r\nHost: a\r\n${more}\r\n`

/** A service that listens, with pages of 360 KB; `handled` has the paths of requests in the order of their handling. */
async function serve(environment: Record<string, string> = {}) {
  const service = await Service.start({ OCCUPATIONS_ACCESS: 'public', PAGE_CACHE_MB: '0', ...environment })
  await service.import(
    Array.from({ length: 2 * PAGES }, (_, index) => ({
      occupationCode: `C${1000 + index}`,
      titleEnglish: `Title ${index}`,
      descriptionEnglish: 'x'.repeat(3_600),
    })),
  )
  const handled: string[] = []
  service.app.addHook('preHandler', (request, _reply, done) => {
    handled.push(request.url)
    done()
  })
  await service.app.listen({ port: 0, host: '127.0.0.1', backlog: 256 })
  const { port } = service.app.server.address() as AddressInfo
  const open = (localAddress = '127.0.0.1') => {
    const socket = connect({ port, host: '127.0.0.1', localAddress })
    socket.on('error', () => undefined)
    onTestFinished(() => void socket.destroy())
    return socket
  }
  return { service, handled, open }
}

/** Waits until the service has accepted a connection. */
async function accepted(socket: Socket): Promise<Socket> {
  socket.write(get('/livez'))
  await once(socket, 'data')
  return socket
}

/** Everything that arrives on a connection until it ends. */
async function readAll(socket: Socket): Promise<string> {
  let text = ''
  socket.on('data', (chunk: Buffer) => {
    text += chunk.toString('latin1')
  })
  await once(socket, 'close')
  return text
}

const CLOSE = 'Connection: close\r\n'
const statusOf = (response: string) => Number(response.slice(9, 12))

test('a health check behind many pages is answered before they are handled', async () => {
  const { open, handled } = await serve()
  const busy = await Promise.all(Array.from({ length: PAGES }, () => accepted(open())))
  const probe = await accepted(open())
  handled.length = 0
  for (const [index, socket] of busy.entries()) socket.resume().write(get(page(index)))
  probe.write(get('/readyz'))
  const [response] = (await once(probe, 'data')) as [Buffer]
  expect(statusOf(response.toString('latin1'))).toBe(200)
  expect(handled.indexOf('/readyz')).toBeLessThan(PAGES / 2)
  await until(() => (handled.length === PAGES + 1 ? true : undefined))
})

test('a new connection is accepted before the pages of the connections before it are handled', async () => {
  const { open, handled } = await serve()
  for (let index = 0; index < PAGES; index++)
    open()
      .resume()
      .write(get(page(index)))
  open().resume().write(get('/livez'))
  await until(() => (handled.includes('/livez') ? true : undefined))
  expect(handled.indexOf('/livez')).toBeLessThan(PAGES / 2)
  await until(() => (handled.length === PAGES + 1 ? true : undefined))
})

test('addresses take turns, however many requests one of them sends', async () => {
  const { open, handled } = await serve()
  const busy = await Promise.all(Array.from({ length: PAGES }, () => accepted(open())))
  const other = await accepted(open('127.0.0.2'))
  handled.length = 0
  for (const [index, socket] of busy.entries()) socket.resume().write(get(page(index)))
  const path = page(PAGES)
  other.resume().write(get(path))
  await until(() => (handled.length === PAGES + 1 ? true : undefined))
  expect(handled.indexOf(path)).toBeLessThan(PAGES / 2)
})

test('of requests that wait too long for their turn, the process refuses the rest, and health checks never', async () => {
  const { service, open } = await serve({ OVERLOAD_DELAY_MS: '20' })
  const responses = Array.from({ length: PAGES }, (_, index) => {
    const socket = open()
    socket.write(get(page(index), CLOSE))
    return readAll(socket)
  })
  const health = ['/livez', '/readyz'].map((path) => {
    const socket = open()
    socket.write(get(path, CLOSE))
    return readAll(socket)
  })
  expect((await Promise.all(health)).map(statusOf)).toEqual([200, 200])
  const all = await Promise.all(responses)
  const refused = all.filter((response) => statusOf(response) === 503)
  expect(new Set(all.map(statusOf))).toEqual(new Set([200, 503]))
  for (const response of refused) {
    expect(response).toMatch(/\r\nretry-after: 1\r\n/i)
    expect(response).toContain('"detail":"The service is overloaded."')
  }
  const metrics = await service.metrics.registry.metrics()
  expect(metrics).toContain(`mahi_requests_overdue_total ${refused.length}\n`)
  expect(metrics).toContain('mahi_requests_waiting 0\n')
  expect((await service.get(page(0))).statusCode).toBe(200)
})

test('pipelined requests keep their order while others wait', async () => {
  const { open } = await serve()
  for (let index = 0; index < PAGES; index++)
    open()
      .resume()
      .write(get(page(index)))
  const paths = ['/v1/occupations/C1003', '/livez', '/v1/occupations/C1001', '/livez', '/v1/nothing']
  const pipelining = open()
  pipelining.write(paths.map((path, index) => get(path, index === 4 ? CLOSE : '')).join(''))
  const text = await readAll(pipelining)
  expect(text.match(/"occupationCode":"C\d+"|"alive"|"status":404/g)).toEqual([
    '"occupationCode":"C1003"',
    '"alive"',
    '"occupationCode":"C1001"',
    '"alive"',
    '"status":404',
  ])
})

test('a request whose client leaves while it waits is not handled', async () => {
  const { service, open, handled } = await serve()
  const busy = await Promise.all(Array.from({ length: PAGES }, () => accepted(open())))
  handled.length = 0
  for (const [index, socket] of busy.entries()) socket.resume().write(get(page(index)))
  await until(() => (handled.length > 0 ? true : undefined))
  for (const socket of busy) socket.resetAndDestroy()
  await expect
    .poll(async () => await service.metrics.registry.metrics())
    .toContain('mahi_requests_waiting 0\n')
  expect(handled.length).toBeLessThan(PAGES)
})

test('only so many requests with a body wait, because each occupies memory', async () => {
  const { open } = await serve()
  const sockets = await Promise.all(Array.from({ length: 300 }, () => accepted(open())))
  const responses = sockets.map((socket, index) => {
    // Small enough that none is refused because others have not been read.
    const path = page(index % PAGES).replace('Limit=100', 'Limit=20')
    socket.write(`${get(path, `${CLOSE}Content-Length: 2\r\n`)}{}`)
    return readAll(socket)
  })
  const all = (await Promise.all(responses)).map(statusOf)
  expect(new Set(all)).toEqual(new Set([200, 503]))
  expect(all.filter((status) => status === 200).length).toBeGreaterThanOrEqual(256)
})

test('a stop waits for requests that wait for their turn', async () => {
  const { service, open, handled } = await serve()
  const busy = await Promise.all(Array.from({ length: PAGES }, () => accepted(open())))
  handled.length = 0
  const responses = busy.map((socket, index) => {
    socket.write(get(page(index)))
    return readAll(socket)
  })
  await until(() => (handled.length > 0 ? true : undefined))
  await service.lifecycle.end()
  const all = await Promise.all(responses)
  expect(all.map(statusOf)).toEqual(Array.from({ length: PAGES }, () => 200))
  for (const each of all) expect(each.endsWith('}')).toBe(true)
})

/** Turns without a service; `enter` returns how many requests of this address have been handled or refused. */
function makeTurns() {
  const turns = new Turns(0)
  const server = new EventEmitter()
  turns.watch(server as Server)
  const count = new Map<string, number>()
  const enter = (ip: string, socket: object = { destroyed: true }) => {
    const request = {
      ip,
      method: 'GET',
      arrived: performance.now(),
      routeOptions: { config: {} },
      raw: { headers: {}, socket },
      socket: {},
    }
    turns.enter(request as FastifyRequest, () => count.set(ip, (count.get(ip) ?? 0) + 1))
    return count.get(ip) ?? 0
  }
  const accept = () => {
    const socket = { destroyed: true }
    server.emit('connection', socket)
    return socket
  }
  return { turns, enter, accept }
}

test('while 2,000 requests wait, further ones of the same addresses get 503 at once, and those of others do not', () => {
  const { turns, enter } = makeTurns()
  for (let index = 0; index < 2_000; index++) expect(enter('192.0.2.1')).toBe(0)
  for (let index = 1; index <= 10; index++) expect(enter('192.0.2.1')).toBe(index)
  expect([turns.waiting, turns.refused]).toEqual([2_000, 10])
  enter('192.0.2.2')
  enter('192.0.2.2')
  expect([turns.waiting, turns.refused]).toEqual([2_001, 10])
})

test('a caller who is not the cause of the wait does not wait, once in each turn and not on new connections', async () => {
  const { turns, enter, accept } = makeTurns()
  enter('192.0.2.1')
  const known = accept()
  expect(enter('192.0.2.2', known)).toBe(0)
  expect(enter('192.0.2.3')).toBe(1)
  expect(enter('192.0.2.3')).toBe(1)
  expect(enter('192.0.2.2', known)).toBe(0)
  // The next turn only accepts; the one after it ends the wait of all.
  accept()
  await new Promise((resolve) => setImmediate(resolve))
  expect(enter('192.0.2.4')).toBe(1)
  expect(turns.waiting).toBeGreaterThan(0)
  await expect.poll(() => turns.waiting).toBe(0)
})
