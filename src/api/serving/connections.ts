import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { finished, Readable } from 'node:stream'
import { setTimeout as sleep } from 'node:timers/promises'
import { isTransfer } from '../request/transfers.ts'
import type { Outcome } from '../telemetry/metrics.ts'

/** How long a connection may stay silent while its client is waited for, in milliseconds. */
export const IDLE_TIMEOUT = 65_000

/** The most connections. Each takes up to 30 KB of memory, while its headers arrive. */
const MOST_CONNECTIONS = 2_000

/** The most requests of a connection that wait for their responses: each takes some kilobytes. */
const MOST_PIPELINED = 16

/** How long the rest of a refused body is read and discarded, in milliseconds. */
const LONGEST_REST = 5_000

/** How often connections are looked at while the server closes, in milliseconds. */
const SWEEP_INTERVAL = 50

/** A request whose response has not been sent completely. */
export interface Exchange {
  readonly request: IncomingMessage
  readonly response: ServerResponse
  readonly onEnd: (outcome: Outcome) => void
}

/** The connections of a server, and the exchanges in progress on each. */
export class Connections {
  readonly #exchanges = new Map<Socket, Set<Exchange>>()
  /** Those that have had their last response; each ends the wait for the rest of its refused body. */
  readonly #ending = new WeakMap<Socket, () => void>()

  constructor(server: Server, most = MOST_CONNECTIONS) {
    server.on('connection', (socket) => {
      if (this.#exchanges.size < most || this.#closeOne()) this.#watch(socket)
      else socket.destroy()
    })
    // With a listener, Node does not close the connection itself.
    server.on('timeout', (socket: Socket) => {
      if (!this.#waitsForClient(socket)) socket.setTimeout(IDLE_TIMEOUT)
      else if (socket.writableLength > 0) socket.resetAndDestroy()
      else socket.destroy()
    })
  }

  /** The exchanges in progress on a connection, in their order. */
  of(socket: Socket): ReadonlySet<Exchange> {
    return this.#exchanges.get(socket) ?? new Set()
  }

  /** Begins an exchange; without effect on a connection that is closed already. */
  begin(exchange: Exchange): void {
    const { request, response, onEnd } = exchange
    const { socket } = request
    const exchanges = this.#exchanges.get(socket)
    if (exchanges === undefined) {
      // A request that this process makes to itself has no connection.
      finished(response, (error) => onEnd(error == null ? 'sent' : 'left'))
      return
    }
    exchanges.add(exchange)
    response.once('finish', () => {
      if (!exchanges.delete(exchange)) return
      onEnd('sent')
      // The reader of a refused body reads no further.
      if (!request.complete) request.unpipe().resume()
    })
    if (exchanges.size > MOST_PIPELINED) socket.destroy()
  }

  /** Whether the connection has had its last response, so that further requests on it are ignored. */
  isEnding(socket: Socket): boolean {
    return this.#ending.has(socket)
  }

  /**
   * The body of the last response of a connection whose client is still sending. Closing at once would reset the
   * connection, and the client could lose the response.
   */
  endAfter(request: IncomingMessage, body: string | Buffer): Readable {
    const rest = Promise.withResolvers<void>()
    this.#ending.set(request.socket, rest.resolve)
    finished(request, () => rest.resolve())
    return Readable.from(followedByRest(request, body, rest.promise), { objectMode: false })
  }

  /** Nothing more will arrive. */
  endRest(socket: Socket): void {
    this.#ending.get(socket)?.()
  }

  /** Closes every connection without an upload or export in progress, and returns the number of the others. */
  cutOffRest(): number {
    let transfers = 0
    for (const [socket, exchanges] of this.#exchanges) {
      if ([...exchanges].some(({ request }) => isTransfer(request))) transfers++
      else socket.destroy()
    }
    return transfers
  }

  /** Closes connections as their exchanges end, until the server has closed. */
  async endDuring(close: () => Promise<unknown>): Promise<void> {
    // Node destroys what it counts as idle at once: also connections whose clients still read the end of a response.
    while (this.#isBeingRead()) await sleep(SWEEP_INTERVAL)
    // Node does so only once, and leaves those that were opened in advance, as browsers do.
    const sweep = setInterval(() => {
      for (const [socket, exchanges] of this.#exchanges) if (exchanges.size === 0) socket.destroy()
    }, SWEEP_INTERVAL)
    try {
      await close()
    } finally {
      clearInterval(sweep)
    }
  }

  /**
   * Makes room for a new connection, if possible: closes the oldest idle one, or the oldest one that waits for its client.
   * If new connections were refused, one client that opens many and leaves them could shut out all others.
   */
  #closeOne(): boolean {
    const open = () => this.#exchanges.entries().filter(([socket]) => !socket.destroyed)
    const [oldest] =
      open().find(([, exchanges]) => exchanges.size === 0) ??
      open().find(([socket]) => this.#waitsForClient(socket)) ??
      []
    // After an ordinary close, the system would keep what the client has not read.
    oldest?.resetAndDestroy()
    return oldest !== undefined
  }

  #watch(socket: Socket): void {
    const exchanges = new Set<Exchange>()
    this.#exchanges.set(socket, exchanges)
    // One listener for all its exchanges: a response that waits behind others gets no event.
    socket.once('close', (hadError) => {
      this.#exchanges.delete(socket)
      const outcome = hadError || socket.readableEnded ? 'left' : 'cut-off'
      for (const { onEnd } of exchanges) onEnd(outcome)
      exchanges.clear()
    })
  }

  /** Whether it is the client's turn: to ask, to send the rest of a body, or to take the response. */
  #waitsForClient(socket: Socket): boolean {
    const [first] = this.of(socket)
    if (first === undefined || socket.writableLength > 0) return true
    return !first.request.complete && first.request.readableLength === 0
  }

  #isBeingRead(): boolean {
    return this.#exchanges
      .values()
      .some((exchanges) =>
        exchanges.values().some(({ response }) => response.writableEnded && !response.writableFinished),
      )
  }
}

/** Yields the body, and ends once the client has sent the rest of its own, or after a while. */
async function* followedByRest(
  request: IncomingMessage,
  body: string | Buffer,
  rest: Promise<void>,
): AsyncGenerator<string | Buffer> {
  yield body
  request.unpipe().resume()
  await Promise.race([rest, sleep(LONGEST_REST, undefined, { ref: false })])
}
