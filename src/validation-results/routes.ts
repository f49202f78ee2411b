import type { FastifyInstance, FastifyRequest } from 'fastify'
import Type from 'typebox'
import { type Access, admit, forbidden } from '../access/admit.ts'
import type { Reader } from '../database/database.ts'
import {
  describeErrors,
  describePage,
  NOT_MODIFIED,
  nameSchemas,
  SECURITY,
  VERSION_HEADER,
} from '../http/describe.ts'
import {
  compileQuery,
  describeFaults,
  type ParameterFault,
  type QueryReading,
  queryOf,
} from '../http/parameters.ts'
import { Problem } from '../http/problems.ts'
import { digestQuery, makeEtag, Page, surround } from '../pages/page.ts'
import type { PageCache } from '../pages/page-cache.ts'
import { assertAcceptsJson, isFresh, PageSender, type SendOptions } from '../pages/send.ts'
import { SharedReads } from '../pages/shared-reads.ts'
import { EXAMPLE_BAD_REQUEST, EXAMPLE_PAGE } from './example.ts'
import { findSubmissionOf, readEntries, type Submission } from './queries.ts'
import { resultsQuery, ValidationEntry, ValidationResultsPage } from './schema.ts'

export interface ResultsRouteOptions {
  /** Where the entries are read: the database, or standbys of it. */
  readonly reader: Reader
  /** Asked before a request is refused: a standby may not know a new submission yet. */
  readonly primary: Reader
  readonly pages: PageCache<Page>
  readonly access: Access
  /** Entries a page. */
  readonly limits: { readonly default: number; readonly max: number }
  readonly send: SendOptions
}

/** Get validation results: section 4.2 of the interface. */
export function registerValidationResults(
  app: FastifyInstance,
  { reader, primary, pages, access, limits, send }: ResultsRouteOptions,
): void {
  const querySchema = resultsQuery(limits)
  const readQuery = compileQuery<Pagination>(querySchema)
  const readers = reader === primary ? [reader] : [reader, primary]
  const readings = new SharedReads<Page | undefined>()
  const sender = new PageSender(send, 'validation-results', 'private, no-cache')

  nameSchemas(app, { ValidationEntry, ValidationResultsPage })
  app.get<{ Params: { submissionToken: string } }>(
    '/submissions/:submissionToken/validation-results',
    {
      config: { operation: 'validation-results' },
      onRequest: admit(access, {
        operation: 'validation-results',
        // Asked for in findOwnSubmission, so that this refusal takes as long as the others.
        scope: undefined,
        anonymous: false,
      }),
      schema: {
        operationId: 'getValidationResults',
        summary: 'Get validation results',
        description:
          'A page of the current validation results of a submission, in the order they were published. Pages with ETags that begin alike, up to the hyphen, are of one run.',
        tags: ['Validation results'],
        security: SECURITY,
        headers: Type.Object({
          EID: Type.String({ description: 'The identifier of the organisation that made the submission.' }),
          ...VERSION_HEADER,
        }),
        params: Type.Object({
          submissionToken: Type.String({ description: 'The token of the submission.' }),
        }),
        querystring: querySchema,
        response: {
          200: describePage('ValidationResultsPage', 'A page of entries.', EXAMPLE_PAGE),
          304: NOT_MODIFIED,
          ...describeErrors(
            {
              'invalid-parameters':
                'The pagination parameters are wrong (errorCode tells how), or the version is not supported.',
              unauthorized:
                'Not authorised: the credential, the EID and the token do not belong together. The answer does not tell which is wrong.',
              'too-many-requests': 'The limit of requests is used up for now.',
            },
            EXAMPLE_BAD_REQUEST,
          ),
        },
      },
    },
    async (request, reply) => {
      const token = request.params.submissionToken
      const own = await findOwnSubmission(access, readers, request, token)
      assertAcceptsJson(request)
      for (
        let { submission } = own;
        ;
        submission = (await findOwnSubmission(access, [own.reader], request, token)).submission
      ) {
        const query = readPagination(readQuery, request, submission)
        // With the time of its publishing: a database that was restored, or a standby that took over, may give the
        // number of a run that it has lost to another one, even of another organisation.
        const key = `${nameRun(submission)}/${query.page}/${query.pageSize}`
        const etag = makeEtag(nameRun(submission), digestQuery(key))
        if (isFresh(request, etag)) return sender.sendNotModified(request, reply, etag)

        const kept = pages.get(key)
        kept?.join()
        const page =
          kept ?? (await readings.get(key, () => readResultsPage(own.reader, submission, query, etag)))
        // A publish came between the two reads: the next round reads the new run.
        if (page === undefined) continue
        if (kept === undefined) pages.set(key, page)
        return await sender.send(request, reply, page, () => pages.set(key, page))
      }
    },
  )
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
): Promise<{ submission: Submission; reader: Reader }> {
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

interface Pagination {
  readonly page: number
  readonly pageSize: number
}

/** @throws {Problem} the extended 400 of section 2.10 */
function readPagination(
  readQuery: (query: string) => QueryReading<Pagination>,
  request: FastifyRequest,
  submission: Submission,
): Pagination {
  const { values, faults, received } = readQuery(queryOf(request.url))
  const refuse = (errorCode: 'PR1' | 'PR2', found: readonly ParameterFault[]) =>
    new Problem('invalid-parameters', describeFaults(found), {
      members: {
        errors: Object.fromEntries(
          found.map(({ parameter }) => [
            parameter,
            found
              .filter((each) => each.parameter === parameter)
              .map(({ message }) => `${parameter} ${message}.`),
          ]),
        ),
        returnId: submission.returnId,
        submissionToken: submission.token,
        content: received,
        errorCode,
      },
    })
  if (faults.length > 0) throw refuse('PR1', faults)

  const { page, pageSize } = values
  const lastPage = Math.max(1, Math.ceil(submission.totalCount / pageSize))
  if (page > lastPage) {
    const message = `is ${page}, past the last page: ${submission.totalCount} entries at ${pageSize} a page end on page ${lastPage}`
    throw refuse('PR2', [{ parameter: 'page', message }])
  }
  return { page, pageSize }
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
