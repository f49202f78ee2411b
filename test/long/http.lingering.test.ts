import { once } from 'node:events'
import type { Socket } from 'node:net'
import { beforeEach, expect, test } from 'vitest'
import { LINGERING_TIME, MOST_LINGERING } from '../../src/api/serving/connections.ts'
import { listen, openSocket } from '../support/connection.ts'
import { Service } from '../support/service.ts'

const MB = 2 ** 20

let service: Service
let port: number
beforeEach(async () => {
  service = await Service.start({ UPLOAD_MAX_MB: '1' })
  await service.import([{ occupationCode: 'A' }])
  port = await listen(service)
})

const open = () => openSocket(`http://127.0.0.1:${port}`, { allowHalfOpen: true })

/** Sends bytes until all were accepted or the connection has closed, and returns how many were sent. */
async function send(socket: Socket, bytes: number, chunk = Buffer.alloc(MB / 4, 'x')): Promise<number> {
  const closed = new Promise<void>((resolve) => socket.once('close', () => resolve()))
  let sent = 0
  while (sent < bytes && !socket.destroyed) {
    sent += chunk.length
    if (!socket.write(chunk)) await Promise.race([once(socket, 'drain').catch(() => undefined), closed])
  }
  return sent
}

/** What the service has sent, until it ends the connection. */
async function readAll(socket: Socket): Promise<string> {
  const chunks: Buffer[] = []
  for await (const chunk of socket) chunks.push(chunk as Buffer)
  return Buffer.concat(chunks).toString()
}

const head = (lines: Record<string, string>, start = 'POST /v1/codings HTTP/1.1') =>
  `${start}\r\n${Object.entries({ host: 'localhost', 'x-api-key': service.key, ...lines })
    .map(([name, value]) => `${name}: ${value}\r\n`)
    .join('')}\r\n`

const JSON_TYPE = { 'content-type': 'application/json' }
const LENGTH = { 'content-length': String(30 * MB) }

test.each([
  [
    'a type that the operation does not support',
    415,
    () => head({ 'content-type': 'text/plain', ...LENGTH }),
  ],
  ['a declared length above the limit', 413, () => head({ ...JSON_TYPE, ...LENGTH })],
])('a client that sends 30 MB and only then reads gets the response: %s', async (_, status, request) => {
  const socket = await open()
  socket.write(request())
  expect(await send(socket, 30 * MB)).toBe(30 * MB)
  expect(await readAll(socket)).toMatch(new RegExp(`^HTTP/1\\.1 ${status} (?:.|\\s)+/problems/`))
})

test('a client that sends 30 MB in chunks gets the 413 for the first byte beyond the limit', async () => {
  const socket = await open()
  socket.write(head({ ...JSON_TYPE, 'transfer-encoding': 'chunked' }))
  const chunk = Buffer.from(`${MB.toString(16)}\r\n${'x'.repeat(MB)}\r\n`)
  await send(socket, 30 * MB, chunk)
  expect(await readAll(socket)).toMatch(/^HTTP\/1\.1 413 [\s\S]+\/problems\/content-too-large/)
})

test('a client that sends 30 MB of headers and only then reads gets the 431', async () => {
  const socket = await open()
  socket.write('GET /livez HTTP/1.1\r\nhost: localhost\r\n')
  await send(socket, 30 * MB, Buffer.from(`a: ${'x'.repeat(MB / 4)}\r\n`))
  const received = await readAll(socket)
  expect(received).toMatch(/^HTTP\/1\.1 431 [\s\S]+\/problems\/headers-too-large/)
  expect(received.match(/HTTP\/1\.1/g)).toHaveLength(1)
})

test('a client that sends without end is cut off', { timeout: 3 * LINGERING_TIME }, async () => {
  const socket = await open()
  socket.write(head({ ...JSON_TYPE, 'content-length': String(2 ** 40) }))
  const sent = await send(socket, Number.POSITIVE_INFINITY)
  expect(socket.destroyed).toBe(true)
  // The operating system holds some of it on both sides.
  expect(sent).toBeLessThan(MOST_LINGERING + 32 * MB)
})

test('a client that neither sends nor closes is cut off', { timeout: 3 * LINGERING_TIME }, async () => {
  const socket = await open()
  socket.write(head({ ...JSON_TYPE, ...LENGTH }))
  expect(await readAll(socket)).toMatch(/^HTTP\/1\.1 413 /)
  const connections = () =>
    new Promise<number>((resolve) => service.app.server.getConnections((_, count) => resolve(count)))
  expect(await connections()).toBe(1)
  await expect.poll(connections, { timeout: 2 * LINGERING_TIME }).toBe(0)
})

test('a request after the body of a refused one is not carried out', async () => {
  const socket = await open()
  const before = service.log.length
  socket.write(head({ 'content-type': 'text/plain', 'content-length': String(MB) }))
  socket.write(Buffer.alloc(MB, 'x'))
  socket.write(head({}, 'GET /livez HTTP/1.1'))
  const received = await readAll(socket)
  expect(received.match(/HTTP\/1\.1 \d+/g)).toEqual(['HTTP/1.1 415'])
  expect(service.log.slice(before).filter((line) => line.includes('livez'))).toEqual([])
})
