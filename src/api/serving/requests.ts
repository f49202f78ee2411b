import { randomFillSync, randomUUID } from 'node:crypto'
import { type IncomingMessage, METHODS, type Server, ServerResponse, STATUS_CODES } from 'node:http'
import type { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { lookUp } from '../../foundation/look-up.ts'
import { PROBLEM_TYPE, Problem, renderProblem } from '../contract/problems.ts'
import { breakBody, isBroken } from '../request/body.ts'
import { VERSION_HEADERS } from '../request/versions.ts'
import type { ResponseLog } from '../telemetry/response-log.ts'
import { closeInSteps, discardSlowly, isLingering, linger, lingerAfterLast } from './connections.ts'
import { renderFields, SECURITY_HEADERS } from './headers.ts'
import { beginResponse, isIdle, lastResponseOn } from './last-response.ts'
import {
  allowHalfOpen,
  bytesBeingParsed,
  closeAfter,
  PARSING_STOPPED,
  stopParsing,
} from './node-internals.ts'

const MALFORMED = new Problem(
  'malformed-request',
  'The request line or a header is not well-formed HTTP/1.1.',
)
const MALFORMED_BODY = new Problem(
  'malformed-body',
  'The body is not well-formed HTTP/1.1: a chunk is malformed (RFC 9112, section 7.1).',
  { headers: { connection: 'close' } },
)
const CLIENT_ERRORS = lookUp<Problem>({
  HPE_HEADER_OVERFLOW: new Problem(
    'headers-too-large',
    'The request line and the headers exceed 16 KiB, or there are more than 1,000 headers.',
  ),
  ERR_HTTP_REQUEST_TIMEOUT: new Problem('request-timeout', 'The request did not arrive in time.'),
})
const HTTP_METHODS = new Set(METHODS)
const CONNECT = new Problem(
  'method-not-allowed',
  'The service does not support CONNECT: it is not a proxy.',
  {
    headers: { allow: 'GET, HEAD, OPTIONS' },
  },
)

/**
 * Receives every request of a server, in the order of its connection, and answers those that Node's parser rejects, or
 * would refuse without a problem body.
 */
export class Requests {
  readonly #responses: ResponseLog
  readonly #pipelines = new Pipelines()

  constructor(responses: ResponseLog) {
    this.#responses = responses
  }

  watch(server: Server): void {
    const handlers = server.listeners('request')
    server.removeAllListeners('request')
    closeInSteps(server)
    const handleNext = (request: IncomingMessage, response: ServerResponse) => {
      // Node drops requests after one with Upgrade; closing shows the client that they have no response.
      if (request.headers.upgrade !== undefined) closeAfter(response)
      // The parser also accepts RTSP methods, which the router would answer without running hooks, logging a warning.
      if (!HTTP_METHODS.has(request.method ?? '') || isRtsp(request)) this.#refuse(MALFORMED, response)
      else for (const handle of handlers) handle.call(server, request, response)
    }
    server.on('request', (request: IncomingMessage, response: ServerResponse) => {
      if (isLingering(request.socket)) return void request.socket.destroy()
      if (request.socket.destroyed || this.#pipelines.isFull(request.socket)) return
      beginResponse(request, response)
      this.#pipelines.enter(request, response, handleNext)
    })
    // A client that half-closes its connection still gets its response. Node would close the connection first.
    allowHalfOpen(server)
    // Without listeners Node closes the connection after CONNECT, and sends 417 without a body for Expect.
    server.on('connect', (_request, socket: Duplex) => {
      // Node has removed its own listener: without one, a reset by the client would end the process.
      socket.on('error', () => socket.destroy())
      this.#refuse(CONNECT, socket)
    })
    server.on('checkExpectation', (request, response) => server.emit('request', request, response))
  }

  /** Responds to an error of the parser, after the responses that are still pending on the connection. */
  answerError(error: Error & { code?: string }, socket: Duplex & { bytesWritten?: number }): void {
    if (isLingering(socket)) return
    if (error.code === PARSING_STOPPED && this.#pipelines.isFull(socket)) return void discardSlowly(socket)
    if (error.code === 'ECONNRESET' || !socket.writable) {
      socket.destroy()
      return
    }
    const last = lastResponseOn(socket)
    if (last === undefined && (socket.bytesWritten ?? 0) > 0) socket.destroy()
    else if (last === undefined || isIdle(last))
      this.#refuse(CLIENT_ERRORS[error.code ?? ''] ?? MALFORMED, socket)
    // Nobody waits for the rest of a body whose client has left: it would count as memory until its timeout.
    else if (!last.writableFinished && !last.req.complete && error.code === 'HPE_INVALID_EOF_STATE')
      socket.destroy()
    else if (!last.writableFinished && isBroken(last.req)) return
    else if (!last.headersSent && !last.req.complete) {
      closeAfter(last)
      lingerAfterLast(socket)
      breakBody(last.req, CLIENT_ERRORS[error.code ?? ''] ?? MALFORMED_BODY)
    } else if (!last.writableFinished) last.once('close', () => this.answerError(error, socket))
    // The malformed part is the body of a request that has already been answered.
    else if (!last.req.complete) linger(socket)
    else this.#refuse(CLIENT_ERRORS[error.code ?? ''] ?? MALFORMED, socket)
  }

  /** @param to a queued response, or a connection without pending responses */
  #refuse(problem: Problem, to: ServerResponse | Duplex): void {
    const id = randomUUID()
    const body = renderProblem(problem, id)
    const headers = {
      ...VERSION_HEADERS,
      ...problem.headers,
      'x-request-id': id,
      ...SECURITY_HEADERS,
      'cache-control': 'no-store',
      'content-type': PROBLEM_TYPE,
      'content-length': String(Buffer.byteLength(body)),
      date: new Date().toUTCString(),
      connection: 'close',
    }
    if (to instanceof ServerResponse) {
      to.writeHead(problem.status, headers).end(body)
    } else {
      const fields = renderFields(Object.entries(headers).flat())
      to.end(`HTTP/1.1 ${problem.status} ${STATUS_CODES[problem.status]}\r\n${fields}\r\n${body}`)
      linger(to)
    }
    const { status } = problem
    const bytes = Buffer.byteLength(body)
    this.#responses.record({ id, operation: 'broken-request', status, outcome: 'sent', bytes, ms: 0 })
  }
}

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

/**
 * Whether a request line ends with an RTSP version. Node's parser accepts one for GET, POST and OPTIONS and reports
 * it as the same HTTP version. Only HTTP/1.0 needs the check: RTSP/1.0 exists, RTSP/1.1 does not.
 */
function isRtsp({ httpVersion, method, url, socket }: IncomingMessage): boolean {
  if (httpVersion !== '1.0') return false
  return bytesBeingParsed(socket)?.includes(`${method} ${url} RTSP/`, 0, 'latin1') === true
}

/** How many ids are rendered at once. */
const BATCH = 512
/** Bytes of an id, and characters of its text. */
const SIZE = 16
const LENGTH = 36

const DIGITS = '0123456789abcdef'
const HYPHEN = 0x2d

const bytes = Buffer.alloc(BATCH * SIZE)
const characters = Buffer.alloc(BATCH * LENGTH)
let texts = ''
let next = BATCH

/**
 * Creates the id of a request: a UUID of version 4 (RFC 9562, section 5.4). The text of `randomUUID` consists of twenty
 * pieces, which are copied one by one into the header and the log line; this one is a part of a flat text.
 */
export function createRequestId(): string {
  if (next === BATCH) {
    texts = renderIds()
    next = 0
  }
  const start = next++ * LENGTH
  return texts.slice(start, start + LENGTH)
}

function renderIds(): string {
  randomFillSync(bytes)
  let end = 0
  for (let index = 0; index < bytes.length; index++) {
    const place = index % SIZE
    let byte = bytes[index] as number
    if (place === 6) byte = (byte & 0x0f) | 0x40
    if (place === 8) byte = (byte & 0x3f) | 0x80
    if (place === 4 || place === 6 || place === 8 || place === 10) characters[end++] = HYPHEN
    characters[end++] = DIGITS.charCodeAt(byte >> 4)
    characters[end++] = DIGITS.charCodeAt(byte & 0x0f)
  }
  return characters.toString('latin1')
}
