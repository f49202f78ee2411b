import { createServer, type IncomingMessage, type Server, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { Duplex } from 'node:stream'

/**
 * Every use of behaviour that Node.js does not document. Each is probed at the start; where a probe fails, the function
 * does what is documented, and the process says once what is lost by that.
 */
const LOSSES = {
  'prepared-head': 'responses are slower, because their heads are written anew for each',
  'rendered-head': 'the bytes of interrupted responses in the log include their heads',
  'keep-alive': 'responses are slower, and do not announce how long an idle connection is kept',
  'current-buffer': 'requests of RTSP/1.0 are answered as HTTP',
  'stop-parsing': 'requests that are pipelined beyond the limit are parsed before they are ignored',
  'half-open': 'a client that closes its half of a connection gets no response',
  'last-response': 'a client that is still sending may lose the response to a refused body',
  'end-of-body': 'a request whose body breaks off gets no response',
  'idle-connections': 'a stop may cut off a slow reader',
  'unparsed-rest': 'requests behind the last response of a connection are parsed before they are ignored',
  'turn-in-line': 'the bytes of interrupted responses that were pipelined are logged as 0',
  'destroyed-by': 'the log does not tell clients that left from those that were cut off',
} as const
export type Internal = keyof typeof LOSSES

const missing = new Set<Internal>()
let probed: Promise<readonly string[]> | undefined

/**
 * Probes this Node.js, once for the process.
 *
 * @returns what is lost, as sentences for the log
 */
export function probeNode(): Promise<readonly string[]> {
  probed ??= findMissing().then((found) => {
    for (const each of found) missing.add(each)
    return found.map(
      (each) =>
        `Node.js ${process.version} differs from what Mahi was tested with (${each}): ${LOSSES[each]}.`,
    )
  })
  return probed
}

/** Whether Node sends a head that was prepared with `prepareHead`. */
export function sendsPreparedHead(): boolean {
  return !missing.has('prepared-head')
}

/** Sets the head that Node sends, in wire format. Node keeps it in the field `_header`. */
export function prepareHead(response: ServerResponse, head: string): void {
  ;(response as Response)._header = head
}

/** The head in wire format, which Node renders once; empty if it is not known. */
export function renderedHead(response: ServerResponse): string {
  if (missing.has('rendered-head')) return ''
  return (response as Response)._header ?? ''
}

/** Whether the connection stays open after a response. */
export function keepsAlive(response: ServerResponse): boolean {
  return !missing.has('keep-alive') && response.shouldKeepAlive
}

/** Closes the connection after a response whose head has not been written. */
export function closeAfter(response: ServerResponse): void {
  if (missing.has('keep-alive')) response.setHeader('connection', 'close')
  else response.shouldKeepAlive = false
}

/** What the parser of a connection is reading, if it is known. */
export function bytesBeingParsed(connection: Duplex): Buffer | undefined {
  if (missing.has('current-buffer')) return undefined
  return (connection as Parsed).parser?.getCurrentBuffer?.()
}

/** What a callback of the parser returns to end it. */
const PARSER_ERROR = -1

/** The code of the error that the parser then reports. */
export const PARSING_STOPPED = 'HPE_CB_HEADERS_COMPLETE'

/** Ends the parsing of what has arrived on a connection, with a parser error. */
export function stopParsing(connection: Duplex): void {
  const { parser } = connection as Parsed
  if (!missing.has('stop-parsing') && typeof parser?.onIncoming === 'function')
    parser.onIncoming = () => PARSER_ERROR
}

/** Keeps a connection open whose client has closed its half. */
export function allowHalfOpen(server: Server): void {
  Object.assign(server, { httpAllowHalfOpen: true })
}

/** Calls back instead of closing a connection after its last response. */
export function onLastResponse(connection: Socket, close: (destroySoon: () => void) => void): void {
  if (missing.has('last-response')) return
  const destroySoon = connection.destroySoon.bind(connection)
  connection.destroySoon = () => close(destroySoon)
}

/** Ends a body whose rest will never arrive. Without the mark, its end would destroy the connection. */
export function endBody(request: IncomingMessage): void {
  if (missing.has('end-of-body')) return void request.destroy()
  request.complete = true
  request.push(null)
}

/** Calls back when the server would close its idle connections, at its end. */
export function onClosingIdle(server: Server, close: (closeIdle: () => void) => void): void {
  const closeIdle = server.closeIdleConnections.bind(server)
  server.closeIdleConnections = () => close(closeIdle)
}

/** Reads what follows on a connection in place of the parser, which finds no further requests in it. */
export function readUnparsed(connection: Duplex, onData: (chunk: Buffer) => void): void {
  connection.removeAllListeners('data')
  connection.on('data', onData)
}

/** Calls back once a response that waits behind others is written to its connection. */
export function onceWriting(response: ServerResponse, onWriting: () => void): void {
  response.once('socket', onWriting)
}

/** Calls back before a connection is destroyed; an error comes from the other end. */
export function beforeDestroyed(connection: Socket, listener: (error: Error | undefined) => void): void {
  const { destroy } = connection
  connection.destroy = (error?: Error) => {
    listener(missing.has('destroyed-by') ? undefined : error)
    return destroy.call(connection, error)
  }
}

/**
 * Bytes that wait in the process until the operating system accepts them. Only the handle knows how much of a chunk it
 * has accepted; without it, the whole chunk waits.
 */
export function queuedOn(connection: Socket): number {
  const { _handle: handle } = connection as Socket & { _handle?: { writeQueueSize?: number } | null }
  return handle?.writeQueueSize ?? connection.writableLength
}

type Response = ServerResponse & { _header?: string | null }
type Parsed = Duplex & { parser?: { onIncoming?: unknown; getCurrentBuffer?(): Buffer } | null }

/** A connection in memory, to a server that answers nothing by itself. */
export interface Exchange {
  readonly server: Server
  readonly connection: Duplex & { destroySoon: () => void }
  /** What the server has sent. */
  readonly sent: () => string
  readonly requests: IncomingMessage[]
  readonly responses: ServerResponse[]
  readonly errors: string[]
  send(text: string): void
}

/** Opens a connection; `Answer` is the class of its responses. */
export function openExchange(Answer: typeof ServerResponse = ServerResponse): Exchange {
  let sent = ''
  const connection: Exchange['connection'] = Object.assign(
    new Duplex({
      read: () => undefined,
      write: (chunk: Buffer, _encoding, done) => {
        sent += chunk.toString('latin1')
        done()
      },
    }),
    { destroySoon: () => undefined },
  )
  const server = createServer({ ServerResponse: Answer })
  const requests: IncomingMessage[] = []
  const responses: ServerResponse[] = []
  const errors: string[] = []
  server.on('request', (request: IncomingMessage, response: ServerResponse) => {
    requests.push(request)
    responses.push(response)
  })
  server.on('clientError', (error: NodeJS.ErrnoException) => errors.push(error.code ?? ''))
  server.emit('connection', connection)
  const send = (text: string) => void connection.emit('data', Buffer.from(text, 'latin1'))
  return { server, connection, sent: () => sent, requests, responses, errors, send }
}

const GET = 'GET /probe HTTP/1.1\r\nHost: a\r\n\r\n'
const HEAD = 'HTTP/1.1 200 OK\r\nx-prepared: yes\r\ncontent-length: 2\r\n\r\n'

/** Whether Node behaves as each function expects, on a connection of its own. */
const PROBES: Readonly<Record<Internal, (exchange: Exchange) => boolean | Promise<boolean>>> = {
  'prepared-head': (exchange) => {
    const response = ask(exchange)
    prepareHead(response, HEAD)
    response.end(Buffer.from('ok'))
    return exchange.sent() === `${HEAD}ok`
  },
  'rendered-head': (exchange) => {
    const response = ask(exchange)
    response.writeHead(200, { 'content-length': '2' }).end('ok')
    return exchange.sent() === `${(response as Response)._header}ok`
  },
  'keep-alive': (exchange) => {
    const response = ask(exchange)
    const before = response.shouldKeepAlive
    response.shouldKeepAlive = false
    response.writeHead(200).end()
    return before && /\r\nconnection: close\r\n/i.test(exchange.sent())
  },
  'current-buffer': (exchange) => {
    let seen = ''
    exchange.server.once('request', ({ socket }: IncomingMessage) => {
      seen = (socket as Parsed).parser?.getCurrentBuffer?.().toString('latin1') ?? ''
    })
    exchange.send(GET)
    return seen.startsWith('GET /probe HTTP/1.1\r\n')
  },
  'stop-parsing': (exchange) => {
    exchange.server.once('request', ({ socket }: IncomingMessage) => stopParsing(socket))
    exchange.send(GET + GET)
    return exchange.requests.length === 1 && exchange.errors[0] === PARSING_STOPPED
  },
  'half-open': (exchange) => {
    allowHalfOpen(exchange.server)
    ask(exchange)
    exchange.connection.emit('end')
    return !exchange.connection.writableEnded && !exchange.connection.destroyed
  },
  'last-response': async (exchange) => {
    const last = Promise.withResolvers<boolean>()
    onLastResponse(exchange.connection as unknown as Socket, () => last.resolve(true))
    const response = ask(exchange)
    response.setHeader('connection', 'close').end()
    return await within(last.promise)
  },
  'end-of-body': async (exchange) => {
    exchange.send('POST /probe HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\nhalf')
    const [request] = exchange.requests
    if (request === undefined) return false
    const closed = Promise.withResolvers<boolean>()
    request.once('close', () => closed.resolve(true)).resume()
    endBody(request)
    return (await within(closed.promise)) && request.readableEnded && !exchange.connection.destroyed
  },
  'idle-connections': ({ server }) => {
    let called = false
    onClosingIdle(server, () => {
      called = true
    })
    server.close(() => undefined)
    return called
  },
  'unparsed-rest': (exchange) => {
    ask(exchange)
    let read = ''
    readUnparsed(exchange.connection, (chunk) => {
      read += chunk.toString('latin1')
    })
    exchange.send(GET)
    return exchange.requests.length === 1 && read === GET
  },
  'turn-in-line': async (exchange) => {
    exchange.send(GET + GET)
    const [first, second] = exchange.responses
    if (first === undefined || second === undefined) return false
    const turn = Promise.withResolvers<boolean>()
    onceWriting(second, () => turn.resolve(true))
    first.end('ok')
    return await within(turn.promise)
  },
  'destroyed-by': (exchange) => {
    ask(exchange)
    const seen: unknown[] = []
    beforeDestroyed(exchange.connection as unknown as Socket, (error) => seen.push(error))
    const left = new Error('the client left')
    exchange.requests[0]?.destroy(left)
    return seen[0] === left
  },
}

/** Sends a request and returns its response, which waits to be written. */
function ask({ send, responses }: Exchange): ServerResponse {
  send(GET)
  const [response] = responses
  if (response === undefined) throw new Error('the request did not arrive')
  return response
}

/** The result, or false if it takes more than a few turns of the event loop. */
async function within(result: Promise<boolean>): Promise<boolean> {
  const late = async () => {
    for (let turn = 0; turn < 10; turn++) await new Promise(setImmediate)
    return false
  }
  return await Promise.race([result, late()])
}

/**
 * The functions that do not work with this Node.js.
 *
 * @param open opens the connection of each probe
 */
export async function findMissing(
  open: (probe: Internal) => Exchange = () => openExchange(),
): Promise<Internal[]> {
  const found: Internal[] = []
  for (const name of Object.keys(PROBES) as Internal[]) {
    const exchange = open(name)
    // A probe may destroy its connection with an error.
    exchange.connection.on('error', () => undefined)
    const works = await Promise.resolve()
      .then(() => PROBES[name](exchange))
      .catch(() => false)
    if (!works) found.push(name)
    exchange.connection.destroy()
  }
  return found
}
