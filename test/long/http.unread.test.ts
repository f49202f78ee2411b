import { randomBytes } from 'node:crypto'
import { readFileSync } from 'node:fs'
import type { Socket } from 'node:net'
import { expect, test } from 'vitest'
import { Body } from '../../src/api/serving/page.ts'
import { OVERHEAD, UnreadResponses } from '../../src/api/serving/unread-responses.ts'
import { Budget } from '../../src/foundation/budget/budget.ts'
import { Installation, until } from '../support/command.ts'
import { openSocket } from '../support/connection.ts'
import { UNLIMITED } from '../support/filled-database.ts'
import { testWhere } from '../support/test-where.ts'

const MB = 2 ** 20

/** What unread responses may occupy. */
const CAPACITY = 32 * MB

/** About 4.3 KB a record, so that a page of 100 has 430 KB; random, so that compression leaves half of it. */
function records() {
  return Array.from({ length: 200 }, (_, index) => ({
    occupationCode: `C${1000 + index}`,
    descriptionEnglish: randomBytes(3150).toString('base64'),
  }))
}

/** The statuses of all responses on a connection, in their order. */
async function readStatuses(socket: Socket, count: number): Promise<number[]> {
  const statuses: number[] = []
  let pending = Buffer.alloc(0)
  let skip = 0
  for await (const chunk of socket) {
    let bytes = chunk as Buffer
    for (;;) {
      const skipped = Math.min(skip, bytes.length)
      skip -= skipped
      pending = Buffer.concat([pending, bytes.subarray(skipped)])
      bytes = Buffer.alloc(0)
      const end = pending.indexOf('\r\n\r\n')
      if (end === -1) break
      const head = pending.toString('latin1', 0, end)
      statuses.push(Number(/^HTTP\/1\.1 (\d{3})/.exec(head)?.[1]))
      bytes = pending.subarray(end + 4)
      pending = Buffer.alloc(0)
      skip = Number(/^content-length: (\d+)/im.exec(head)?.[1])
    }
    if (statuses.length === count && skip === 0) break
  }
  return statuses
}

/** The most memory that a process has held, in bytes. */
function peakOf(pid: number | undefined): number {
  return Number(/^VmHWM:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) * 1024
}

/** What a service counts as unread, in bytes. */
async function readUnread(readMetrics: () => Promise<string>): Promise<number> {
  return Number(/^mahi_backlog_bytes (\d+)/m.exec(await readMetrics())?.[1])
}

const BURSTS = [
  {
    burst: '4 connections that pipeline 590 requests each',
    outcome: 'get one response after another, 65 in all',
    connections: 4,
    requests: 590,
    responses: 65,
    statuses: [200],
  },
  {
    burst: '1,150 connections with one request each',
    outcome: 'get a page, or 503 beyond the capacity',
    connections: 1150,
    requests: 1,
    responses: 1,
    statuses: [200, 503],
  },
]
const CODINGS = ['identity', 'br']
for (const { burst, outcome, connections, requests, responses, statuses: expected } of BURSTS) {
  for (const coding of CODINGS) {
    testWhere(process.platform === 'linux', `${burst}: the peak memory of a process is read from /proc`)(
      `${burst}, all read in one turn, ${outcome} (${coding})`,
      { timeout: 120_000 },
      async () => {
        const mahi = await new Installation().fill(records())
        const { url, command, readMetrics } = await mahi.serveWithMetrics({
          ...UNLIMITED,
          OCCUPATIONS_ACCESS: 'public',
        })
        const sockets = await Promise.all(Array.from({ length: connections }, () => openSocket(url)))
        expect((await fetch(`${url}/livez`)).status).toBe(200)

        const before = peakOf(command.child.pid)
        // Everything has arrived when the process goes on.
        command.kill('SIGSTOP')
        let cursor = 0
        for (const socket of sockets) {
          const lines = Array.from(
            { length: requests },
            () =>
              `GET /v1/occupations?Limit=100&Cursor=A${cursor++} HTTP/1.1\r\nHost: a\r\nAccept-Encoding: ${coding}\r\n\r\n`,
          )
          socket.write(lines.join(''))
        }
        await until(() => (sockets.every(({ writableLength }) => writableLength === 0) ? true : undefined))
        command.kill('SIGCONT')

        expect((await fetch(`${url}/livez`)).status).toBe(200)
        expect(await readUnread(readMetrics)).toBeLessThanOrEqual(CAPACITY)

        const statuses = (await Promise.all(sockets.map((socket) => readStatuses(socket, responses)))).flat()
        const peak = peakOf(command.child.pid)
        const refused = statuses.filter((status) => status === 503).length
        process.stdout.write(
          `${burst} (${coding}): ${statuses.length - refused} pages, ${refused} times 503, at most ${Math.round(peak / MB)} MB, ${Math.round(before / MB)} before\n`,
        )
        expect(statuses).toContain(200)
        expect(statuses.filter((status) => !expected.includes(status))).toEqual([])
        expect(statuses).toHaveLength(connections * responses)
        // 32 MB less than deploy/ gives, and 24 MB that the sources need more than a build.
        expect(peak).toBeLessThan((480 + 24) * MB)
        // Everything has been read, so nothing counts any more.
        await until(async () => ((await readUnread(readMetrics)) === 0 ? true : undefined))
      },
    )
  }
}

const page = (bytes: number) => new Body([Buffer.alloc(bytes)])

/** Unread responses with so much room, and the budget that they share. */
function withRoom(capacity: number, share = capacity) {
  const budget = new Budget({ capacity, share, stalled: 5_000, detail: 'There is no room.', retryAfter: 1 })
  return { budget, unread: new UnreadResponses(budget) }
}

test('bodies that are reserved together are counted before any of them is written', () => {
  const { budget, unread } = withRoom(10 * (1000 + OVERHEAD))
  const admitted = Array.from({ length: 20 }, () => {
    try {
      return unread.reserve(page(1000), 'a')
    } catch (error) {
      expect(error).toMatchObject({ own: false, retryAfter: 1 })
      return undefined
    }
  }).filter((reservation) => reservation !== undefined)
  expect(admitted).toHaveLength(10)
  expect(budget.used).toBe(10 * (1000 + OVERHEAD))
  for (const reservation of admitted) reservation.release()
  expect(budget.used).toBe(0)
})

test('a caller that uses up its share leaves the rest to others', () => {
  const { budget, unread } = withRoom(10 * (1000 + OVERHEAD), 5 * (1000 + OVERHEAD))
  for (let count = 0; count < 5; count++) unread.reserve(page(1000), 'a')
  expect(() => unread.reserve(page(1000), 'a')).toThrow(expect.objectContaining({ own: true }))
  for (let count = 0; count < 5; count++) unread.reserve(page(1000), 'b')
  expect(budget.heldBy('a')).toBe(budget.heldBy('b'))
})

test('a body that many read counts once, and each response for what Node keeps of it', () => {
  const { budget, unread } = withRoom(CAPACITY)
  const [plain, encoded] = [page(50_000), page(20_000)]
  const readers = ['a', 'b', 'b'].map((caller) => unread.reserve(plain, caller))
  expect(budget.used).toBe(50_000 + 3 * OVERHEAD)
  expect(budget.heldBy('a')).toBe(50_000 + OVERHEAD)
  readers[0]?.exchange(encoded)
  // Someone still holds it, and pays for it.
  expect([budget.heldBy('a'), budget.heldBy('b')]).toEqual([20_000 + OVERHEAD, 50_000 + 2 * OVERHEAD])
  readers[1]?.exchange(encoded)
  expect(budget.used).toBe(70_000 + 3 * OVERHEAD)
  readers[2]?.exchange(encoded)
  expect(budget.used).toBe(20_000 + 3 * OVERHEAD)
  for (const reservation of readers) reservation.release()
  expect(budget.used).toBe(0)
})

test('a page larger than the capacity is sent if it is the only one', () => {
  const { unread } = withRoom(10_000)
  const large = unread.reserve(page(50_000), 'a')
  expect(() => unread.assertRoom('b')).toThrow('There is no room')
  expect(() => unread.reserve(page(1), 'b')).toThrow('There is no room')
  large.release()
  unread.assertRoom('b')
})

test('a client that leaves with an unread response, and requests behind it, releases all of them', async () => {
  const mahi = await new Installation().fill(records())
  const { url, readMetrics } = await mahi.serveWithMetrics({ ...UNLIMITED, OCCUPATIONS_ACCESS: 'public' })
  const socket = await openSocket(url)
  for (let index = 0; index < 100; index++)
    socket.write(`GET /v1/occupations?Limit=100&Cursor=A${index} HTTP/1.1\r\nHost: a\r\n\r\n`)
  await until(async () => ((await readUnread(readMetrics)) > 0 ? true : undefined))
  socket.destroy()
  await until(async () => ((await readUnread(readMetrics)) === 0 ? true : undefined))
})
