import { createServer } from 'node:http'
import type { Socket } from 'node:net'
import { expect, test } from 'vitest'
import { mayHoldMuch, nameOf, readQueues, SocketBuffers } from '../src/api/serving/socket-buffers.ts'
import { Budget } from '../src/foundation/budget/budget.ts'
import { until } from './support/command.ts'
import { listenOn, openSocket } from './support/connection.ts'

/** A server whose connections hold what the test says. */
async function serve({ stalled = 60_000, mostOfOne = 100_000 } = {}) {
  const queues = new Map<string, number>()
  let readings = 0
  const budget = new Budget({ capacity: 100_000, stalled, detail: 'There is no room.', retryAfter: 1 })
  const readNow = async () => {
    readings++
    return new Map(queues)
  }
  const buffers = new SocketBuffers(budget, readNow, mostOfOne, () => Number.POSITIVE_INFINITY)
  const server = createServer()
  buffers.watch(server)
  const accepted: Socket[] = []
  server.on('connection', (socket: Socket) => accepted.push(socket))
  const port = await listenOn(server)
  const connectOne = async () => {
    const client = await openSocket(`http://127.0.0.1:${port}`)
    const socket = await until(() => accepted.find(({ remotePort }) => remotePort === client.localPort))
    return { client, socket, queue: (bytes: number) => queues.set(nameOf(socket), bytes) }
  }
  return { budget, buffers, connectOne, readings: () => readings }
}

test('what clients have not read is counted before it is written, and the list is read only without room', async () => {
  const { budget, buffers, connectOne, readings } = await serve()
  const first = await connectOne()
  const second = await connectOne()
  buffers.hold(first.socket, 60_000, 'a')
  expect([budget.used, readings()]).toEqual([60_000, 0])
  first.queue(60_000)
  await expect(buffers.hold(second.socket, 60_000, 'b')).rejects.toThrow('There is no room')
  expect([budget.used, readings()]).toEqual([60_000, 1])
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

test('a connection counts at most what the system holds of one, and nothing once it has closed', async () => {
  const { budget, buffers, connectOne } = await serve({ mostOfOne: 50_000 })
  const { client, socket } = await connectOne()
  buffers.hold(socket, 80_000, 'a')
  expect(budget.used).toBe(50_000)
  expect(mayHoldMuch(socket)).toBe(true)
  client.destroy()
  await until(() => budget.used === 0 || undefined)
})

test('connections are named as in the list of the system', () => {
  const name = (remoteAddress: string) => nameOf({ localPort: 8080, remoteAddress, remotePort: 54_321 })
  expect(name('127.0.0.1')).toBe('1F90 0100007F:D431')
  expect(name('::1')).toBe('1F90 00000000000000000000000001000000:D431')
  const list = `  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
   0: 0100007F:1F90 0100007F:D431 01 0019A000:00000000 01:00000014 00000000     0        0 1 2 0
   1: 0100007F:1F90 0100007F:D432 01 00000000:00000000 00:00000000 00000000     0        0 1 2 0
`
  expect([...readQueues(list)]).toEqual([['1F90 0100007F:D431', 0x19a000]])
})
