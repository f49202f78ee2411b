import type { FastifyReply, FastifyRequest } from 'fastify'
import Negotiator from 'negotiator'
import type { Backlog } from './backlog.ts'
import { ENCODINGS, type Encoding, type Page } from './page.ts'
import { Problem } from './problems.ts'

export interface Sending {
  readonly cacheControl: string
  /** Whether compressed bytes are kept, and so worth making. */
  readonly compress: boolean
  readonly backlog: Backlog
  /** Called when the page has grown by compressed bytes. */
  readonly onGrown: (page: Page) => void
}

/** Answers a request with a finished page, or with 304 if the caller has it already. */
export async function sendPage(
  request: FastifyRequest,
  reply: FastifyReply,
  page: Page,
  { cacheControl, compress, backlog, onGrown }: Sending,
): Promise<FastifyReply> {
  if (isFresh(request, () => page.etag)) return sendNotModified(reply, page.etag, cacheControl)

  let encoding = page.worthCompressing
    ? chooseEncoding(request.headers['accept-encoding'], compress)
    : 'identity'
  let body = page.ready(encoding)
  backlog.hold(reply.raw, body ?? page.plain)
  if (body === undefined && encoding !== 'identity') {
    body = await page.encode(encoding)
    if (body === undefined) encoding = 'identity'
    else onGrown(page)
  }
  describe(reply, page.etag, cacheControl)
  if (page.link !== undefined) reply.header('link', page.link)
  if (encoding !== 'identity') reply.header('content-encoding', encoding)
  return reply.header('content-type', 'application/json; charset=utf-8').send(body ?? page.plain)
}

/** Whether the caller has what the ETag names; where it is known without the page, no page need be read. */
export function isFresh(request: FastifyRequest, etag: () => string): boolean {
  const header = request.headers['if-none-match']
  return header !== undefined && matchesEtag(header, etag())
}

export function sendNotModified(reply: FastifyReply, etag: string, cacheControl: string): FastifyReply {
  describe(reply.code(304), etag, cacheControl)
  return reply.send()
}

function describe(reply: FastifyReply, etag: string, cacheControl: string): void {
  // With a list of CORS origins the answer depends on the caller's origin too.
  const vary = reply.getHeader('vary')
  reply.headers({
    etag,
    'cache-control': cacheControl,
    vary: vary === undefined ? 'accept-encoding' : `${vary}, accept-encoding`,
  })
}

/** @throws {Problem} if the Accept header excludes JSON (RFC 9110, section 12.5.1) */
export function assertAcceptsJson(request: FastifyRequest): void {
  const accept = request.headers.accept
  if (accept === undefined || acceptsJson(accept)) return
  throw new Problem('not-acceptable', 'The Accept header excludes application/json, the only form there is.')
}

/** The comparison is weak: the answers to GET and HEAD mean the same in every encoding (RFC 9110, section 13.1.2). */
function matchesEtag(header: string, etag: string): boolean {
  if (header === etag || header.trim() === '*') return true
  const opaque = etag.replace(/^W\//, '')
  return header.split(',').some((each) => each.trim().replace(/^W\//, '') === opaque)
}

/** The type of every page, with and without what some callers write behind it. */
const JSON_TYPES = ['application/json', 'application/json; charset=utf-8']
const acceptsJson = remember(
  (accept) => new Negotiator({ headers: { accept } }).mediaType(JSON_TYPES) !== undefined,
)
const negotiate = remember((accepted) => {
  // Version 1 takes the server's preference among equals, which its types do not say yet.
  const negotiator: { encoding(available: string[], options: { preferred: string[] }): string | undefined } =
    new Negotiator({ headers: { 'accept-encoding': accepted } })
  return negotiator.encoding([...ENCODINGS], { preferred: [...ENCODINGS] }) as Encoding | undefined
})

/** RFC 9110, section 12.5.3: without the header, or where it excludes all there is, the plain bytes. */
function chooseEncoding(accepted: string | undefined, compress: boolean): Encoding {
  return (compress && accepted !== undefined && negotiate(accepted)) || 'identity'
}

/** Callers send few distinct headers, and reading one costs more than finding a finished page. */
function remember<Result>(read: (header: string) => Result): (header: string) => Result {
  const known = new Map<string, Result>()
  return (header) => {
    const before = known.get(header)
    if (before !== undefined || header.length > 200) return before ?? read(header)
    const result = read(header)
    if (known.size >= 100) known.clear()
    known.set(header, result)
    return result
  }
}
