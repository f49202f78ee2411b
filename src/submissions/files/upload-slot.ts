import type { FastifyRequest } from 'fastify'
import { callerOf } from '../../api/request/caller.ts'
import { Exhausted, type Slot } from '../../foundation/slots.ts'
import { toProblem } from '../authorize.ts'
import { Refusal } from '../refusal.ts'

/** The meaning of 503 for an upload. */
export const TOO_MANY_UPLOADS =
  'Too many uploads are in progress, or other archives and workbooks are being opened.'

/** @throws {Problem} `too-many-requests` or `unavailable` */
export function takeSlot(request: FastifyRequest): Slot {
  try {
    return request.server.slots.uploads.take(callerOf(request))
  } catch (error) {
    if (!(error instanceof Exhausted)) throw error
    const { own, message, retryAfter } = error
    throw toProblem(
      own
        ? new Refusal('too-many', 'Too many of your uploads are in progress. Wait until one ends.', {
            retryAfter,
          })
        : new Refusal('busy', message, { retryAfter }),
    )
  }
}
