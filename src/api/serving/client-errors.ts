import { randomUUID } from 'node:crypto'
import { type IncomingMessage, type Server, STATUS_CODES } from 'node:http'
import type { Socket } from 'node:net'
import { lookUp } from '../../foundation/look-up.ts'
import { PROBLEM_TYPE, Problem, renderProblem } from '../request/problems.ts'
import { VERSION_HEADERS } from '../request/versions.ts'
import type { ResponseLog } from '../telemetry/response-log.ts'
import type { Connections } from './connections.ts'
import { SECURITY_HEADERS } from './headers.ts'

const MALFORMED = new Problem(
  'malformed-request',
  'The request line or a header is not well-formed HTTP/1.1.',
)
const MALFORMED_BODY = new Problem(
  'malformed-body',
  'The body is not well-formed HTTP/1.1: a chunk is malformed (RFC 9112, section 7.1).',
)
const CLIENT_ERRORS = lookUp<Problem>({
  HPE_HEADER_OVERFLOW: new Problem(
    'headers-too-large',
    'The request line and the headers exceed 16 KiB, or there are more than 1,000 headers.',
  ),
  ERR_HTTP_REQUEST_TIMEOUT: new Problem('request-timeout', 'The request did not arrive in time.'),
})
const CONNECT = new Problem(
  'method-not-allowed',
  'The service does not support CONNECT: it is not a proxy.',
  { headers: { allow: 'GET, HEAD, OPTIONS' } },
)

/** Responds to what Node's parser rejects, or would refuse without a problem body. */
export class ClientErrors {
  readonly #connections: Connections
  readonly #responses: ResponseLog

  constructor(server: Server, connections: Connections, responses: ResponseLog) {
    this.#connections = connections
    this.#responses = responses
    // Without listeners, Node closes the connection after CONNECT, and sends 417 without a body for Expect.
    server.on('connect', (_request: IncomingMessage, socket: Socket) => {
      // Node has removed its own listener: without one, a reset by the client would end the process.
      socket.on('error', () => socket.destroy())
      this.#refuse(CONNECT, socket)
    })
    server.on('checkExpectation', (request, response) => server.emit('request', request, response))
  }

  /** Responds to an error of the parser, after the responses that are still pending on the connection. */
  answer(error: Error & { code?: string }, socket: Socket): void {
    if (error.code === 'ECONNRESET' || !socket.writable) return void socket.destroy()
    const last = [...this.#connections.of(socket)].at(-1)
    const known = CLIENT_ERRORS[error.code ?? '']
    if (last === undefined) {
      this.#refuse(known ?? MALFORMED, socket)
      return
    }
    const { request, response } = last
    if (request.complete) return void response.once('finish', () => this.answer(error, socket))
    // The rest of a body will never arrive, so its request ends with the connection: at once if its client has left,
    // and otherwise after its response, which may be on its way.
    if (error.code === 'HPE_INVALID_EOF_STATE') return void socket.destroy()
    setImmediate(() => {
      if (socket.destroyed) return
      this.#connections.endRest(socket)
      if (!response.headersSent) this.#refuse(known ?? MALFORMED_BODY, socket)
      else if (response.writableFinished) socket.destroySoon()
      else response.once('finish', () => socket.destroySoon())
    })
  }

  #refuse(problem: Problem, socket: Socket): void {
    const id = randomUUID()
    const body = renderProblem(problem, id)
    const bytes = Buffer.byteLength(body)
    const headers = {
      ...VERSION_HEADERS,
      ...SECURITY_HEADERS,
      ...problem.headers,
      'x-request-id': id,
      'cache-control': 'no-store',
      'content-type': PROBLEM_TYPE,
      'content-length': String(bytes),
      date: new Date().toUTCString(),
      connection: 'close',
    }
    const fields = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`)
    const { status } = problem
    socket.write(`HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${fields.join('')}\r\n${body}`)
    socket.destroySoon()
    this.#responses.record({ id, operation: 'broken-request', status, outcome: 'sent', bytes, ms: 0 })
  }
}
