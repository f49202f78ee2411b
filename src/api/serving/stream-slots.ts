import type { ServerResponse } from 'node:http'
import type { Budget } from '../../foundation/budget/budget.ts'
import { abandon } from './socket-buffers.ts'

/**
 * Takes a slot for a response that is streamed, such as an export, until it ends, and returns its body. If there are
 * none left, the connection of the client that has taken nothing for the longest time is closed.
 *
 * @throws {Exhausted} if no client has stopped; the body is then closed
 */
export async function openStream<T>(
  slots: Budget,
  owner: string,
  response: ServerResponse,
  body: AsyncIterable<T>,
): Promise<AsyncIterable<T>> {
  const pieces = body[Symbol.asyncIterator]()
  try {
    const slot = slots.take(owner, 1, () => abandon(response.req.socket))
    response.once('close', () => slot.release())
    const iterator: AsyncIterator<T> = {
      // Called when the piece before is on its way to the client.
      next: () => {
        slot.progress()
        return pieces.next()
      },
      // A generator would not pass it on if the client leaves before the first piece.
      return: async () => {
        await pieces.return?.()
        return { done: true, value: undefined }
      },
    }
    return { [Symbol.asyncIterator]: () => iterator }
  } catch (error) {
    await pieces.return?.()
    throw error
  }
}
