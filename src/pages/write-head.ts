import { IncomingMessage, ServerResponse, STATUS_CODES } from 'node:http'
import { Socket } from 'node:net'
import type { FastifyRequest } from 'fastify'
import type { CommonHeaders } from '../http/common-headers.ts'
import type { HeaderBlock } from '../http/headers.ts'

/**
 * Writes the head of a response, like `response.writeHead`. That function validates and merges all headers again for
 * every response, which takes longer than the rest of the work for a page in memory. Node sends a prepared head
 * unchanged.
 */
export function writeHead(
  request: FastifyRequest,
  response: ServerResponse,
  status: number,
  common: CommonHeaders,
  own: HeaderBlock,
): void {
  if (!acceptsPrepared(response) || common.endsConnections) {
    response.writeHead(status, [...common.of(request, response), ...own.list])
    return
  }
  response.statusCode = status
  const line = `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n`
  prepare(response, `${line}${common.render(request)}${own.text}date: ${nameDate()}\r\n\r\n`)
}

/**
 * Whether the installed Node.js sends a prepared head, which is kept in the undocumented field `_header`. If a
 * release stops reading it, all heads are written with `writeHead`.
 *
 * @param response a response to a request without a connection
 */
export function sendsPreparedHead(response = new ServerResponse(new IncomingMessage(new Socket()))): boolean {
  const head = 'HTTP/1.1 200 OK\r\nx-prepared: yes\r\ncontent-length: 2\r\n\r\n'
  let sent = ''
  const socket = new Socket()
  socket._writev = (chunks, done) => {
    for (const { chunk } of chunks) sent += (chunk as Buffer).toString('latin1')
    done()
  }
  socket._write = (chunk: Buffer | string, _encoding, done) => {
    sent += chunk.toString('latin1')
    done()
  }
  try {
    response.assignSocket(socket)
    prepare(response, head)
    response.end(Buffer.from('ok'))
    return sent === `${head}ok`
  } catch {
    return false
  } finally {
    socket.destroy()
  }
}

let isPreparedSent: boolean | undefined

/** Node has to know whether the connection closes, and a replaced `writeHead` has to be called. */
function acceptsPrepared(response: ServerResponse): boolean {
  isPreparedSent ??= sendsPreparedHead()
  return (
    isPreparedSent &&
    response.shouldKeepAlive &&
    response.req.httpVersion === '1.1' &&
    response.writeHead === ServerResponse.prototype.writeHead
  )
}

function prepare(response: ServerResponse, head: string): void {
  ;(response as ServerResponse & { _header: string })._header = head
}

let second = 0
let date = ''

/** The time in HTTP's format (RFC 9110, section 5.6.7), rendered once a second. */
function nameDate(): string {
  const now = Math.floor(Date.now() / 1000)
  if (now !== second) {
    second = now
    date = new Date(now * 1000).toUTCString()
  }
  return date
}
