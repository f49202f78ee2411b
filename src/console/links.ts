import type { FastifyRequest } from 'fastify'

/** The parameters of a query; those that are empty or undefined are left out. */
export type Query = Readonly<Record<string, string | number | undefined>>

/** A path with a query. */
export function link(path: string, query: Query = {}): string {
  const parameters = new URLSearchParams(
    Object.entries(query).flatMap(([name, value]) =>
      value === undefined || value === '' ? [] : [[name, String(value)]],
    ),
  )
  return parameters.size === 0 ? path : `${path}?${parameters}`
}

export const occupationLink = (code: string): string => `/console/occupations/${encodeURIComponent(code)}`

export const submissionLink = (token: string, rest = ''): string =>
  `/console/submissions/${encodeURIComponent(token)}${rest}`

/** A path of the console, or its first page: what a request names must not lead to another site. */
export function ownPath(path: string | null | undefined): string {
  const base = 'http://localhost'
  const url = URL.canParse(path ?? '', base) ? new URL(path ?? '', base) : undefined
  const isOwn = url?.origin === base && /^\/console(?:\/|$)/.test(url.pathname)
  return isOwn ? url.pathname + url.search : '/console'
}

export const queryOf = ({ url }: FastifyRequest): URLSearchParams =>
  new URL(url, 'http://localhost').searchParams

/** The organisation that a page or its form names in its URL. */
export const eidOf = (request: FastifyRequest): string | undefined => queryOf(request).get('eid') ?? undefined

/** The path of the page of a request: of a form that was sent, its own path or the nearest above it. */
function pagePath(request: FastifyRequest): string {
  let [page = ''] = request.url.split('?', 1)
  let route = request.routeOptions.url ?? ''
  while (!request.server.hasRoute({ method: 'GET', url: route })) {
    page = page.slice(0, page.lastIndexOf('/'))
    route = route.slice(0, route.lastIndexOf('/'))
  }
  return page
}

/** The page of a form that was sent. */
export const pageOfForm = (request: FastifyRequest): string =>
  link(pagePath(request), { eid: eidOf(request) })

/** The page that is shown. */
export interface Here {
  readonly request: FastifyRequest
  readonly query: URLSearchParams
}

/** The URL of the page itself with other parameters. */
export const linkHere = ({ request, query }: Here, changed: Query): string =>
  link(pagePath(request), { ...Object.fromEntries(query), ...changed })
