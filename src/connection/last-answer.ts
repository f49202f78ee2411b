import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Duplex } from 'node:stream'

const LAST = Symbol('last answer')

/** An answer that has been handed over to the system, to a request that had arrived whole. */
export const SENT = 'sent'

type Connection = Duplex & { [LAST]?: ServerResponse | typeof SENT }

/** The last answer on a connection; `undefined` where it has had no request. */
export function lastAnswerOn(connection: Duplex): ServerResponse | typeof SENT | undefined {
  return (connection as Connection)[LAST]
}

export function beginAnswer(request: IncomingMessage, response: ServerResponse): void {
  const connection: Connection = request.socket
  connection[LAST] = response
}

/**
 * Lets go of an answer that has been handed over. A connection that waits for its next request would keep the last one
 * in memory, with all that was made of it: each collection of garbage would have to look at it.
 */
export function endAnswer(request: IncomingMessage, response: ServerResponse): void {
  const connection: Connection = request.socket
  if (connection[LAST] === response && request.complete) connection[LAST] = SENT
}
