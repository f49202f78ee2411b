import type { FastifyRequest } from 'fastify'
import { actorOf } from '../../api/access/principal.ts'
import { callerOf } from '../../api/request/caller.ts'
import { Problem } from '../../api/request/problems.ts'
import { Exhausted, type Slot } from '../../foundation/slots.ts'
import type { SubmissionOptions } from '../submission/options.ts'
import type { SubmissionRow } from '../submission/submission.ts'
import { awaitWork } from './file-work.ts'
import { receiveUpload, type Upload } from './upload.ts'
import type { Caller } from './wait.ts'

/** The meaning of 503 for an upload. */
export const TOO_MANY_UPLOADS = 'Too many uploads are in progress or waiting to be read.'

/**
 * Stores an upload for the caller of a request, and waits for its reading as long as the caller does.
 *
 * @throws {Problem}
 */
export async function receive(
  options: SubmissionOptions,
  caller: Caller,
  owner: SubmissionRow,
  sent: Omit<Upload, 'token' | 'eid' | 'actor'>,
) {
  const { token, eid } = owner
  const slot = takeSlot(caller.request)
  const upload = { ...sent, token, eid, actor: actorOf(caller.request.principal) }
  const id = await receiveUpload(options.database, options.sealer, upload).finally(() => slot.release())
  return await awaitWork(options, caller, { id, owner })
}

/** @throws {Problem | Exhausted} */
function takeSlot(request: FastifyRequest): Slot {
  try {
    return request.server.slots.uploads.take(callerOf(request))
  } catch (error) {
    if (!(error instanceof Exhausted && error.own)) throw error
    throw new Problem('too-many-requests', 'Too many of your uploads are in progress. Wait until one ends.', {
      headers: { 'retry-after': String(error.retryAfter) },
    })
  }
}
