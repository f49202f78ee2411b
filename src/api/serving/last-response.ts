import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Duplex } from 'node:stream'

const LAST = Symbol('last response')

/** Marks a response that the operating system has accepted, to a request that had arrived completely. */
export const SENT = 'sent'

/** The same, where no other request has arrived since `markRested`. */
const RESTED = 'rested'

export type LastResponse = ServerResponse | typeof SENT | typeof RESTED

type Connection = Duplex & { [LAST]?: LastResponse }

/** The last response on a connection; `undefined` if it has had no request. */
export function lastResponseOn(connection: Duplex): LastResponse | undefined {
  return (connection as Connection)[LAST]
}

/** Whether the connection has had a response, and has no request in progress. */
export function isIdle(last: LastResponse | undefined): last is typeof SENT | typeof RESTED {
  return last === SENT || last === RESTED
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

/** Marks an idle connection until its next request. */
export function markRested(connection: Duplex): void {
  const marked: Connection = connection
  marked[LAST] = RESTED
}

const transfers = new WeakSet<IncomingMessage>()

/** Marks a request as an upload or an export, which may take minutes: a stop waits longer for it. */
export function markTransfer(request: IncomingMessage): void {
  transfers.add(request)
}

export function isTransfer(request: IncomingMessage): boolean {
  return transfers.has(request)
}
