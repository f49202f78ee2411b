import type { FastifyRequest } from 'fastify'
import Type from 'typebox'
import { Problem } from './problems.ts'

/** The header of operations that may read from a standby. */
export const MIN_REVISION_HEADER = {
  'X-Min-Revision': Type.Optional(
    Type.String({
      description:
        'An `ETag` that the caller has received before, or its part up to the hyphen: the response is of that state of the data or a later one.',
    }),
  ),
}

const FORM = /^(?:W\/")?([cr])(\d{1,15})(?:\.[0-9a-z]+(?:-[\w-]+"?)?)?$/

/**
 * The number of the oldest revision that the caller accepts; 0 if it accepts any.
 *
 * @param kind the prefix of the operation's ETags: `c` for the catalogue, `r` for a run
 * @throws {Problem} `invalid-parameters`
 */
export function readMinRevision(request: FastifyRequest, kind: 'c' | 'r'): number {
  const header = request.headers['x-min-revision']
  if (header === undefined || header === '') return 0
  const [, found, number] = FORM.exec(String(header)) ?? []
  if (found === kind) return Number(number)
  throw new Problem(
    'invalid-parameters',
    `X-Min-Revision must be an ETag of this operation, or its part up to the hyphen, such as ${kind}12.mwpy1qf8.`,
  )
}

/** Not even the primary has this revision: it comes from another database, or from before a restore. */
export function revisionNotReached(): Problem {
  return new Problem(
    'precondition-failed',
    'The data has not reached the revision that X-Min-Revision names. Read it again without the header.',
  )
}
