import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { Socket } from 'node:net'
import { expect, test } from 'vitest'
import { beginResponse, endResponse } from '../src/api/serving/last-response.ts'
import {
  mayHoldMuch,
  nameOf,
  readQueues,
  readSystemMemory,
  readSystemQueues,
  SocketBuffers,
} from '../src/api/serving/socket-buffers.ts'
import { Budget } from '../src/foundation/budget/budget.ts'
import { Installation, until } from './support/command.ts'
import { listenOn, openSocket } from './support/connection.ts'
import { testWhere } from './support/test-where.ts'

const MB = 2 ** 20

/** What the operating system may hold of unread responses. */
const CAPACITY = 64 * MB

const BUNDLE = '/openapi.json'
const GET = `GET ${BUNDLE} HTTP/1.1\r\nHost: a\r\n`

/** What the system holds for the connections to a port, in bytes, connections that were closed included. */
function readQueued(url: string): number {
  const port = Number(new URL(url).port).toString(16).padStart(4, '0').toUpperCase()
  return [...readQueues(readFileSync('/proc/net/tcp', 'latin1'))]
    .filter(([name]) => name.startsWith(`${port} `))
    .reduce((sum, [, bytes]) => sum + bytes, 0)
}

/** Reads one response; returns its status and the length of its body. */
async function readResponse(socket: Socket): Promise<{ status: number; bytes: number }> {
  let [head, bytes, length] = ['', 0, Number.POSITIVE_INFINITY]
  for await (const chunk of socket.iterator({ destroyOnReturn: false })) {
    bytes += (chunk as Buffer).length
    if (head === '') {
      const text = (chunk as Buffer).toString('latin1')
      head = text.slice(0, text.indexOf('\r\n\r\n') + 4)
      bytes -= head.length
      length = Number(/^content-length: (\d+)/im.exec(head)?.[1])
    }
    if (bytes >= length) break
  }
  return { status: Number(head.slice(9, 12)), bytes }
}

const onLinux = testWhere(process.platform === 'linux', 'the list of connections is read from /proc')

onLinux(
  '300 connections that do not read a large static file leave the system with at most 64 MiB',
  async () => {
    const { url } = await new Installation().serve()
    const sockets = await Promise.all(Array.from({ length: 300 }, () => openSocket(url)))
    // They read the beginning only, or are reset.
    const responses = sockets.map(
      (socket) =>
        new Promise<void>((resolve) => {
          for (const event of ['readable', 'close']) socket.once(event, () => resolve())
        }),
    )
    // The system keeps what it holds of a connection that the server has closed.
    for (const [index, socket] of sockets.entries())
      socket.write(`${GET}${index % 2 === 0 ? 'Connection: close\r\n' : ''}\r\n`)
    await Promise.all(responses)
    const queued = readQueued(url)
    expect(queued).toBeGreaterThan(MB)
    expect(queued).toBeLessThanOrEqual(CAPACITY / 2)

    // Another address has its own share.
    const other = await openSocket(url, { localAddress: '127.0.0.2' })
    other.write(`${GET}\r\n`)
    const { status, bytes } = await readResponse(other)
    expect(status).toBe(200)
    expect(bytes).toBeGreaterThan(MB / 8)
  },
)

test('responses that are read do not count, and the last one of a connection arrives completely', async () => {
  const { url } = await new Installation().serve()
  for (let count = 0; count < 60; count++) {
    const socket = await openSocket(url)
    socket.write(`${GET}\r\n`)
    expect((await readResponse(socket)).status).toBe(200)
  }
  for (const request of [`${GET}Connection: close\r\n\r\n`, `GET ${BUNDLE} HTTP/1.0\r\n\r\n`]) {
    const socket = await openSocket(url)
    socket.write(request)
    expect((await readResponse(socket)).status).toBe(200)
    socket.resume()
    await once(socket, 'end')
  }
})

/** A server whose connections hold what the test says. */
async function serve({
  capacity = 100_000,
  mostOfOne = 100_000,
  stalled = 60_000,
  memory = Number.POSITIVE_INFINITY,
} = {}) {
  const queues = new Map<string, number>()
  let readings = 0
  const budget = new Budget({ capacity, stalled, detail: 'There is no room.', retryAfter: 1 })
  const readNow = async () => {
    readings++
    return new Map(queues)
  }
  const buffers = new SocketBuffers(budget, readNow, mostOfOne, () => memory)
  const server = createServer()
  buffers.watch(server)
  const accepted: Socket[] = []
  server.on('connection', (socket: Socket) => accepted.push(socket))
  const port = await listenOn(server)
  const connectOne = async () => {
    const client = await openSocket(`http://127.0.0.1:${port}`)
    await until(() => accepted.find(({ remotePort }) => remotePort === client.localPort))
    const socket = accepted.find(({ remotePort }) => remotePort === client.localPort) as Socket
    return { client, socket, queue: (bytes: number) => queues.set(nameOf(socket), bytes) }
  }
  return { budget, buffers, server, connectOne, readings: () => readings }
}

test('what clients have not read is counted before it is written, and the list is read only without room', async () => {
  const { budget, buffers, connectOne, readings } = await serve({ capacity: 100_000 })
  const first = await connectOne()
  const second = await connectOne()
  buffers.hold(first.socket, 60_000, 'a')
  expect([budget.used, readings()]).toEqual([60_000, 0])
  first.queue(60_000)
  await expect(buffers.hold(second.socket, 60_000, 'b')).rejects.toThrow('There is no room')
  expect([budget.used, readings()]).toEqual([60_000, 1])
})

test('who asks again on a connection is believed to have read, until the list says otherwise', async () => {
  const { budget, buffers, connectOne, readings } = await serve({ capacity: 100_000 })
  const { socket, queue } = await connectOne()
  const { socket: other } = await connectOne()
  for (let count = 0; count < 3; count++) {
    await buffers.hold(socket, 40_000, 'a')
    await buffers.hold(other, 40_000, 'b')
  }
  expect([budget.used, readings()]).toEqual([80_000, 0])
  queue(100_000)
  for (let count = 0; count < 3; count++) await buffers.hold(socket, 40_000, 'a')
  await until(() => (budget.heldBy('a') === 100_000 ? true : undefined))
  expect(readings()).toBe(1)
})

test('the list is not read for what was believed while all connections of the machine need little memory', async () => {
  const { buffers, connectOne, readings } = await serve({ capacity: 100_000, memory: 50_000 })
  const { socket } = await connectOne()
  for (let count = 0; count < 100; count++) await buffers.hold(socket, 40_000, 'a')
  expect(readings()).toBe(0)
})

onLinux('the memory of all connections contains what a client has not read', async () => {
  const server = createServer((_, response) => response.end(Buffer.alloc(8 * MB)))
  const client = await openSocket(`http://127.0.0.1:${await listenOn(server)}`)
  client.write('GET / HTTP/1.1\r\nHost: a\r\n\r\n')
  // Other connections can only add to it.
  await until(() => (readSystemMemory() > 2 * MB ? true : undefined))
})

test('who finds no room waits for one reading with all others, however short the last one was ago', async () => {
  const { buffers, connectOne, readings } = await serve({ capacity: 100_000 })
  const [first, ...others] = await Promise.all(Array.from({ length: 20 }, connectOne))
  await buffers.hold((first as (typeof others)[number]).socket, 90_000, 'a')
  const waiting = others.map(({ socket }) => buffers.hold(socket, 20_000, 'b'))
  const results = await Promise.allSettled(waiting)
  expect(results.filter(({ status }) => status === 'fulfilled').length).toBeGreaterThan(3)
  expect(readings()).toBe(1)
})

test('a connection counts at most what the system holds of one, and nothing once it has closed', async () => {
  const { budget, buffers, connectOne } = await serve({ mostOfOne: 50_000 })
  const { client, socket } = await connectOne()
  buffers.hold(socket, 80_000, 'a')
  expect(budget.used).toBe(50_000)
  expect(mayHoldMuch(socket)).toBe(true)
  client.destroy()
  await until(() => (budget.used === 0 ? true : undefined))
})

test('a client that has stopped reading makes room by a reset, which leaves nothing with the system', async () => {
  const { budget, buffers, connectOne } = await serve({ stalled: 0 })
  const first = await connectOne()
  const second = await connectOne()
  buffers.hold(first.socket, 60_000, 'a')
  first.queue(60_000)
  const reset = new Promise((resolve) => first.client.once('error', resolve))
  first.client.resume()
  await buffers.hold(second.socket, 60_000, 'b')
  expect(await reset).toMatchObject({ code: 'ECONNRESET' })
  expect([budget.heldBy('a'), budget.heldBy('b')]).toEqual([0, 60_000])
})

test('small responses that nobody reads count as well, later', async () => {
  const { budget, server, connectOne } = await serve({ capacity: 1_000_000, mostOfOne: 1_000_000 })
  server.on('request', (request, response) => {
    beginResponse(request, response)
    response.once('finish', () => endResponse(request, response))
    response.end(Buffer.alloc(15_000))
  })
  const { client } = await connectOne()
  for (let count = 0; count < 10; count++) client.write('GET / HTTP/1.1\r\nHost: a\r\n\r\n')
  await until(() => (budget.used >= 150_000 ? true : undefined))
})

test('connections are named as in the list of the system', () => {
  const name = (remoteAddress: string) => nameOf({ localPort: 8080, remoteAddress, remotePort: 54_321 })
  expect(name('127.0.0.1')).toBe('1F90 0100007F:D431')
  expect(name('::ffff:10.1.2.3')).toBe('1F90 0000000000000000FFFF00000302010A:D431')
  expect(name('::1')).toBe('1F90 00000000000000000000000001000000:D431')
  expect(name('2001:db8::a:b')).toBe('1F90 B80D012000000000000000000B000A00:D431')
  const list = `  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
   0: 0100007F:1F90 0100007F:D431 01 0019A000:00000000 01:00000014 00000000     0        0 1 2 0
   1: 0100007F:1F90 0100007F:D432 01 00000000:00000000 00:00000000 00000000     0        0 1 2 0
`
  expect([...readQueues(list)]).toEqual([['1F90 0100007F:D431', 0x19a000]])
})

onLinux('the list of thousands of connections is read in a few turns of the event loop', async () => {
  const url = `http://127.0.0.1:${await listenOn(createServer())}`
  // Each has two ends in the list.
  for (let count = 0; count < 1_500; count += 100)
    await Promise.all(Array.from({ length: 100 }, () => openSocket(url)))
  let turns = 0
  let immediate: NodeJS.Immediate | undefined
  const count = () => {
    turns++
    immediate = setImmediate(count)
  }
  count()
  await readSystemQueues()
  clearImmediate(immediate)
  expect(turns).toBeLessThan(20)
})
