import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { lingerAfterLast } from './lingering-close.ts'
import { closeAfter, stopParsing } from './node-internals.ts'

/** The most requests of a process that wait for an earlier one: each takes some kilobytes. */
const MOST = 2_500

/** The most of one connection; it is closed after their responses. */
const MOST_OF_ONE = 64

/** Once a process has the most, a connection with more waiting requests than this is closed at once. */
const FEW = 8

/**
 * Handles the requests of a connection one after the other. Node parses every request of a packet at once and hands all
 * of them over, which are some hundred if a client pipelines. Handled in turn, they use the processor for one response
 * at a time, and for none once the client has left. What follows the most waiting requests of a connection is not even
 * parsed: its client sends it again (RFC 9112, section 9.3.2).
 */
export class Pipelines {
  readonly #most: number
  readonly #lines = new Map<Duplex, Line>()
  #waiting = 0

  constructor(most = MOST) {
    this.#most = most
  }

  /** Whether the connection had the most waiting requests, so that nothing further on it is handled. */
  isFull(connection: Duplex): boolean {
    return this.#lines.get(connection)?.full === true
  }

  /** Handles a request now, or once the earlier ones on its connection have their responses. */
  enter(request: IncomingMessage, response: ServerResponse, handle: Handle): void {
    const { socket } = request
    const line = this.#lineOf(socket)
    if (line.busy && this.#waiting >= this.#most && line.waiting.length >= FEW) {
      stopParsing(socket)
      socket.destroy()
      return
    }
    response.on('finish', line.next)
    if (line.busy) {
      if (!line.pipelined) abandonCheaply(socket)
      line.pipelined = true
      line.waiting.push(() => handle(request, response))
      this.#waiting++
      if (line.waiting.length < MOST_OF_ONE) return
      line.full = true
      closeAfter(response)
      lingerAfterLast(socket)
      stopParsing(socket)
      return
    }
    line.busy = true
    handle(request, response)
  }

  #lineOf(socket: Socket): Line {
    const known = this.#lines.get(socket)
    if (known !== undefined) return known
    const line: Line = {
      busy: false,
      pipelined: false,
      full: false,
      waiting: [],
      next: () => this.#next(socket, line),
    }
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

type Handle = (request: IncomingMessage, response: ServerResponse) => void

/**
 * The requests of a connection: whether one is in progress or ever waited, whether the most ever waited, and what
 * handles those that wait.
 */
interface Line {
  busy: boolean
  pipelined: boolean
  full: boolean
  waiting: (() => void)[]
  /** Called when a response has been written. */
  readonly next: () => void
}

/**
 * When a client leaves, Node destroys each request without a response with an error of its own. Nobody reads the stack
 * traces of these errors, which take most of the time.
 */
function abandonCheaply(socket: Socket): void {
  let { stackTraceLimit } = Error
  socket.prependOnceListener('close', () => {
    stackTraceLimit = Error.stackTraceLimit
    Error.stackTraceLimit = 0
  })
  socket.once('close', () => {
    Error.stackTraceLimit = stackTraceLimit
  })
}
