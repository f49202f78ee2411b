import type { ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { beforeDestroyed, onceWriting, queuedOn, renderedHead } from '../serving/node-internals.ts'

/**
 * How a response ended. `sent`: the operating system accepted all of it. `left`: the client closed the connection
 * first. `cut-off`: the service did, for example because the client read too slowly.
 */
export type Outcome = 'sent' | 'left' | 'cut-off'

/** @param bytes the bytes of the body that the operating system accepted */
type OnEnd = (outcome: Outcome, bytes: number) => void

interface Pending {
  readonly onEnd: OnEnd
  /** Bytes written to the connection before the response; `undefined` while other responses precede it. */
  start: number | undefined
}

interface Connection {
  readonly pending: Map<ServerResponse, Pending>
  /** Why the connection was destroyed, and the number of unsent bytes. */
  destroyed?: { readonly outcome: Outcome; readonly unsent: number }
}

const connections = new WeakMap<Socket, Connection>()

/**
 * Calls back when a response has ended. It uses one listener per connection instead of one per response, because most
 * callers send many requests over one connection.
 *
 * @param length the length of the body in bytes, if all of it has already been written
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
    onceWriting(response, () => {
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
  // The number of unsent bytes is only available until the handle closes.
  beforeDestroyed(socket, (error) => {
    connection.destroyed ??= { outcome: error === undefined ? 'cut-off' : 'left', unsent: queuedOn(socket) }
  })
  socket.once('close', () => {
    const { outcome, unsent } = connection.destroyed ?? { outcome: 'left', unsent: 0 }
    const taken = (socket.bytesWritten ?? 0) - unsent
    for (const [response, pending] of connection.pending)
      pending.onEnd(outcome, lengthOf(response, pending, taken))
    connection.pending.clear()
  })
  return connection
}

/** The length of the body according to the head, if given. */
function declaredLength(response: ServerResponse): number | undefined {
  if (response.req.method === 'HEAD') return 0
  const head = renderedHead(response)
  const length =
    head === '' ? response.getHeader('content-length') : /\r\ncontent-length: (\d+)\r\n/i.exec(head)?.[1]
  return length === undefined ? undefined : Number(length)
}

/** The bytes of the body sent, given the bytes written to the connection. */
function lengthOf(response: ServerResponse, { start }: Pending, total: number): number {
  if (start === undefined) return 0
  return Math.max(0, (total || 0) - start - headOf(response))
}

function headOf(response: ServerResponse): number {
  return renderedHead(response).length
}
