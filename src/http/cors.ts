/** Headers that a web page may read of an answer. */
const EXPOSED = [
  'Catalogue-Revision',
  'Delta-Token',
  'ETag',
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

/** How long a browser may keep the answer to a preflight, in seconds. */
const MAX_AGE = '86400'

/**
 * Which web pages may read the answers: the CORS protocol (Fetch standard, section 3.2). Credentials of the browser's
 * own are never asked for: keys travel in a header.
 */
export class Cors {
  readonly #origins: ReadonlySet<string> | undefined

  constructor(origins: '*' | readonly string[]) {
    this.#origins = origins === '*' ? undefined : new Set(origins)
  }

  /** Whether answers differ by the page that asks, so that caches must tell them apart. */
  get dependsOnOrigin(): boolean {
    return this.#origins !== undefined
  }

  /** What an answer to a page of that origin carries, as names and values in turn; `''` is no page. */
  headersFor(origin: string): readonly string[] {
    if (this.#origins === undefined) return ANY
    if (!this.#origins.has(origin)) return EXPOSE
    return ['access-control-allow-origin', origin, ...EXPOSE]
  }
}

const EXPOSE = ['access-control-expose-headers', EXPOSED]
const ANY = ['access-control-allow-origin', '*', ...EXPOSE]

/**
 * What a response to a preflight includes besides: whatever header a page asks to send, it may.
 *
 * @param methods those that the path supports
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
