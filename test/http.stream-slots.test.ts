import { createServer, type ServerResponse } from 'node:http'
import { connect, type Socket } from 'node:net'
import { Readable } from 'node:stream'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect, onTestFinished, test, vi } from 'vitest'
import { openStream } from '../src/api/serving/unread-responses.ts'
import { Budget } from '../src/foundation/budget/budget.ts'
import { until } from './support/command.ts'
import { listenOn } from './support/connection.ts'

const PIECE = Buffer.alloc(64 * 1024)

/** A server that streams without end, two responses at once; the path names the caller. */
async function start(share = 2) {
  const slots = new Budget({ capacity: 2, share, stalled: 5_000, detail: 'Too many.', retryAfter: 5 })
  /** What became of each request, in their order. */
  const seen: { response: ServerResponse; pieces: number; closed: boolean; refused?: unknown }[] = []
  const server = createServer(async (request, response) => {
    const state: (typeof seen)[number] = { response, pieces: 0, closed: false }
    seen.push(state)
    const body: AsyncIterable<Buffer> = {
      [Symbol.asyncIterator]: () => ({
        next: async () => {
          state.pieces++
          return { done: false, value: PIECE }
        },
        return: async () => {
          state.closed = true
          return { done: true, value: undefined }
        },
      }),
    }
    try {
      const watched = await openStream(slots, request.url ?? '', response, body)
      const source = Readable.from(watched, { objectMode: false })
      response.once('close', () => source.destroy())
      source.pipe(response)
    } catch (error) {
      state.refused = error
      response.writeHead(503).end()
    }
  })
  const port = await listenOn(server)
  const ask = async (caller = 'a'): Promise<Socket> => {
    const socket = connect(port, '127.0.0.1')
    socket.on('error', () => undefined).pause()
    socket.write(`GET /${caller} HTTP/1.1\r\nhost: localhost\r\n\r\n`)
    const count = seen.length
    await until(() => (seen.length > count ? true : undefined))
    return socket
  }
  return { ask, seen }
}

/** Waits until a client that reads nothing is sent nothing either. */
async function untilStopped(state: { pieces: number }): Promise<void> {
  for (let before = -1; before !== state.pieces; await sleep(200)) before = state.pieces
}

test('a download beyond the limit is refused while all others make progress, and its source is closed', async () => {
  const { ask, seen } = await start()
  await ask()
  await ask()
  await ask()
  expect(seen[2]).toMatchObject({ pieces: 0, closed: true, refused: { own: false } })
  expect(seen[0]?.closed || seen[1]?.closed).toBe(false)
})

test('a client that has stopped reading makes room, and one that reads slowly does not', async () => {
  const { ask, seen } = await start()
  const slow = await ask()
  await ask()
  for (const state of seen) await untilStopped(state)
  const pieces = seen[0]?.pieces ?? 0
  const clock = vi.spyOn(performance, 'now').mockReturnValue(performance.now() + 6_000)
  onTestFinished(() => clock.mockRestore())
  slow.resume()
  await until(() => ((seen[0]?.pieces ?? 0) > pieces ? true : undefined))
  slow.pause()
  await ask()
  await until(() => (seen[1]?.closed ? true : undefined))
  expect(seen[2]?.refused).toBeUndefined()
  expect(seen[0]?.closed).toBe(false)
})

test('a download that ends makes room', async () => {
  const { ask, seen } = await start()
  const first = await ask()
  await ask()
  first.destroy()
  await until(() => (seen[0]?.closed ? true : undefined))
  await ask()
  expect(seen[2]?.refused).toBeUndefined()
})

test('a caller with its share of downloads leaves room for others', async () => {
  const { ask, seen } = await start(1)
  await ask('a')
  await ask('a')
  expect(seen[1]?.refused).toMatchObject({ own: true })
  await ask('b')
  expect(seen[2]?.refused).toBeUndefined()
})
