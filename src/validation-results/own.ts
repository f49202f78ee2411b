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
  /** The database of the entries, or standbys of it. */
  readonly reader: Reader
  /** Checked before a request is refused, because a standby may not have a new submission yet. */
  readonly primary: Reader
  readonly pages: PageCache<Page>
  readonly unread: UnreadResponses
  /** Entries per page. */
  readonly limits: { readonly default: number; readonly max: number }
  /** Decrypts stored data. */
  readonly sealer: Sealer
}

/** A submission that the caller may see, and the database in which it was found. */
export interface Own {
  readonly submission: Submission
  readonly reader: Reader
}

export const EID_HEADER = Type.Object({
  EID: Type.String({ description: 'The identifier of the organisation that made the submission.' }),
})

/**
 * Returns the submission if the caller may see it. Every refusal is the same response after the same work, so that it
 * does not reveal whether the token exists.
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

/** The publishing time distinguishes the run from one with the same number in a restored database. */
export function nameRun({ run, published }: Submission): string {
  return `r${run}.${published.toString(36)}`
}
