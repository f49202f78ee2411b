import type { FastifyRequest } from 'fastify'

/** Whether the client has left: nobody waits for the response. */
export function hasLeft({ raw }: FastifyRequest): boolean {
  // A request that this process makes to itself has no socket, and is destroyed when its caller leaves.
  return raw.socket.destroyed || (raw.destroyed && !raw.complete)
}
