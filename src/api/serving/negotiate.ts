import type { FastifyRequest } from 'fastify'
import Negotiator from 'negotiator'
import { remember } from '../../foundation/cache/remember.ts'
import { Problem } from '../request/problems.ts'
import { ENCODINGS, type Encoding } from './page.ts'

/**
 * Whether the client has the page that the ETag identifies. The comparison is weak: responses to GET and HEAD are
 * equivalent in every encoding (RFC 9110, section 13.1.2).
 */
export function isFresh(request: FastifyRequest, etag: string): boolean {
  const header = request.headers['if-none-match']
  if (header === undefined) return false
  if (header === etag || header.trim() === '*') return true
  const opaque = etag.replace(/^W\//, '')
  return header.split(',').some((each) => each.trim().replace(/^W\//, '') === opaque)
}

/**
 * The media type that the caller prefers (RFC 9110, section 12.5.1); the first one without a preference.
 *
 * @param types at least one
 * @throws {Problem} `not-acceptable` if the Accept header excludes them all
 */
export function assertAccepts(request: FastifyRequest, types: readonly string[]): string {
  const accept = request.headers.accept
  const [first = 'application/json'] = types
  // An empty header has no preference, like an absent one.
  if (accept === undefined || accept.trim() === '') return first
  const accepted = preferredType(types.join(), accept)
  if (accepted !== undefined) return accepted
  throw new Problem(
    'not-acceptable',
    types.length === 1
      ? `The Accept header excludes ${first}, the only supported media type.`
      : `The Accept header excludes every supported media type: ${types.join(', ')}.`,
  )
}

/** By the supported types, comma-separated. */
const preferences = new Map<string, (accept: string) => string | undefined>()

function preferredType(types: string, accept: string): string | undefined {
  let prefer = preferences.get(types)
  if (prefer === undefined) {
    // With and without the parameter that some clients add.
    const offered = types.split(',').flatMap((type) => [type, `${type}; charset=utf-8`])
    prefer = remember(
      (accept) => new Negotiator({ headers: { accept } }).mediaType(offered)?.split(';', 1)[0],
    )
    preferences.set(types, prefer)
  }
  return prefer(accept)
}

const negotiate = remember((accepted) => {
  // Version 1 applies the server's preference among equals; its types do not declare it yet.
  const negotiator: { encodings(available: string[], options: { preferred: string[] }): string[] } =
    new Negotiator({ headers: { 'accept-encoding': accepted } })
  return negotiator.encodings([...ENCODINGS], { preferred: [...ENCODINGS] }) as Encoding[]
})

/** The preferred encoding (RFC 9110, section 12.5.3): identity if the header is absent or excludes every available one. */
export function chooseEncoding(accepted: string | undefined): Encoding {
  return listAccepted(accepted)[0] ?? 'identity'
}

/** A stream is compressed with gzip only, because brotli needs megabytes of tables for each. */
export function prefersGzip({ headers }: FastifyRequest): boolean {
  return listAccepted(headers['accept-encoding']).find((encoding) => encoding !== 'br') === 'gzip'
}

function listAccepted(accepted: string | undefined): readonly Encoding[] {
  return accepted === undefined ? [] : negotiate(accepted)
}
