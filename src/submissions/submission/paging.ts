import { count, pageNumbers } from '../../api/contract/fields.ts'
import { document } from '../../api/contract/results.ts'
import { describeFaults, Problem, type ValueFault } from '../../api/request/problems.ts'
import { type TSchema, Type } from '../../foundation/schema/type.ts'

/** The query of lists that are read by page number. */
export const PAGE_QUERY = Type.Object(pageNumbers('Entries', { default: 20, max: 100 }))

/** An example of the 400 for a page past the last one, for the API reference. */
export const PAGE_PAST_END = {
  schemaName: 'SubmissionProblem',
  detail: 'page is 9, past the last page, 3.',
  members: { errors: { page: ['page is 9, past the last page, 3.'] }, errorCode: 'PR2' },
}

/** What is wrong with a request for a page of a representation without pages. */
export function findPages(received: Readonly<Record<string, string>>): ValueFault[] {
  return ['page', 'pageSize']
    .filter((name) => (received[name] ?? '') !== '')
    .map((name) => ({ name, message: 'applies to JSON only: CSV and NDJSON hold all entries' }))
}

export interface Paged {
  readonly page: number
  readonly pageSize: number
}

/** The fields of a page. */
export const pageFields = <Results extends TSchema>(results: Results, totalCount: string) => ({
  page: count('Page number of this page, from 1.'),
  pageSize: count('Page size of this page.'),
  results,
  totalCount: count(totalCount),
})

/**
 * Responds with a page, and with the header `Link` (RFC 8288), with all parameters, if another one follows.
 *
 * @param path below `/v1`
 * @param more further fields
 * @throws {Problem} for a page past the last one
 */
export function sendPage<Result, More extends object = object>(
  path: string,
  query: Paged,
  { results, totalCount, ...more }: { results: Result[]; totalCount: number } & More,
) {
  const { page, pageSize } = query
  const lastPage = Math.max(1, Math.ceil(totalCount / pageSize))
  if (page > lastPage)
    throw new Problem(
      'invalid-parameters',
      ...describeFaults([{ name: 'page', message: `is ${page}, past the last page, ${lastPage}` }], {
        errorCode: 'PR2',
      }),
    )
  return document({ ...more, page, pageSize, results, totalCount }, linkNextPage(path, query, totalCount))
}

/** The header of a page that another one follows. */
export function linkNextPage(path: string, query: Paged, totalCount: number): { readonly link?: string } {
  const { page, pageSize } = query
  if (page * pageSize >= totalCount) return {}
  const parameters = Object.entries({ ...query, page: page + 1 })
    .filter(([, value]) => value !== undefined)
    .map(([name, value]) => `${name}=${encodeURIComponent(String(value))}`)
  return { link: `</v1${path}?${parameters.join('&')}>; rel="next"` }
}
