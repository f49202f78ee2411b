import type { ServerResponse } from 'node:http'
import type { Socket } from 'node:net'

/**
 * How a response ended: `sent` where the system has taken all of it, `left` where the client closed the connection
 * first, `cut-off` where the service did, as with a reader that is too slow.
 */
export type Outcome = 'sent' | 'left' | 'cut-off'

/** @param bytes of the body that the system has taken */
type OnEnd = (outcome: Outcome, bytes: number) => void

interface Pending {
  readonly onEnd: OnEnd
  /** Bytes that had gone over the connection before the response; `undefined` while others are before it. */
  start: number | undefined
}

interface Connection {
  readonly pending: Map<ServerResponse, Pending>
  /** Why and with what left to send the connection was destroyed. */
  destroyed?: { readonly outcome: Outcome; readonly unsent: number }
}

const connections = new WeakMap<Socket, Connection>()

/**
 * Calls back once it is known how a response has ended. One listener for each connection, and none for each response:
 * most callers send many requests over one connection.
 *
 * @param length bytes of the body, if all of it has been handed over already
 */
export function awaitDelivery(
  socket: Socket,
  response: ServerResponse,
  length: number | undefined,
  onEnd: OnEnd,
): void {
  if (socket.destroyed) {
    onEnd('left', 0)
    return
  }
  const connection = connections.get(socket) ?? watch(socket)
  const pending: Pending = { onEnd, start: undefined }
  if (response.socket !== null) {
    const before = length === undefined ? 0 : length + headOf(response)
    pending.start = (socket.bytesWritten ?? 0) - before
  } else {
    response.once('socket', () => {
      pending.start = socket.bytesWritten
    })
  }
  connection.pending.set(response, pending)
  response.once('finish', () => {
    if (!connection.pending.delete(response)) return
    onEnd('sent', length ?? declaredLength(response) ?? lengthOf(response, pending, socket.bytesWritten))
  })
}

function watch(socket: Socket): Connection {
  const connection: Connection = { pending: new Map() }
  connections.set(socket, connection)
  const destroy = socket.destroy
  // What the system has not taken is only known until the handle is closed, and by whom only here: an error comes from
  // the other end.
  socket.destroy = (error?: Error) => {
    connection.destroyed ??= { outcome: error === undefined ? 'cut-off' : 'left', unsent: queuedOn(socket) }
    return destroy.call(socket, error)
  }
  socket.once('close', () => {
    const { outcome, unsent } = connection.destroyed ?? { outcome: 'left', unsent: 0 }
    const taken = (socket.bytesWritten ?? 0) - unsent
    for (const [response, pending] of connection.pending)
      pending.onEnd(outcome, lengthOf(response, pending, taken))
    connection.pending.clear()
  })
  return connection
}

/** What the head says about the length of the body, where there is one. */
function declaredLength(response: ServerResponse): number | undefined {
  if (response.req.method === 'HEAD') return 0
  const length = /\r\ncontent-length: (\d+)\r\n/i.exec(renderedHead(response))?.[1]
  return length === undefined ? undefined : Number(length)
}

/** Bytes of the body, given how many have gone over the connection. */
function lengthOf(response: ServerResponse, { start }: Pending, total: number): number {
  if (start === undefined) return 0
  return Math.max(0, (total || 0) - start - headOf(response))
}

function headOf(response: ServerResponse): number {
  return renderedHead(response).length
}

/** The head as it goes over the wire: Node renders it once, and keeps it in a field of its own. */
function renderedHead(response: ServerResponse): string {
  return (response as ServerResponse & { _header?: string | null })._header ?? ''
}

/** Bytes that wait in the process for the system to take them: Node's own count of the connection. */
function queuedOn(socket: Socket): number {
  const { _handle: handle } = socket as Socket & { _handle?: { writeQueueSize?: number } | null }
  return handle?.writeQueueSize ?? 0
}
