import type { LRUCache } from 'lru-cache'
import type { Operation } from '../../api/contract/contract.ts'
import { describePage, NEXT_LINK, NOT_MODIFIED } from '../../api/contract/describe.ts'
import { notModified, page } from '../../api/contract/results.ts'
import { describeFaults, type Members, Problem, type ValueFault } from '../../api/request/problems.ts'
import { makeEtag, Page, surround } from '../../api/serving/page.ts'
import { cacheUpTo, SharedReads } from '../../api/serving/page-cache.ts'
import type { Reader } from '../../foundation/database/database.ts'
import type { Sealer } from '../../foundation/database/seal.ts'
import { count } from '../../foundation/text/format-number.ts'
import { recordDownload } from '../submission/activity.ts'
import { TOKEN_PATH } from '../submission/contract.ts'
import { findPages, linkNextPage, type Paged } from '../submission/paging.ts'
import { isPartial, readRun } from '../submission/runs.ts'
import type { SubmissionRow } from '../submission/submission.ts'
import { EXAMPLE_BAD_REQUEST, EXAMPLE_PAGE } from './example.ts'
import { CSV, NDJSON, streamEntries } from './export.ts'
import { type Filters, ordinalsOf, type Selection, selectEntries } from './filters.ts'
import { answerCurrent, findingsPath, nameRun, ofFindings, type ResultsOptions } from './own.ts'
import { FILTER_NAMES } from './postings.ts'
import { readJoined } from './read-findings.ts'
import { resultsQuery, ValidationResultsPage } from './schema.ts'

/** Memory for cached selections, in bytes. */
const SELECTIONS = 16 * 2 ** 20

function describeResults() {
  const described = describePage(ValidationResultsPage, 'A page of entries.', EXAMPLE_PAGE, {
    ...NEXT_LINK,
    'total-count': {
      description: 'The number of entries of CSV and NDJSON; absent from pages.',
      type: 'integer',
    },
    'found-count': {
      description:
        'The number of findings of the run, with CSV and NDJSON and only if not all of them are stored.',
      type: 'integer',
    },
    'content-disposition': { description: 'The name of the file, with CSV and NDJSON.', type: 'string' },
  })
  const whole = { schema: { type: 'string', description: 'All entries that match.' } }
  return { ...described, content: { ...described.content, [CSV]: whole, [NDJSON]: whole } }
}

/** Section 4.2 of the API specification. */
export function getValidationResults(options: ResultsOptions): Operation {
  const { database, pages, limits, sealer } = options
  const selections = cacheUpTo<Selection>(SELECTIONS)
  const reads = new SharedReads<Page>()
  return ofFindings(options)({
    name: 'validation-results',
    id: 'getValidationResults',
    summary: 'Get validation results',
    description:
      'A page of the current validation results of a submission, in the order they were published. Pages with ETags that begin alike, up to the hyphen, are of one run. Filters combine with AND. As `text/csv` or `application/x-ndjson`, all entries are streamed, as many as `Total-Count` says, each also with `file`, `line`, `field`, `value`, `findingKey` and `cause` if they are stored; where not all findings of the run are stored, `Found-Count` says how many it has. An error on the way ends the connection.',
    method: 'GET',
    path: '/submissions/{submissionToken}/validation-results',
    accepts: ['application/json', CSV, NDJSON],
    request: {
      path: TOKEN_PATH,
      query: resultsQuery(limits),
    },
    responses: {
      200: describeResults(),
      304: NOT_MODIFIED,
    },
    problems: {
      'invalid-parameters':
        'The pagination parameters are invalid (see errorCode), or the version is not supported.',
    },
    badRequest: EXAMPLE_BAD_REQUEST,
    parameterFaultMembers: (errors, { authorized, received }) => ({
      ...errors,
      ...ownMembers('PR1', authorized, received),
    }),
  }).handle(async ({ request, query, received, authorized, accepted, isFresh }) => {
    return await answerCurrent(database, authorized, async (submission) => {
      const selected = await select(selections, database, submission, query, sealer)
      if (accepted !== 'application/json') {
        assertWhole(submission, received)
        const etag = makeEtag(nameRun(submission), `${accepted}+details${nameFilters(query)}`)
        if (isFresh(etag)) return notModified(etag)
        const run = await readRun(database, submission.run)
        const found = run !== undefined && isPartial(run) ? run.errors + run.warnings : undefined
        const { token } = submission
        const entries = await streamEntries(accepted, database, submission, selected, { sealer, etag, found })
        await recordDownload(database, request, { token, file: 'findings' })
        return entries
      }
      const matching = { ...submission, totalCount: selected?.total ?? submission.totalCount }
      assertWithin(query, matching, received)
      // The key includes the publishing time: after a restore or a failover, the database may reuse the number of a
      // lost run, even for another organisation.
      const key = `${nameRun(submission)}/${query.page}/${query.pageSize}${nameFilters(query)}`
      const etag = makeEtag(nameRun(submission), key)
      if (isFresh(etag)) return notModified(etag)

      const kept = pages.get(key)
      if (kept !== undefined) return page(kept)
      const read = () => readResultsPage(database, matching, selected, query, etag, sealer)
      const found = await reads.get(key, read)
      pages.set(key, found)
      return page(found)
    })
  })
}

/** @throws {Problem} the extended 400 of section 2.10, for a page past the last one */
function assertWithin(
  { page, pageSize }: Paged,
  submission: SubmissionRow,
  received: Readonly<Record<string, string>>,
): void {
  const lastPage = Math.max(1, Math.ceil(submission.totalCount / pageSize))
  if (page <= lastPage) return
  const [one, many] = [`entry at ${pageSize} a page ends`, `entries at ${pageSize} a page end`]
  const message = `is ${page}, past the last page: ${count(submission.totalCount, one, many)} on page ${lastPage}`
  throw refusePage([{ name: 'page', message }], 'PR2', submission, received)
}

function refusePage(faults: readonly ValueFault[], ...own: Parameters<typeof ownMembers>): Problem {
  return new Problem('invalid-parameters', ...describeFaults(faults, ownMembers(...own)))
}

/** The members of the 400 besides `errors` (section 2.10 of the interface). */
function ownMembers(
  errorCode: 'PR1' | 'PR2',
  { returnId, token: submissionToken }: SubmissionRow,
  received: Readonly<Record<string, string>>,
): Members {
  return { returnId, submissionToken, content: received, errorCode }
}

async function readResultsPage(
  database: Reader,
  submission: SubmissionRow,
  selected: Selection | undefined,
  query: Paged & Filters,
  etag: string,
  sealer: Sealer,
): Promise<Page> {
  const { page, pageSize } = query
  const ordinals = ordinalsOf(selected, submission.totalCount, (page - 1) * pageSize, pageSize)
  const documents = await readJoined(database, submission.run, ordinals, sealer)
  const body = surround(
    `{"page":${page},"pageSize":${pageSize},"results":[`,
    documents,
    `],"totalCount":${submission.totalCount}}`,
  )
  const { link } = linkNextPage(findingsPath(submission.token), query, submission.totalCount)
  return new Page(body, etag, { link })
}

/** The filters of a query in a fixed order; an empty string without filters. */
function nameFilters(query: Filters): string {
  const given = FILTER_NAMES.flatMap((name) => (query[name] === undefined ? [] : [[name, query[name]]]))
  return given.length === 0 ? '' : `/${JSON.stringify(given)}`
}

/** The entries that match the filters; `undefined` without filters. */
async function select(
  kept: LRUCache<string, Selection>,
  database: Reader,
  submission: SubmissionRow,
  query: Filters,
  sealer: Sealer,
): Promise<Selection | undefined> {
  const name = nameFilters(query)
  if (name === '') return undefined
  const key = nameRun(submission) + name
  const known = kept.get(key)
  if (known !== undefined) return known
  const selection = await selectEntries(database, submission, query, sealer)
  if (selection !== undefined) kept.set(key, selection)
  return selection
}

/** @throws {Problem} the extended 400 of section 2.10, if a page of an unpaged representation is requested */
function assertWhole(submission: SubmissionRow, received: Readonly<Record<string, string>>): void {
  const faults = findPages(received)
  if (faults.length > 0) throw refusePage(faults, 'PR1', submission, received)
}
