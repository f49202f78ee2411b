import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { expect, test } from 'vitest'
import { Connections } from '../src/api/serving/connections.ts'
import { until } from './support/command.ts'
import { listenOn, openSocket } from './support/connection.ts'

/** A server that answers nothing itself. */
async function serve(mostConnections?: number) {
  const seen: { request: IncomingMessage; response: ServerResponse; outcome?: string }[] = []
  const server = createServer((request, response) => {
    const each: (typeof seen)[number] = { request, response }
    connections.begin({
      request,
      response,
      onEnd: (outcome) => {
        each.outcome = outcome
      },
    })
    seen.push(each)
  })
  const connections = new Connections(server, mostConnections)
  const accepted: Socket[] = []
  server.on('connection', (socket: Socket) => accepted.push(socket))
  const port = await listenOn(server)
  const connect = () => openSocket(`http://127.0.0.1:${port}`)
  const open = async (text: string) => {
    const socket = await connect()
    socket.write(text)
    const own = await until(() => accepted.find(({ remotePort }) => remotePort === socket.localPort))
    return { socket, own, fallSilent: () => server.emit('timeout', own) }
  }
  return { connections, server, seen, connect, open }
}

const GET = 'GET / HTTP/1.1\r\nHost: a\r\n\r\n'

test('silence ends a connection whose client is waited for, and none that waits for its response', async () => {
  const { seen, open } = await serve()
  const waits = await open(GET)
  await until(() => seen[0])
  waits.fallSilent()
  expect(waits.own.destroyed).toBe(false)
  seen[0]?.response.end('done')
  await until(() => seen[0]?.outcome === 'sent')
  waits.fallSilent()
  expect(waits.own.destroyed).toBe(true)

  const sends = await open('POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\nhalf')
  await until(() => seen[1])
  await until(() => seen[1]?.request.readableLength === 4)
  // What it has sent has not been read yet.
  sends.fallSilent()
  expect(sends.own.destroyed).toBe(false)
  seen[1]?.request.resume()
  await once(seen[1]?.request as IncomingMessage, 'data')
  sends.fallSilent()
  expect(sends.own.destroyed).toBe(true)

  const takes = await open(GET)
  await until(() => seen[2])
  const { response } = seen[2] as { response: ServerResponse }
  while (response.write(Buffer.alloc(1 << 20)) || takes.own.writableLength === 0)
    await new Promise(setImmediate)
  takes.fallSilent()
  expect(takes.own.destroyed).toBe(true)
  await until(() => seen[2]?.outcome === 'cut-off')
})

test('a connection with more requests than wait for their responses is closed, with nothing left of it', async () => {
  const { connections, seen, open } = await serve()
  const many = await open(GET.repeat(40))
  await once(many.socket.resume(), 'close')
  await until(() => seen.every(({ outcome }) => outcome !== undefined))
  expect(seen.length).toBeGreaterThan(16)
  expect(connections.of(many.own).size).toBe(0)
  const few = await open(GET.repeat(16))
  await until(() => connections.of(few.own).size === 16)
  expect(few.own.destroyed).toBe(false)
})

test('a stop waits for a reader that is slow, and for no connection without a request', async () => {
  const { connections, server, seen, open } = await serve()
  const unused = await open('')
  const slow = await open(GET)
  await until(() => seen[0])
  const body = Buffer.alloc(16 << 20)
  seen[0]?.response.writeHead(200, { 'content-length': String(body.length), connection: 'close' }).end(body)
  const stopped = connections.endDuring(() => new Promise((resolve) => server.close(resolve)))
  let received = 0
  slow.socket.on('data', (chunk: Buffer) => {
    received += chunk.length
  })
  await once(slow.socket.resume(), 'close')
  await stopped
  expect(received).toBeGreaterThan(body.length)
  expect(unused.own.destroyed).toBe(true)
})

test('a connection too many closes the oldest idle one, or else one whose client is waited for', async () => {
  const { seen, connect, open } = await serve(3)
  const waits = await open(GET)
  await until(() => seen[0])
  const sends = await open('POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\n')
  await until(() => seen[1])
  const idle = await open('')
  const fourth = await open(GET)
  await until(() => seen[2])
  expect([waits, sends, idle].map(({ own }) => own.destroyed)).toEqual([false, false, true])
  const fifth = await open(GET)
  await until(() => seen[3])
  expect([waits, sends].map(({ own }) => own.destroyed)).toEqual([false, true])
  // Now all are being served.
  const refused = (await connect()).resume()
  await until(() => refused.closed)
  expect([waits, fourth, fifth].map(({ own }) => own.destroyed)).toEqual([false, false, false])
})
