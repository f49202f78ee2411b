import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'

/** The most requests of a process that wait for an earlier one: each takes some kilobytes. */
const MOST = 2_500

/** A connection with more waiting requests than this sends without reading responses. */
const MOST_OF_ONE = 8

/**
 * Handles the requests of a connection one after the other. Node parses every request of a packet at once and hands all
 * of them over, which are some hundred if a client pipelines. Handled in turn, they use the processor for one response
 * at a time, and for none once the client has left.
 */
export class Pipelines {
  readonly #most: number
  readonly #lines = new Map<Socket, Line>()
  #waiting = 0

  constructor(most = MOST) {
    this.#most = most
  }

  /** Handles a request now, or once the earlier ones on its connection have their responses. */
  enter({ socket }: IncomingMessage, response: ServerResponse, handle: () => void): void {
    const line = this.#lineOf(socket)
    if (line.busy && this.#waiting >= this.#most && line.waiting.length >= MOST_OF_ONE) {
      socket.destroy()
      return
    }
    response.once('finish', () => this.#next(socket, line))
    if (line.busy) {
      line.waiting.push(handle)
      this.#waiting++
      return
    }
    line.busy = true
    handle()
  }

  #lineOf(socket: Socket): Line {
    const known = this.#lines.get(socket)
    if (known !== undefined) return known
    const line: Line = { busy: false, waiting: [] }
    this.#lines.set(socket, line)
    socket.once('close', () => {
      this.#lines.delete(socket)
      this.#waiting -= line.waiting.length
      line.waiting = []
    })
    return line
  }

  #next(socket: Socket, line: Line): void {
    const handle = line.waiting.shift()
    line.busy = handle !== undefined
    if (handle === undefined) return
    this.#waiting--
    // In the next turn of the event loop, in which it may turn out that the client has left.
    setImmediate(() => {
      if (!socket.destroyed) handle()
    })
  }
}

/** The requests of a connection: whether one is in progress, and what handles those that wait for it. */
interface Line {
  busy: boolean
  waiting: (() => void)[]
}
