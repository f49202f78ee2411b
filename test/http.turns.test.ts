import { EventEmitter } from 'node:events'
import type { Server } from 'node:http'
import type { FastifyRequest } from 'fastify'
import { expect, onTestFinished, test, vi } from 'vitest'
import { Turns } from '../src/api/serving/turns.ts'
import { until } from './support/command.ts'
import { Connection, listen } from './support/connection.ts'
import { Service } from './support/service.ts'

interface Arrival {
  readonly operation?: string
  readonly body?: boolean
  readonly arrived?: number
  readonly socket?: { destroyed: boolean }
}

/** Turns without a service; `enter` returns how many requests of an address have been handled or refused. */
function makeTurns(patience = 0) {
  const turns = new Turns(patience)
  const server = new EventEmitter()
  turns.watch(server as Server)
  const handled: string[] = []
  let refused = 0
  const enter = (ip: string, { operation, body, arrived, socket }: Arrival = {}) => {
    const request = {
      ip,
      method: 'GET',
      arrived: arrived ?? performance.now(),
      routeOptions: { config: { operation } },
      raw: { headers: body ? { 'content-length': '2' } : {}, socket: socket ?? { destroyed: false } },
      socket: {},
    }
    turns.enter(request as FastifyRequest, (error) => {
      handled.push(ip)
      if (error !== undefined) refused++
    })
    return handled.filter((each) => each === ip).length
  }
  const accept = () => {
    const socket = { destroyed: false }
    server.emit('connection', socket)
    return socket
  }
  const finish = () => until(() => turns.waiting === 0 || undefined)
  return { turns, enter, accept, handled, finish, refused: () => refused }
}

test('a health check never waits, and addresses take turns, however many requests one of them sends', async () => {
  const { enter, handled, finish } = makeTurns()
  for (let index = 0; index < 100; index++) enter('192.0.2.1')
  expect(enter('192.0.2.9', { operation: 'readyz' })).toBe(1)
  // The first request of another address does not wait either, the next ones are every second one.
  expect(enter('192.0.2.2')).toBe(1)
  enter('192.0.2.2')
  enter('192.0.2.2')
  await finish()
  expect(handled.slice(2, 6).sort()).toEqual(['192.0.2.1', '192.0.2.1', '192.0.2.2', '192.0.2.2'])
  expect(handled).toHaveLength(104)
})

test('a request that has waited too long is refused, and one whose client has left is not handled', async () => {
  // The turn in which requests are handled does not end.
  vi.useFakeTimers({ toFake: ['performance'] })
  onTestFinished(() => void vi.useRealTimers())
  const { turns, enter, handled, finish, refused } = makeTurns(20)
  const late = performance.now() - 1_000
  for (let index = 0; index < 3; index++) enter('192.0.2.1', { arrived: late })
  enter('192.0.2.1', { socket: { destroyed: true } })
  await finish()
  // The first of a turn is handled in any case, so that there is progress.
  expect([handled.length, refused(), turns.refused]).toEqual([3, 2, 2])
})

test('only so many requests with a body wait, because each occupies memory', async () => {
  const { turns, enter, finish, refused } = makeTurns()
  for (let index = 0; index < 300; index++) enter('192.0.2.1', { body: true })
  expect([turns.waiting, refused()]).toEqual([256, 44])
  await finish()
})

test('while 2,000 requests wait, further ones of the same addresses get 503 at once, and those of others do not', async () => {
  const { turns, enter, finish } = makeTurns()
  for (let index = 0; index < 2_000; index++) expect(enter('192.0.2.1')).toBe(0)
  for (let index = 1; index <= 10; index++) expect(enter('192.0.2.1')).toBe(index)
  expect([turns.waiting, turns.refused]).toEqual([2_000, 10])
  enter('192.0.2.2')
  enter('192.0.2.2')
  expect([turns.waiting, turns.refused]).toEqual([2_001, 10])
  await finish()
})

test('a stop waits for requests that wait for their turn', async () => {
  const service = await Service.start({ OCCUPATIONS_ACCESS: 'public', PAGE_CACHE_MB: '0' })
  await service.import([{ occupationCode: 'A' }])
  let handled = 0
  service.app.addHook('preHandler', (_request, _reply, done) => {
    handled++
    done()
  })
  await listen(service)
  const get = (path: string) => `GET ${path} HTTP/1.1\r\nHost: a\r\n\r\n`
  const connections = await Promise.all(
    Array.from({ length: 50 }, async () => {
      const connection = await Connection.open(service)
      await connection.send(get('/livez')).read()
      return connection
    }),
  )
  handled = 0
  for (const connection of connections) connection.send(get('/v1/occupations/A'))
  await until(() => handled > 0 || undefined)
  await service.lifecycle.end()
  for (const connection of connections) {
    const { status, body } = await connection.read()
    expect([status, JSON.parse(body).occupationCode]).toEqual([200, 'A'])
  }
})
