import type { FastifyReply } from 'fastify'

interface Waiting {
  readonly reply: FastifyReply
  readonly write: () => void
}

let waiting: Waiting[] = []

/**
 * Writes a response together with those to all other requests that arrived in this turn of the event loop. A separate
 * write wakes its client separately, which on a busy machine takes longer than finding the page.
 */
export function writeTogether(reply: FastifyReply, write: () => void): void {
  waiting.push({ reply, write })
  if (waiting.length === 1) setImmediate(writeAll)
}

function writeAll(): void {
  const now = waiting
  waiting = []
  for (const { reply, write } of now) {
    try {
      write()
    } catch (err) {
      // No caller would catch it.
      reply.log.error({ id: reply.request.id, err }, 'the response could not be written')
      reply.raw.destroy()
    }
  }
}
