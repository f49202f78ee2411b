import { ServerResponse, STATUS_CODES } from 'node:http'
import type { FastifyRequest } from 'fastify'
import type { CommonHeaders } from './common-headers.ts'
import type { HeaderBlock } from './headers.ts'
import { keepsAlive, prepareHead, sendsPreparedHead } from './node-internals.ts'

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
  prepareHead(response, `${line}${common.render(request)}${own.text}date: ${nameDate()}\r\n\r\n`)
}

/** Node has to know whether the connection closes, and a replaced `writeHead` has to be called. */
function acceptsPrepared(response: ServerResponse): boolean {
  return (
    sendsPreparedHead() &&
    keepsAlive(response) &&
    response.req.httpVersion === '1.1' &&
    response.writeHead === ServerResponse.prototype.writeHead
  )
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
