/** Response headers that a web page may read. */
const EXPOSED = [
  'Catalogue-Revision',
  'Delta-Token',
  'ETag',
  'Found-Count',
  'Link',
  'Ndjson-Digest',
  'RateLimit',
  'RateLimit-Policy',
  'Repr-Digest',
  'Retry-After',
  'Total-Count',
  'X-Request-Id',
  'api-supported-versions',
].join(', ')

/** How long a browser may cache a preflight, in seconds. */
const MAX_AGE = '86400'

/**
 * Defines which web pages may read responses: the CORS protocol (Fetch standard, section 3.2). Browser credentials
 * are never used: keys are sent in a header.
 */
export class Cors {
  readonly #origins: ReadonlySet<string> | undefined

  constructor(origins: '*' | readonly string[]) {
    this.#origins = origins === '*' ? undefined : new Set(origins)
  }

  /** Whether responses depend on the origin, so that caches must distinguish them. */
  get dependsOnOrigin(): boolean {
    return this.#origins !== undefined
  }

  /** The headers for a page of that origin; `''` means no page. */
  headersFor(origin: string): Readonly<Record<string, string>> {
    if (this.#origins === undefined) return ANY
    if (!this.#origins.has(origin)) return EXPOSE
    return { 'access-control-allow-origin': origin, ...EXPOSE }
  }
}

const EXPOSE = { 'access-control-expose-headers': EXPOSED }
const ANY = { 'access-control-allow-origin': '*', ...EXPOSE }

/**
 * Further headers of the response to a preflight. A page may send any header that it asks for.
 *
 * @param methods the methods that the path supports
 */
export function preflightHeaders(
  requestedHeaders: string | undefined,
  methods: ReadonlySet<string>,
): Record<string, string> {
  return {
    vary: 'access-control-request-headers',
    'access-control-allow-methods': [...methods]
      .filter((method) => method !== 'OPTIONS')
      .sort()
      .join(', '),
    'access-control-max-age': MAX_AGE,
    ...(requestedHeaders === undefined ? {} : { 'access-control-allow-headers': requestedHeaders }),
  }
}
