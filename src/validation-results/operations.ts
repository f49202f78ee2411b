import Type from 'typebox'
import type { Reader } from '../database/database.ts'
import type { Sealer } from '../database/seal.ts'
import { describePage, NOT_MODIFIED } from '../http/describe.ts'
import { MIN_REVISION_HEADER, readMinRevision, revisionNotReached } from '../http/min-revision.ts'
import { describeFaults, type ParameterFault } from '../http/parameters.ts'
import { Problem, type ProblemOptions, ResultsProblemBody } from '../http/problems.ts'
import { declare, notModified, type Operation, page } from '../operation.ts'
import { digestQuery, makeEtag, Page, surround } from '../pages/page.ts'
import { PageCache } from '../pages/page-cache.ts'
import { SharedReads } from '../pages/shared-reads.ts'
import { getChanges } from './changes-operation.ts'
import { EXAMPLE_BAD_REQUEST, EXAMPLE_PAGE } from './example.ts'
import { CSV, NDJSON, streamEntries } from './export.ts'
import { type Filters, type Selection, selectEntries } from './filters.ts'
import { assertThere, EID_HEADER, findOwnSubmission, nameRun, type Own, type ResultsOptions } from './own.ts'
import { FILTER_NAMES } from './postings.ts'
import { readEntries, readSelected, type Submission } from './queries.ts'
import { resultsQuery, ValidationEntry, ValidationResultsPage } from './schema.ts'
import { getSummary } from './summary-operation.ts'

interface Pagination {
  readonly page: number
  readonly pageSize: number
}

export function resultsOperations(options: ResultsOptions): readonly Operation[] {
  return [getValidationResults(options), getSummary(options), getChanges(options)]
}

/** Memory for cached selections, in bytes. */
const SELECTIONS = 16 * 2 ** 20

function describeResults() {
  const described = describePage('ValidationResultsPage', 'A page of entries.', EXAMPLE_PAGE)
  const whole = { schema: { type: 'string', description: 'All entries that match.' } }
  return { ...described, content: { ...described.content, [CSV]: whole, [NDJSON]: whole } }
}

/** Section 4.2 of the API specification. */
function getValidationResults({
  access,
  reader,
  primary,
  pages,
  unread,
  limits,
  sealer,
}: ResultsOptions): Operation {
  const selections = new PageCache<Selection>(SELECTIONS)
  const readers = reader === primary ? [reader] : [reader, primary]
  const readings = new SharedReads<Page | undefined>(unread, reader.dialect.mostReads)
  return declare<{ submissionToken: string }, Pagination & Filters, unknown, unknown, Own>({
    name: 'validation-results',
    id: 'getValidationResults',
    summary: 'Get validation results',
    description:
      'A page of the current validation results of a submission, in the order they were published. Pages with ETags that begin alike, up to the hyphen, are of one run. Filters combine with AND. As `text/csv` or `application/x-ndjson`, all entries are streamed, as many as `Total-Count` says; an error on the way ends the connection.',
    tag: 'Validation results',
    method: 'GET',
    path: '/submissions/{submissionToken}/validation-results',
    limit: 'validation-results',
    accepts: ['application/json', CSV, NDJSON],
    authorizingHeaders: Type.Object({ ...EID_HEADER.properties, ...MIN_REVISION_HEADER }),
    parameters: {
      path: Type.Object({
        submissionToken: Type.String({ description: 'The token of the submission.' }),
      }),
      query: { schema: resultsQuery(limits) },
    },
    schemas: { ResultsProblem: ResultsProblemBody, ValidationEntry, ValidationResultsPage },
    responses: {
      200: describeResults(),
      304: NOT_MODIFIED,
    },
    problems: {
      'invalid-parameters':
        'The pagination parameters are invalid (see errorCode), or the version is not supported.',
      unauthorized:
        'Not authorised: the credential, the EID and the token do not belong together. The response does not say which is wrong.',
      gone: 'The submission was cancelled, and its data was deleted.',
      'too-many-requests': 'The rate limit is exceeded.',
      'precondition-failed': 'The submission has not reached the run that X-Min-Revision names.',
    },
    badRequest: EXAMPLE_BAD_REQUEST,
    authorize: ({ request, path }) => findOwnSubmission(access, readers, request, path.submissionToken),
    describeFaults: (faults, { authorized, received }) =>
      describePaginationFaults('PR1', faults, authorized.submission, received),
    async handle({ request, path, query, received, authorized, accepted, isFresh }) {
      const find = (reader: Reader) => findOwnSubmission(access, [reader], request, path.submissionToken)
      const least = readMinRevision(request, 'r')
      const own = authorized.submission.run >= least ? authorized : await find(primary)
      if (own.submission.run < least) throw revisionNotReached()
      for (let { submission } = own; ; submission = (await find(own.reader)).submission) {
        assertThere(submission)
        const selected = await select(selections, own.reader, submission, query, sealer)
        if (accepted !== 'application/json') {
          assertWhole(submission, received)
          const etag = makeEtag(nameRun(submission), digestQuery(`${accepted}${nameFilters(query)}`))
          if (isFresh(etag)) return notModified(etag)
          return streamEntries(accepted, own.reader, submission, selected, { sealer, etag })
        }
        const matching = { ...submission, totalCount: selected?.total ?? submission.totalCount }
        assertWithin(query, matching, received)
        // The key includes the publishing time: after a restore or a failover, the database may reuse the number of a
        // lost run, even for another organisation.
        const key = `${nameRun(submission)}/${query.page}/${query.pageSize}${nameFilters(query)}`
        const etag = makeEtag(nameRun(submission), digestQuery(key))
        if (isFresh(etag)) return notModified(etag)

        const kept = pages.get(key)
        kept?.join()
        const read = () => readResultsPage(own.reader, matching, selected, query, etag, sealer)
        const found = kept ?? (await readings.get(key, read))
        // A publish happened between the two reads: the next iteration reads the new run.
        if (found === undefined) continue
        if (kept === undefined) pages.set(key, found)
        return page(found, () => pages.set(key, found))
      }
    },
  })
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

/** Further members of the 400 (section 2.10 of the interface). */
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
  selected: Selection | undefined,
  { page, pageSize }: Pagination,
  etag: string,
  sealer: Sealer,
): Promise<Page | undefined> {
  const entries =
    selected === undefined
      ? await readEntries(reader, submission, { page, pageSize }, sealer)
      : await readSelected(reader, submission, selected.slice((page - 1) * pageSize, pageSize), sealer)
  if (entries === undefined) return undefined
  const parts = surround(
    `{"page":${page},"pageSize":${pageSize},"results":[`,
    entries.documents,
    `],"totalCount":${submission.totalCount}}`,
  )
  return new Page(parts, etag)
}

/** The filters of a query in a fixed order; an empty string without filters. */
function nameFilters(query: Filters): string {
  const given = FILTER_NAMES.flatMap((name) => (query[name] === undefined ? [] : [[name, query[name]]]))
  return given.length === 0 ? '' : `/${JSON.stringify(given)}`
}

/** The entries that match the filters; `undefined` without filters. */
async function select(
  kept: PageCache<Selection>,
  reader: Reader,
  submission: Submission,
  query: Filters,
  sealer: Sealer,
): Promise<Selection | undefined> {
  const name = nameFilters(query)
  if (name === '') return undefined
  const key = nameRun(submission) + name
  const known = kept.get(key)
  if (known !== undefined) return known
  const selection = await selectEntries(reader, submission, query, sealer)
  kept.set(key, selection)
  return selection
}

/** @throws {Problem} the extended 400 of section 2.10, if a page of an unpaged representation is requested */
function assertWhole(submission: Submission, received: Readonly<Record<string, string>>): void {
  const faults = ['page', 'pageSize']
    .filter((parameter) => (received[parameter] ?? '') !== '')
    .map((parameter) => ({ parameter, message: 'applies to JSON only: CSV and NDJSON hold all entries' }))
  if (faults.length === 0) return
  throw new Problem(
    'invalid-parameters',
    describeFaults(faults),
    describePaginationFaults('PR1', faults, submission, received),
  )
}
