import type { FastifyRequest } from 'fastify'
import Type from 'typebox'
import { type Access, forbidden } from '../access/admit.ts'
import type { Reader } from '../database/database.ts'
import { describePage, NOT_MODIFIED } from '../http/describe.ts'
import { MIN_REVISION_HEADER, readMinRevision, revisionNotReached } from '../http/min-revision.ts'
import { describeFaults, type ParameterFault } from '../http/parameters.ts'
import { Problem, type ProblemOptions, ResultsProblemBody } from '../http/problems.ts'
import { declare, notModified, type Operation, page } from '../operation.ts'
import { digestQuery, makeEtag, Page, surround } from '../pages/page.ts'
import type { PageCache } from '../pages/page-cache.ts'
import { SharedReads } from '../pages/shared-reads.ts'
import type { UnreadResponses } from '../pages/unread-responses.ts'
import { EXAMPLE_BAD_REQUEST, EXAMPLE_PAGE } from './example.ts'
import { findSubmissionOf, readEntries, type Submission } from './queries.ts'
import { resultsQuery, ValidationEntry, ValidationResultsPage } from './schema.ts'

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
}

interface Pagination {
  readonly page: number
  readonly pageSize: number
}

/** A submission that the caller may see, and where it was found. */
interface Own {
  readonly submission: Submission
  readonly reader: Reader
}

export function resultsOperations(options: ResultsOptions): readonly Operation[] {
  return [getValidationResults(options)]
}

/** Section 4.2 of the API specification. */
function getValidationResults({ access, reader, primary, pages, unread, limits }: ResultsOptions): Operation {
  const readers = reader === primary ? [reader] : [reader, primary]
  const readings = new SharedReads<Page | undefined>(unread, reader.dialect.mostReads)
  return declare<{ submissionToken: string }, Pagination, unknown, unknown, Own>({
    name: 'validation-results',
    id: 'getValidationResults',
    summary: 'Get validation results',
    description:
      'A page of the current validation results of a submission, in the order they were published. Pages with ETags that begin alike, up to the hyphen, are of one run.',
    tag: 'Validation results',
    method: 'GET',
    path: '/submissions/{submissionToken}/validation-results',
    limit: 'validation-results',
    authorizingHeaders: Type.Object({
      EID: Type.String({ description: 'The identifier of the organisation that made the submission.' }),
      ...MIN_REVISION_HEADER,
    }),
    parameters: {
      path: Type.Object({
        submissionToken: Type.String({ description: 'The token of the submission.' }),
      }),
      query: { schema: resultsQuery(limits) },
    },
    schemas: { ResultsProblem: ResultsProblemBody, ValidationEntry, ValidationResultsPage },
    responses: {
      200: describePage('ValidationResultsPage', 'A page of entries.', EXAMPLE_PAGE),
      304: NOT_MODIFIED,
    },
    problems: {
      'invalid-parameters':
        'The pagination parameters are wrong (errorCode tells how), or the version is not supported.',
      unauthorized:
        'Not authorised: the credential, the EID and the token do not belong together. The answer does not tell which is wrong.',
      'too-many-requests': 'The limit of requests is used up for now.',
      'precondition-failed': 'The submission has not reached the run that X-Min-Revision names.',
    },
    badRequest: EXAMPLE_BAD_REQUEST,
    authorize: ({ request, path }) => findOwnSubmission(access, readers, request, path.submissionToken),
    describeFaults: (faults, { authorized, received }) =>
      describePaginationFaults('PR1', faults, authorized.submission, received),
    async handle({ request, path, query, received, authorized, isFresh }) {
      const find = (reader: Reader) => findOwnSubmission(access, [reader], request, path.submissionToken)
      const least = readMinRevision(request, 'r')
      const own = authorized.submission.run >= least ? authorized : await find(primary)
      if (own.submission.run < least) throw revisionNotReached()
      for (let { submission } = own; ; submission = (await find(own.reader)).submission) {
        assertWithin(query, submission, received)
        // With the time of its publishing: a database that was restored, or a standby that took over, may give the
        // number of a run that it has lost to another one, even of another organisation.
        const key = `${nameRun(submission)}/${query.page}/${query.pageSize}`
        const etag = makeEtag(nameRun(submission), digestQuery(key))
        if (isFresh(etag)) return notModified(etag)

        const kept = pages.get(key)
        kept?.join()
        const found =
          kept ?? (await readings.get(key, () => readResultsPage(own.reader, submission, query, etag)))
        // A publish came between the two reads: the next round reads the new run.
        if (found === undefined) continue
        if (kept === undefined) pages.set(key, found)
        return page(found, () => pages.set(key, found))
      }
    },
  })
}

/**
 * The submission, if the caller may see it. Every refusal is the same answer after the same work, so that neither
 * tells a wrong token from another organisation's.
 *
 * @throws {Problem} `unauthorized`
 */
async function findOwnSubmission(
  access: Access,
  readers: readonly Reader[],
  request: FastifyRequest,
  token: string,
): Promise<Own> {
  const { eid } = request.headers
  const { principal } = request
  const inScope = principal?.scopes.has('validation-results:read') === true
  const covered = typeof eid === 'string' && inScope && principal.eids.has(eid)
  for (const reader of readers) {
    const submission = await findSubmissionOf(reader, covered ? eid : '', token)
    if (submission !== undefined) return { submission, reader }
  }
  throw forbidden(access, request, 'validation-results', inScope ? 'submission' : 'scope')
}

/** @throws {Problem} the extended 400 of section 2.10, for a page past the last one */
function assertWithin(
  { page, pageSize }: Pagination,
  submission: Submission,
  received: Readonly<Record<string, string>>,
): void {
  const lastPage = Math.max(1, Math.ceil(submission.totalCount / pageSize))
  if (page <= lastPage) return
  const message = `is ${page}, past the last page: ${submission.totalCount} entries at ${pageSize} a page end on page ${lastPage}`
  const faults = [{ parameter: 'page', message }]
  throw new Problem(
    'invalid-parameters',
    describeFaults(faults),
    describePaginationFaults('PR2', faults, submission, received),
  )
}

/** The members that the 400 has besides (section 2.10 of the API specification). */
function describePaginationFaults(
  errorCode: 'PR1' | 'PR2',
  faults: readonly ParameterFault[],
  submission: Submission,
  received: Readonly<Record<string, string>>,
): ProblemOptions {
  const errors = Object.fromEntries(
    faults.map(({ parameter }) => [
      parameter,
      faults.filter((each) => each.parameter === parameter).map(({ message }) => `${parameter} ${message}.`),
    ]),
  )
  return {
    members: {
      errors,
      returnId: submission.returnId,
      submissionToken: submission.token,
      content: received,
      errorCode,
    },
  }
}

async function readResultsPage(
  reader: Reader,
  submission: Submission,
  { page, pageSize }: Pagination,
  etag: string,
): Promise<Page | undefined> {
  const entries = await readEntries(reader, submission, { page, pageSize })
  if (entries === undefined) return undefined
  const parts = surround(
    `{"page":${page},"pageSize":${pageSize},"results":[`,
    entries.documents,
    `],"totalCount":${submission.totalCount}}`,
  )
  return new Page(parts, etag)
}

/** The publishing time tells the run from one of the same number in a database that was restored. */
function nameRun({ run, published }: Submission): string {
  return `r${run}.${published.toString(36)}`
}
