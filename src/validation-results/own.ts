import type { FastifyRequest } from 'fastify'
import Type from 'typebox'
import { type Access, forbidden } from '../access/admit.ts'
import type { Reader } from '../database/database.ts'
import type { Sealer } from '../database/seal.ts'
import { Problem } from '../http/problems.ts'
import type { Page } from '../pages/page.ts'
import type { PageCache } from '../pages/page-cache.ts'
import type { UnreadResponses } from '../pages/unread-responses.ts'
import { findSubmissionOf, type Submission } from './queries.ts'

export interface ResultsOptions {
  readonly access: Access
  /** Where the entries are read: the database, or standbys of it. */
  readonly reader: Reader
  /** Asked before a request is refused: a standby may not know a new submission yet. */
  readonly primary: Reader
  readonly pages: PageCache<Page>
  readonly unread: UnreadResponses
  /** Entries a page. */
  readonly limits: { readonly default: number; readonly max: number }
  /** Opens what was encrypted. */
  readonly sealer: Sealer
}

/** A submission that the caller may see, and where it was found. */
export interface Own {
  readonly submission: Submission
  readonly reader: Reader
}

export const EID_HEADER = Type.Object({
  EID: Type.String({ description: 'The identifier of the organisation that made the submission.' }),
})

/**
 * The submission, if the caller may see it. Every refusal is the same answer after the same work, so that neither
 * tells a wrong token from another organisation's.
 *
 * @throws {Problem} `unauthorized`
 */
export async function findOwnSubmission(
  access: Access,
  readers: readonly Reader[],
  request: FastifyRequest,
  token: string,
  operation = 'validation-results',
): Promise<Own> {
  const { eid } = request.headers
  const { principal } = request
  const inScope = principal?.scopes.has('validation-results:read') === true
  const covered = typeof eid === 'string' && inScope && principal.eids.has(eid)
  for (const reader of readers) {
    const submission = await findSubmissionOf(reader, covered ? eid : '', token)
    if (submission !== undefined) return { submission, reader }
  }
  throw forbidden(access, request, operation, inScope ? 'submission' : 'scope')
}

/** @throws {Problem} `gone` if the submission was cancelled */
export function assertThere({ ended }: Submission): void {
  if (ended === 'Cancelled')
    throw new Problem('gone', 'The submission was cancelled, and its data was deleted.')
}

/** The publishing time tells the run from one of the same number in a database that was restored. */
export function nameRun({ run, published }: Submission): string {
  return `r${run}.${published.toString(36)}`
}
