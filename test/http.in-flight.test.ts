import type { FastifyRequest } from 'fastify'
import { expect, test } from 'vitest'
import { InFlight } from '../src/api/serving/in-flight.ts'

const KB = 1024

/** A request of a caller, as far as it is counted. */
const requestOf = (ip: string) => ({ ip, socket: {} }) as unknown as FastifyRequest

test('a response is counted until its request ends, and one caller holds at most half', () => {
  const inFlight = new InFlight(100 * KB)
  const requests = Array.from({ length: 4 }, () => requestOf('192.0.2.1'))
  for (const request of requests) inFlight.holdResponse(request, 200, Buffer.alloc(8 * KB))
  const refused = requestOf('192.0.2.1')
  expect(() => inFlight.holdResponse(refused, 200, Buffer.alloc(8 * KB))).toThrow('Too many')
  // Its refusal, and those of others, always have room.
  inFlight.holdResponse(refused, 503, '{}')
  inFlight.holdResponse(requestOf('192.0.2.2'), 200, 'x'.repeat(8 * KB))
  for (const request of [...requests, refused]) inFlight.release(request)
  expect(inFlight.slots.used).toBe(12 * KB)
})

test('a body that many read counts once, until the last of them ends', () => {
  const inFlight = new InFlight()
  const page = Buffer.alloc(50 * KB)
  const readers = [requestOf('192.0.2.1'), requestOf('192.0.2.2')]
  for (const reader of readers) inFlight.hold(reader, page)
  expect(inFlight.slots.used).toBe(50 * KB)
  inFlight.release(readers[0] as FastifyRequest)
  expect(inFlight.slots.used).toBe(50 * KB)
  inFlight.release(readers[1] as FastifyRequest)
  expect(inFlight.slots.used).toBe(0)
})

test('nothing is counted for a request whose client has left', () => {
  const inFlight = new InFlight()
  const request = requestOf('192.0.2.1')
  inFlight.hold(request, 1_000)
  inFlight.release(request)
  inFlight.hold(request, 1_000)
  inFlight.holdResponse(request, 200, Buffer.alloc(KB))
  expect(inFlight.slots.used).toBe(0)
})
