import type { FastifyRequest } from 'fastify'
import type { MaybePromise } from '../../foundation/cache/maybe-promise.ts'
import type { RevisionWatch } from '../../foundation/database/revision-watch.ts'
import type { RevisionName } from '../../foundation/database/revisions.ts'
import { text } from '../contract/fields.ts'
import { Problem } from '../contract/problems.ts'

/** The header with which every operation accepts the oldest revisions that the caller wants to see. */
export const MIN_REVISION_HEADER = {
  'X-Min-Revision': text(
    'An `ETag` or `X-Revision` that the caller has received, or its part up to the hyphen; several are comma-separated. The response is of that state of the data or a later one.',
  ),
}

export const REVISION_NOT_REACHED = 'The data has not reached the revision that X-Min-Revision names.'

/** The header of responses that are not pages and show the current run of a submission. */
export const REVISION_HEADER = {
  'x-revision': {
    description:
      'The newest run that the response shows. Send it as X-Min-Revision to get this state or a later one.',
    type: 'string',
  },
}

/** The numbers of the oldest acceptable revisions; 0 for any. */
export type LeastRevisions = Readonly<Record<Extract<RevisionName, 'catalogue' | 'run'>, number>>

/** Of a request without the header. */
export const ANY_REVISION: LeastRevisions = { catalogue: 0, run: 0 }

const KINDS = { c: 'catalogue', r: 'run' } as const
const FORM = /^(?:W\/")?([cr])(\d{1,15})(?:\.[0-9a-z]+(?:-[\w-]+"?)?)?$/

/**
 * Reads the oldest revisions that the caller accepts.
 *
 * @throws {Problem} `invalid-parameters`
 */
export function readMinRevision(request: FastifyRequest): LeastRevisions {
  const header = request.headers['x-min-revision']
  if (header === undefined || header === '') return ANY_REVISION
  const least = { ...ANY_REVISION }
  for (const each of String(header).split(',')) {
    const [, kind, number] = FORM.exec(each.trim()) ?? []
    if (kind !== 'c' && kind !== 'r') throw malformed()
    least[KINDS[kind]] = Math.max(least[KINDS[kind]], Number(number))
  }
  return least
}

function malformed(): Problem {
  return new Problem(
    'invalid-parameters',
    'X-Min-Revision must be an ETag or X-Revision of this service, or its part up to the hyphen, such as c12.mwpy1qf8 or r7.mwpz03k1. Separate several with commas.',
  )
}

/**
 * Makes sure that the process knows of these revisions, so that no response is of an older state. The returned function
 * throws `precondition-failed` if the data has not reached them.
 */
export function reachWith(revisions: RevisionWatch): (least: LeastRevisions) => MaybePromise<void> {
  return (least) => {
    if (least === ANY_REVISION || revisions.has(least)) return
    return revisions.refresh().then(() => {
      if (!revisions.has(least)) throw revisionNotReached()
    })
  }
}

/** Not even the primary has this revision: it comes from another database, or from before a restore. */
function revisionNotReached(): Problem {
  return new Problem('precondition-failed', `${REVISION_NOT_REACHED} Read it again without the header.`)
}
