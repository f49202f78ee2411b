import type { Server } from 'node:http'
import type { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { isIdle, isTransfer, lastResponseOn, markRested, SENT } from './last-response.ts'
import { onClosingIdle, onLastResponse, readUnparsed } from './node-internals.ts'
import { abandon, mayHoldMuch } from './socket-buffers.ts'

/** How often connections are checked while the server closes, in milliseconds. */
const SWEEP_INTERVAL = 50

/**
 * The most connections. Each takes up to 30 KB of memory, while its headers arrive: as many as a process of 512 MiB has
 * room for beside everything else.
 */
const MOST = 4_000

/** The connections of a server: closing it interrupts no response, and waits for no idle connection. */
export class Connections {
  readonly #server: Server
  readonly #sockets = new Set<Socket>()

  /** @param most the most connections; beyond it, one without a request in progress is closed */
  constructor(server: Server, most = MOST) {
    this.#server = server
    server.on('connection', (socket) => {
      if (this.#sockets.size >= most) this.#closeOne(socket)
      this.#sockets.add(socket)
      socket.once('close', () => this.#sockets.delete(socket))
    })
    // Node considers a connection idle once its response has been written: closing the server would destroy it
    // together with the bytes that a slow client has not read yet.
    onClosingIdle(server, (closeIdle) => {
      if (![...this.#sockets].some(({ writableLength }) => writableLength > 0)) closeIdle()
    })
  }

  /** Closes a connection that has been idle for long, or the new one if all others have a request. */
  #closeOne(added: Socket): void {
    let closed: Socket | undefined
    let left = this.#sockets.size
    for (const socket of this.#sockets) {
      if (left-- === 0) break
      const last = lastResponseOn(socket)
      if (socket.destroyed || (last !== undefined && !isIdle(last))) continue
      closed ??= socket
      if (last !== SENT) {
        closed = socket
        break
      }
      // Used since it came to the front: it gets a second chance, at the end.
      markRested(socket)
      this.#sockets.delete(socket)
      this.#sockets.add(socket)
    }
    closed ??= added
    this.#sockets.delete(closed)
    abandon(closed)
  }

  /** Closes every connection without a transfer in progress, and returns the number of the others. */
  cutOffRest(): number {
    let transfers = 0
    for (const socket of this.#sockets) {
      const last = lastResponseOn(socket)
      if (last !== undefined && !isIdle(last) && isTransfer(last.req)) transfers++
      else socket.destroy()
    }
    return transfers
  }

  /** Closes connections as they become idle, until the server has closed. Node checks them only once. */
  async endDuring(closing: Promise<unknown>): Promise<void> {
    const sweep = setInterval(() => {
      this.#server.closeIdleConnections()
      // Opened in advance, as browsers do. Node does not consider them idle.
      for (const socket of this.#sockets) if (socket.bytesRead === 0) socket.destroy()
    }, SWEEP_INTERVAL)
    try {
      await closing
    } finally {
      clearInterval(sweep)
    }
  }
}

/** The most bytes that are read and discarded after the last response of a connection. */
const MOST_LINGERING = 64 * 2 ** 20

/** The longest time to wait for the client to close, in milliseconds. */
const LINGERING_TIME = 5_000

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
