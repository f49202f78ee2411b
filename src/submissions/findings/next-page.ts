import { Problem } from '../../api/contract/problems.ts'

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

/** The path of a submission's findings below `/v1`. */
export function findingsPath(token: string): string {
  return `/submissions/${encodeURIComponent(token)}/validation-results`
}
