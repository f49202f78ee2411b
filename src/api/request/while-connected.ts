import type { FastifyRequest } from 'fastify'

/** Whether the client has left: nobody waits for the response. */
export function hasLeft({ raw }: FastifyRequest): boolean {
  // A request that this process makes to itself has no socket, and is destroyed when its caller leaves.
  return raw.socket.destroyed || (raw.destroyed && !raw.complete)
}

/** Does work whose signal is aborted when the client leaves: nobody waits any more for what it has asked for. */
export async function whileConnected<T>(
  request: FastifyRequest,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const { raw } = request
  const abort = new AbortController()
  const leave = () => {
    if (hasLeft(request)) abort.abort()
  }
  // The request itself closes once its body has been read.
  for (const each of [raw, raw.socket]) each.once('close', leave)
  try {
    return await work(abort.signal)
  } finally {
    for (const each of [raw, raw.socket]) each.off('close', leave)
  }
}
