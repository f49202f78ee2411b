import { randomUUID } from 'node:crypto'
import { type IncomingMessage, METHODS, type Server, ServerResponse, STATUS_CODES } from 'node:http'
import type { Duplex } from 'node:stream'
import type { FastifyRequest } from 'fastify'
import { PROBLEM_TYPE, Problem, renderProblem } from '../contract/problems.ts'
import { breakBody, isBroken } from '../request/body.ts'
import { VERSION_HEADERS } from '../request/versions.ts'
import type { ResponseLog } from '../telemetry/response-log.ts'
import { renderFields } from './headers.ts'
import { beginResponse, isIdle, lastResponseOn } from './last-response.ts'
import { closeInSteps, discardSlowly, isLingering, linger, lingerAfterLast } from './lingering-close.ts'
import { allowHalfOpen, closeAfter, PARSING_STOPPED } from './node-internals.ts'
import { Pipelines } from './pipelines.ts'
import { isRtsp } from './rtsp.ts'
import { SECURITY_HEADERS } from './security-headers.ts'

const MALFORMED = new Problem(
  'malformed-request',
  'The request line or a header is not well-formed HTTP/1.1.',
)
const MALFORMED_BODY = new Problem(
  'malformed-body',
  'The body is not well-formed HTTP/1.1: a chunk is malformed (RFC 9112, section 7.1).',
  { headers: { connection: 'close' } },
)
const CLIENT_ERRORS: Record<string, Problem> = {
  HPE_HEADER_OVERFLOW: new Problem(
    'headers-too-large',
    'The request line and the headers exceed 16 KiB, or there are more than 1,000 headers.',
  ),
  ERR_HTTP_REQUEST_TIMEOUT: new Problem('request-timeout', 'The request did not arrive in time.'),
}
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

/** A host and a port (RFC 3986, section 3.2); empty where the URL has no host. */
const HOST = /^(?:\[[\w:.%~-]+\]|[\w.~!$&'()*+,;=%-]*)(?::\d*)?$/

/** @throws {Problem} for requests that Node's parser accepts, or would refuse without a problem body */
export function assertWellFormed({ url, raw: { headers, rawHeaders, httpVersion } }: FastifyRequest): void {
  if (url.includes('#')) {
    throw new Problem(
      'malformed-request',
      'The URL must not include a fragment, which begins with # (RFC 9112, section 3.2.1).',
    )
  }
  if (httpVersion !== '1.1' && httpVersion !== '1.0') {
    throw new Problem('malformed-request', `The HTTP version must be 1.1 or 1.0, not ${httpVersion}.`)
  }
  if (headers.host === undefined && httpVersion === '1.1') {
    throw new Problem('malformed-request', 'The Host header is missing (RFC 9112, section 3.2).')
  }
  if (headers.host !== undefined && !HOST.test(headers.host)) {
    throw new Problem(
      'malformed-request',
      'The Host header must be a host and an optional port (RFC 9112, section 3.2).',
    )
  }
  if (countHosts(rawHeaders) > 1) {
    throw new Problem('malformed-request', 'The Host header must be given only once (RFC 9112, section 3.2).')
  }
  const coding = headers['transfer-encoding']
  if (coding !== undefined && !/\bchunked *$/i.test(coding)) {
    throw new Problem(
      'malformed-request',
      'The last Transfer-Encoding must be chunked (RFC 9112, section 6.3).',
    )
  }
  if (headers.expect !== undefined && headers.expect.toLowerCase() !== '100-continue') {
    throw new Problem('expectation-failed', 'The only supported expectation is 100-continue.')
  }
}

/** Node keeps only the first one. */
function countHosts(rawHeaders: readonly string[]): number {
  let hosts = 0
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = rawHeaders[index]
    if (name?.length === 4 && name.toLowerCase() === 'host') hosts++
  }
  return hosts
}
