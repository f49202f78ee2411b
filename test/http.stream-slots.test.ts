import { createServer, type ServerResponse } from 'node:http'
import { connect, type Socket } from 'node:net'
import { Readable } from 'node:stream'
import { expect, test } from 'vitest'
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

test('a download beyond the limit is refused while all others make progress, and its source is closed', async () => {
  const { ask, seen } = await start()
  await ask()
  await ask()
  await ask()
  expect(seen[2]).toMatchObject({ pieces: 0, closed: true, refused: { own: false } })
  expect(seen[0]?.closed || seen[1]?.closed).toBe(false)
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
