import { ServerResponse, STATUS_CODES } from 'node:http'
import type { FastifyRequest } from 'fastify'
import type { CommonHeaders } from '../http/common-headers.ts'
import type { HeaderBlock } from '../http/headers.ts'

/**
 * Writes the head of an answer with a status and the headers of its own, as `response.writeHead` does. That checks each
 * header anew at each answer and adds it to the others, which takes longer than everything else that is done for a
 * page in memory. Node sends a head that is there already as it is.
 */
export function writeHead(
  request: FastifyRequest,
  response: ServerResponse,
  status: number,
  common: CommonHeaders,
  own: HeaderBlock,
): void {
  if (!takesPrepared(response) || common.endsConnections) {
    response.writeHead(status, [...common.of(request, response), ...own.list])
    return
  }
  response.statusCode = status
  const line = `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n`
  prepared(response)._header = `${line}${common.render(request)}${own.text}date: ${nameDate()}\r\n\r\n`
}

/** Where the connection is to end, Node has to know; and whoever has put a `writeHead` of its own there, to be told. */
function takesPrepared(response: ServerResponse): boolean {
  return (
    response.shouldKeepAlive &&
    response.req.httpVersion === '1.1' &&
    response.writeHead === ServerResponse.prototype.writeHead
  )
}

/** Node's own field for the head that is sent before the first byte of the body. */
function prepared(response: ServerResponse): ServerResponse & { _header: string } {
  return response as ServerResponse & { _header: string }
}

let second = 0
let date = ''

/** The time as HTTP writes it (RFC 9110, section 5.6.7), rendered once a second. */
function nameDate(): string {
  const now = Math.floor(Date.now() / 1000)
  if (now !== second) {
    second = now
    date = new Date(now * 1000).toUTCString()
  }
  return date
}
