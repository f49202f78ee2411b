import { pageNumbers } from '../api/contract/fields.ts'
import { Problem } from '../api/contract/problems.ts'
import { Type } from '../foundation/schema/type.ts'

/** The query of lists that are read by page number. */
export const PAGE_QUERY = Type.Object(pageNumbers('Entries', { default: 20, max: 100 }))

/** An example of the 400 for a page past the last one, for the API reference. */
export const PAGE_PAST_END = {
  schemaName: 'SubmissionProblem',
  detail: 'page is 9, past the last page, 3.',
  members: { errorCode: 'PR2' },
}

export interface Paged {
  readonly page: number
  readonly pageSize: number
}

/** @throws {Problem} for a page past the last one */
export function assertPage({ page, pageSize }: Paged, totalCount: number): void {
  const lastPage = Math.max(1, Math.ceil(totalCount / pageSize))
  if (page <= lastPage) return
  throw new Problem('invalid-parameters', `page is ${page}, past the last page, ${lastPage}.`, {
    members: { errorCode: 'PR2' },
  })
}

/**
 * The header `Link` of a page that another one follows (RFC 8288), with all parameters.
 *
 * @param path below `/v1`
 */
export function linkNextPage<Query extends Paged>(
  path: string,
  query: Query,
  totalCount: number,
): { readonly link?: string } {
  const { page, pageSize } = query
  if (page * pageSize >= totalCount) return {}
  const parameters = Object.entries({ ...query, page: page + 1 })
    .filter(([, value]) => value !== undefined)
    .map(([name, value]) => `${name}=${encodeURIComponent(String(value))}`)
  return { link: `</v1${path}?${parameters.join('&')}>; rel="next"` }
}
