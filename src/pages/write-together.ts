import type { FastifyReply } from 'fastify'

interface Waiting {
  readonly reply: FastifyReply
  readonly write: () => void
}

let waiting: Waiting[] = []

/**
 * Writes an answer once every request that has arrived so far has been looked at, together with theirs. An answer that
 * is written by itself wakes its reader for itself: on a busy machine that takes longer than finding the page.
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
      // Nobody above would catch it.
      reply.log.error({ id: reply.request.id, err }, 'the answer could not be written')
      reply.raw.destroy()
    }
  }
}
