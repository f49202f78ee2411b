import type { Server } from 'node:http'
import type { Socket } from 'node:net'
import { isIdle, lastResponseOn, markRested, SENT } from './last-response.ts'
import { onClosingIdle } from './node-internals.ts'
import { abandon } from './socket-buffers.ts'
import { isTransfer } from './transfers.ts'

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
