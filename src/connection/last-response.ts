import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Duplex } from 'node:stream'

const LAST = Symbol('last response')

/** Marks a response that the operating system has accepted, to a request that had arrived completely. */
export const SENT = 'sent'

type Connection = Duplex & { [LAST]?: ServerResponse | typeof SENT }

/** The last response on a connection; `undefined` if it has had no request. */
export function lastResponseOn(connection: Duplex): ServerResponse | typeof SENT | undefined {
  return (connection as Connection)[LAST]
}

export function beginResponse(request: IncomingMessage, response: ServerResponse): void {
  const connection: Connection = request.socket
  connection[LAST] = response
}

/** Releases a response that was sent, so that an idle connection keeps none of it in memory. */
export function endResponse(request: IncomingMessage, response: ServerResponse): void {
  const connection: Connection = request.socket
  if (connection[LAST] === response && request.complete) connection[LAST] = SENT
}
