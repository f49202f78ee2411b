import type { Server } from 'node:http'
import type { Socket } from 'node:net'

/** How often connections are looked at while the server closes, in milliseconds. */
const SWEEP_INTERVAL = 50

/** The connections of a server, so that none is cut off with an answer on its way, and none outstays the last one. */
export class Connections {
  readonly #server: Server
  readonly #sockets = new Set<Socket>()

  constructor(server: Server) {
    this.#server = server
    server.on('connection', (socket) => {
      this.#sockets.add(socket)
      socket.once('close', () => this.#sockets.delete(socket))
    })
    // To Node a connection is idle as soon as its answer has been handed over: closing the server would destroy it
    // with the bytes that a slow reader has not taken yet.
    const closeIdle = server.closeIdleConnections.bind(server)
    server.closeIdleConnections = () => {
      if (![...this.#sockets].some(({ writableLength }) => writableLength > 0)) closeIdle()
    }
  }

  /** Ends connections as they fall idle, until the server has closed: Node looks at them only once. */
  async endDuring(closing: Promise<unknown>): Promise<void> {
    const sweep = setInterval(() => {
      this.#server.closeIdleConnections()
      // Opened in advance, as browsers do: Node does not count them.
      for (const socket of this.#sockets) if (socket.bytesRead === 0) socket.destroy()
    }, SWEEP_INTERVAL)
    try {
      await closing
    } finally {
      clearInterval(sweep)
    }
  }
}
