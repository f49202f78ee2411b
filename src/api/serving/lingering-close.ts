import type { Server } from 'node:http'
import type { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { isIdle, lastResponseOn } from './last-response.ts'
import { onLastResponse, readUnparsed } from './node-internals.ts'
import { mayHoldMuch } from './socket-buffers.ts'

/** The most bytes that are read and discarded after the last response of a connection. */
export const MOST_LINGERING = 64 * 2 ** 20

/** The longest time to wait for the client to close, in milliseconds. */
export const LINGERING_TIME = 5_000

const lingering = new WeakSet<Duplex>()
const stillSending = new WeakSet<Duplex>()
const discarding = new WeakSet<Duplex>()
let count = 0

/** Whether the connection had its last response, so that further requests on it are ignored. */
export function isLingering(connection: Duplex): boolean {
  return lingering.has(connection)
}

/**
 * Closes connections whose client is still sending in two steps (RFC 9112, section 9.6): closing at once makes the
 * operating system reset the connection, and the client loses a response that it has not read yet.
 */
export function closeInSteps(server: Server): void {
  server.on('connection', (socket: Socket) => {
    onLastResponse(socket, (closeAtOnce) => {
      const last = lastResponseOn(socket)
      if (stillSending.has(socket)) linger(socket)
      else if (last === undefined || isIdle(last) || last.req.complete) {
        if (mayHoldMuch(socket)) awaitReader(socket)
        else closeAtOnce()
      } else {
        // The rest of a body that was read in part.
        last.req.resume()
        linger(socket)
      }
    })
  })
}

/**
 * Ends the writing half, and closes once the client does: closed earlier, what the client has not read would stay in
 * the operating system, which nobody could release.
 */
function awaitReader(socket: Socket): void {
  socket.end()
  socket.once('end', () => socket.destroy())
  discardSlowly(socket)
}

/** Marks a connection whose client will still be sending at its last response, although the request is complete. */
export function lingerAfterLast(connection: Duplex): void {
  stillSending.add(connection)
}

/** Ends the writing half, then reads and discards until the client closes or a limit is reached. */
export function linger(connection: Duplex): void {
  if (lingering.has(connection) || connection.destroyed) return
  lingering.add(connection)
  connection.end()
  const timer = setTimeout(() => connection.destroy(), LINGERING_TIME)
  connection.once('close', () => clearTimeout(timer))
  connection.once('end', () => connection.destroy())
  // Reading may be paused for the request's sake. It resumes at the next turn of the event loop.
  connection.resume()
  setImmediate(() => discardSlowly(connection))
}

/** Reads and discards what arrives on a connection, and destroys it beyond a limit. */
export function discardSlowly(connection: Duplex): void {
  if (discarding.has(connection) || connection.destroyed) return
  discarding.add(connection)
  count++
  connection.once('close', () => count--)
  let left = MOST_LINGERING
  readUnparsed(connection, (chunk) => {
    left -= chunk.length
    if (left < 0) return void connection.destroy()
    // A chunk for each millisecond, of all connections together: what is discarded faster uses the processor and
    // the memory of other callers.
    connection.pause()
    setTimeout(() => connection.resume(), count)
  })
}
