import { once } from 'node:events'
import { createServer, type ServerResponse } from 'node:http'
import { connect, type Socket } from 'node:net'
import { expect, test } from 'vitest'
import { Connections } from '../src/api/serving/connections.ts'
import { beginResponse, endResponse } from '../src/api/serving/last-response.ts'
import { Pipelines } from '../src/api/serving/requests.ts'
import { listenOn } from './support/connection.ts'

/** A server that answers every path but /wait, and at most so many connections. */
async function serve(most: number) {
  const waiting: ServerResponse[] = []
  const server = createServer((request, response) => {
    beginResponse(request, response)
    response.once('finish', () => endResponse(request, response))
    if (request.url === '/wait') waiting.push(response)
    else response.end('done')
  })
  new Connections(server, most)
  const port = await listenOn(server)
  const open = async (path?: string): Promise<Socket> => {
    const socket = connect(port, '127.0.0.1').resume()
    socket.on('error', () => undefined)
    await once(socket, 'connect')
    if (path !== undefined) {
      const arrived = once(server, 'request')
      socket.write(`GET ${path} HTTP/1.1\r\nHost: a\r\n\r\n`)
      await arrived
      if (path !== '/wait') await once(socket, 'data')
    }
    return socket
  }
  return { open, waiting }
}

test('beyond the most connections, the oldest idle one is closed, whether it has had a response or not', async () => {
  const { open } = await serve(3)
  const busy = await open('/wait')
  const silent = await open()
  const idle = await open('/')
  const fourth = open('/')
  await once(silent, 'close')
  await fourth
  expect([busy, idle].map(({ destroyed }) => destroyed)).toEqual([false, false])
  const fifth = open('/')
  await once(idle, 'close')
  await fifth
  expect(busy.destroyed).toBe(false)
})

test('where every connection has a request, a new one is closed', async () => {
  const { open, waiting } = await serve(2)
  const busy = [await open('/wait'), await open('/wait')]
  const added = await open()
  if (!added.destroyed) await once(added, 'close')
  for (const response of waiting) response.end('done')
  await Promise.all(busy.map((socket) => once(socket, 'data')))
  expect(busy.map(({ destroyed }) => destroyed)).toEqual([false, false])
})

/** A server that handles the requests of a connection in turn; `handled` has their responses. */
async function serveInTurn(most: number) {
  const pipelines = new Pipelines(most)
  const handled: ServerResponse[] = []
  const server = createServer((request, response) => {
    if (!request.socket.destroyed) pipelines.enter(request, response, () => handled.push(response))
  })
  const port = await listenOn(server)
  const send = async (requests: number) => {
    const socket = connect(port, '127.0.0.1').resume()
    socket.on('error', () => undefined)
    await once(socket, 'connect')
    socket.write('GET / HTTP/1.1\r\nHost: a\r\n\r\n'.repeat(requests))
    return socket
  }
  return { handled, send, server }
}

test('requests on one connection are handled in turn, and not at all once the client has left', async () => {
  const { handled, send } = await serveInTurn(1000)
  const [socket, other] = [await send(3), await send(2)]
  await expect.poll(() => handled.length).toBe(2)
  handled[0]?.end('one')
  await expect.poll(() => handled.length).toBe(3)
  handled[2]?.end('two')
  await expect.poll(() => handled.length).toBe(4)
  handled[3]?.end('three')

  other.resetAndDestroy()
  await expect.poll(() => handled[1]?.destroyed).toBe(true)
  // A connection whose requests have all been answered takes more.
  socket.write('GET / HTTP/1.1\r\nHost: a\r\n\r\n')
  await expect.poll(() => handled.length).toBe(5)
})

test('beyond the most waiting requests, connections that pipeline many are closed, and others continue', async () => {
  const { handled, send } = await serveInTurn(60)
  const many = await send(60)
  const few = await send(8)
  await expect.poll(() => handled.length).toBe(2)
  const more = await send(200)
  await once(more, 'close')
  const single = await send(5)
  await expect.poll(() => handled.filter(({ destroyed }) => !destroyed).length).toBe(3)
  expect([many, few, single].map(({ destroyed }) => destroyed)).toEqual([false, false, false])
})
