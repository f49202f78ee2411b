import type { FastifyRequest } from 'fastify'
import { actorOf } from '../../api/access/principal.ts'
import { Problem, unavailable } from '../../api/contract/problems.ts'
import { callerOf } from '../../api/request/caller.ts'
import { Exhausted, type Slot } from '../../foundation/slots.ts'
import type { SubmissionOptions } from '../options.ts'
import { receiveUpload, type Upload } from './upload.ts'

/** The meaning of 503 for an upload. */
export const TOO_MANY_UPLOADS = 'Too many uploads are in progress or waiting to be read.'

/**
 * Stores an upload for the caller of a request, and queues its reading; returns the id of that work.
 *
 * @throws {Problem}
 */
export async function receive(
  { database, sealer }: SubmissionOptions,
  request: FastifyRequest,
  upload: Omit<Upload, 'actor'>,
): Promise<string> {
  const slot = takeSlot(request)
  const actor = actorOf(request.principal)
  return await receiveUpload(database, sealer, { ...upload, actor }).finally(() => slot.release())
}

/** @throws {Problem} `too-many-requests` or `unavailable` */
function takeSlot(request: FastifyRequest): Slot {
  try {
    return request.server.slots.uploads.take(callerOf(request))
  } catch (error) {
    if (!(error instanceof Exhausted)) throw error
    const { own, message, retryAfter } = error
    throw own
      ? new Problem('too-many-requests', 'Too many of your uploads are in progress. Wait until one ends.', {
          headers: { 'retry-after': String(retryAfter) },
        })
      : unavailable(message, retryAfter)
  }
}
