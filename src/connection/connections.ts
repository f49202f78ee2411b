import type { Server } from 'node:http'
import type { Socket } from 'node:net'

/** How often connections are checked while the server closes, in milliseconds. */
const SWEEP_INTERVAL = 50

/** The connections of a server: closing it interrupts no response, and waits for no idle connection. */
export class Connections {
  readonly #server: Server
  readonly #sockets = new Set<Socket>()

  constructor(server: Server) {
    this.#server = server
    server.on('connection', (socket) => {
      this.#sockets.add(socket)
      socket.once('close', () => this.#sockets.delete(socket))
    })
    // Node considers a connection idle once its response has been written: closing the server would destroy it
    // together with the bytes that a slow client has not read yet.
    const closeIdle = server.closeIdleConnections.bind(server)
    server.closeIdleConnections = () => {
      if (![...this.#sockets].some(({ writableLength }) => writableLength > 0)) closeIdle()
    }
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
