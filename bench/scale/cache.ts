/** Names of headers are in lower case. */
export type Headers = Readonly<Record<string, string>>

export interface CacheRequest {
  readonly url: string
  readonly headers: Headers
}

export interface Answer {
  readonly status: number
  readonly headers: Headers
  readonly body: string
}

/** An answer that is kept. Times are seconds of a clock that the caller keeps. */
export interface Stored {
  readonly answer: Answer
  /** When the request went out to which this is the answer, or which found it unchanged. */
  readonly asked: number
  /** Its age at that time already. */
  readonly initialAge: number
  readonly maxAge: number
  readonly staleWhileRevalidate: number
  /** The request's own values of the headers that the answer varies by. */
  readonly variant: readonly (readonly [name: string, value: string])[]
}

/**
 * What a cache has for a request. `fresh` may be sent as it is; `stale` too, while it is being asked about anew;
 * with `none` the requester waits for the origin.
 */
export type Found =
  | { readonly use: 'fresh'; readonly stored: Stored }
  | { readonly use: 'stale'; readonly stored: Stored; readonly ask: CacheRequest }
  | { readonly use: 'none'; readonly stored: Stored | undefined; readonly ask: CacheRequest }

/**
 * The rules of a shared cache: RFC 9111, and stale-while-revalidate of RFC 5861. It sends nothing by itself and knows
 * no time: what drives it asks the origin and hands it the answers.
 */
export class SharedCache {
  readonly #stored = new Map<string, Stored[]>()

  find(request: CacheRequest, now: number): Found {
    const stored = this.#select(request)
    if (stored === undefined) return { use: 'none', stored, ask: unconditional(request) }
    const age = ageOf(stored, now)
    if (age < stored.maxAge) return { use: 'fresh', stored }
    const ask = conditional(request, stored)
    // RFC 5861, section 3: so long after it went stale.
    return age < stored.maxAge + stored.staleWhileRevalidate
      ? { use: 'stale', stored, ask }
      : { use: 'none', stored, ask }
  }

  /** Takes what the origin answered to a request that `find` asked for. */
  receive(request: CacheRequest, received: Answer, asked: number, arrived: number): void {
    this.#keep(request, complete(received, this.#select(request)), asked, arrived)
  }

  #select({ url, headers }: CacheRequest): Stored | undefined {
    return this.#stored
      .get(url)
      ?.find(({ variant }) => variant.every(([name, value]) => (headers[name] ?? '') === value))
  }

  #keep(request: CacheRequest, answer: Answer, asked: number, arrived: number): void {
    const others = (this.#stored.get(request.url) ?? []).filter((each) => each !== this.#select(request))
    const stored = toStored(request, answer, asked, arrived)
    if (stored !== undefined) others.push(stored)
    this.#stored.set(request.url, others)
  }
}

/** The whole answer: what is unchanged lives on under the new headers (RFC 9111, section 4.3.4). */
export function complete(received: Answer, stored: Stored | undefined): Answer {
  if (received.status !== 304) return received
  if (stored === undefined || !isSameTag(stored.answer.headers.etag, received.headers.etag)) {
    throw new Error('the origin confirms an answer that is not kept')
  }
  return { ...stored.answer, headers: { ...stored.answer.headers, age: '0', ...received.headers } }
}

/** RFC 9111, section 3: `undefined` where a shared cache must not keep an answer, or has nothing to gain by it. */
function toStored(request: CacheRequest, answer: Answer, asked: number, arrived: number): Stored | undefined {
  const directives = readDirectives(answer.headers['cache-control'] ?? '')
  const maxAge = Number(directives.get('s-maxage') ?? directives.get('max-age'))
  const vary = (answer.headers.vary ?? '').split(',').map((name) => name.trim().toLowerCase())
  if (
    answer.status !== 200 ||
    !Number.isFinite(maxAge) ||
    vary.includes('*') ||
    ['no-store', 'no-cache', 'private'].some((name) => directives.has(name)) ||
    // Section 3.5.
    (request.headers.authorization !== undefined &&
      !['public', 's-maxage', 'must-revalidate'].some((name) => directives.has(name)))
  ) {
    return undefined
  }
  // Section 4.2.3: what a cache before this one says, and the time that the answer was on its way.
  const apparentAge = Math.max(0, arrived - Number(answer.headers.date ?? arrived))
  const initialAge = Math.max(apparentAge - (arrived - asked), Number(answer.headers.age ?? 0))
  return {
    answer,
    asked,
    initialAge,
    maxAge,
    staleWhileRevalidate: Number(directives.get('stale-while-revalidate') ?? 0),
    variant: vary.filter((name) => name !== '').map((name) => [name, request.headers[name] ?? '']),
  }
}

function readDirectives(header: string): Map<string, string> {
  return new Map(
    header.split(',').map((each) => {
      const [name = '', value = ''] = each.trim().toLowerCase().split('=', 2)
      return [name, value.replaceAll('"', '')]
    }),
  )
}

/** The age of what is kept, in seconds (RFC 9111, section 4.2.3). */
export function ageOf({ asked, initialAge }: Stored, now: number): number {
  return initialAge + now - asked
}

function unconditional({ url, headers }: CacheRequest): CacheRequest {
  const { 'if-none-match': _, ...others } = headers
  return { url, headers: others }
}

function conditional({ url, headers }: CacheRequest, { answer }: Stored): CacheRequest {
  const { etag } = answer.headers
  return { url, headers: etag === undefined ? headers : { ...headers, 'if-none-match': etag } }
}

/** What is sent of an answer that is kept: with its age (RFC 9111, section 4). */
export function withAge(answer: Answer, age: number): Answer {
  return { ...answer, headers: { ...answer.headers, age: String(age) } }
}

/** What is sent to somebody who asks with a condition, such as another cache (RFC 9111, section 4.3.2). */
export function answerTo(request: CacheRequest, answer: Answer): Answer {
  return isSameTag(request.headers['if-none-match'], answer.headers.etag)
    ? { status: 304, headers: answer.headers, body: '' }
    : answer
}

/** RFC 9110, section 8.8.3.2: the weak comparison. */
function isSameTag(one: string | undefined, other: string | undefined): boolean {
  return one !== undefined && other !== undefined && one.replace(/^W\//, '') === other.replace(/^W\//, '')
}
