import { onAbort } from './abort.ts'
import { MahiError } from './errors.ts'
import { choosePause, readRetryAfter } from './retry.ts'
import type { ResultsProblem } from './types.ts'

/** The part of the standard `fetch` that is used, so that any of them fits. */
export type Fetch = (
  url: string,
  init: { headers: Record<string, string>; redirect: 'manual'; signal: AbortSignal },
) => Promise<Response>

/** What a single call may ask for. */
export interface CallOptions {
  /** Ends the call, in whatever phase it is: it then rejects with the signal's reason. */
  signal?: AbortSignal | undefined
  /** Milliseconds that the call may take, retries and pauses included; an iterator has as long for each page. */
  deadline?: number | undefined
}

/** Where the service is and how to reach it. */
export interface ConnectionOptions {
  /** Where the service is: what stands before `/v1`. Redirects are not followed: the credential goes nowhere else. */
  baseUrl: string | URL
  /** Identifier of the organisation to act for: validation results need it. */
  eid?: string | undefined
  /** Sends the requests; by default the global `fetch`. */
  fetch?: Fetch | undefined
  /** Milliseconds that a call may take unless it says otherwise. Default 30,000. */
  deadline?: number | undefined
  /**
   * How many pages are kept, the latest used ones: asked for again and unchanged, they cost a 304. They are kept as
   * text. Default 100; 0 keeps none.
   */
  cachedPages?: number | undefined
}

/** How a client identifies itself; without either, only a public catalogue can be read. */
export type CredentialOptions =
  | {
      /** An API key, sent as `X-API-Key`. */
      apiKey?: string | undefined
      token?: undefined
    }
  | {
      apiKey?: undefined
      /** A key or JWT, sent as `Authorization: Bearer`; a function is asked before every request, as JWTs expire. */
      token?: string | (() => string | Promise<string>) | undefined
    }

/** How a client reaches the service. */
export type ClientOptions = ConnectionOptions & CredentialOptions

/** An answer of the service. */
export interface Answer<Body> {
  readonly body: Body
  readonly etag: string | null
}

/** Asks for an address below the base; query parameters without a value are left out. */
export type SendRequest = <Body>(
  path: string,
  query: Readonly<Record<string, unknown>>,
  options: CallOptions | undefined,
  headers?: Record<string, string>,
) => Promise<Answer<Body>>

/** The longest time that timers take, in milliseconds: with a longer one they go off at once. */
const LONGEST_TIMER = 2 ** 31 - 1

/** The longest answer that is read, in bytes: a page of 100 records of 1 MiB each, the longest there are, fits. */
const LONGEST_ANSWER = 128 * 1024 * 1024

/** Makes the function that sends requests, retries them within the deadline and keeps their pages. */
export function createSendRequest(options: ClientOptions): SendRequest {
  const { apiKey, token, cachedPages = 100 } = options
  const keyHeader: Record<string, string> = apiKey === undefined ? {} : { 'x-api-key': apiKey }
  // Refuses here what fetch would refuse at every attempt, as if it were a fault of the network.
  const { url: address } = new Request(String(options.baseUrl), { headers: keyHeader })
  const base = address.replace(/\/*(?:[?#].*)?$/, '')
  const pages = new Map<string, { text: string; etag: string }>()

  async function attempt(url: string, given: Record<string, string>, signal: AbortSignal) {
    const headers = { ...keyHeader, ...given }
    const bearer = typeof token === 'function' ? await token() : token
    if (bearer !== undefined) headers.authorization = `Bearer ${bearer}`
    const known = pages.get(url)
    if (known !== undefined) headers['if-none-match'] = known.etag
    // As above, for what is known only now.
    new Headers(headers)

    let response: Response
    let text: string
    try {
      response = await (options.fetch ?? fetch)(url, { headers, redirect: 'manual', signal })
      text = await readText(response)
    } catch (cause) {
      if (cause instanceof MahiError) throw cause
      throw new MahiError('network', { title: 'No whole answer came' }, cause)
    }
    const { status, ok } = response
    const unchanged = known !== undefined && status === 304
    if (unchanged) text = known.text
    const body = readObject(text)
    if (!ok && !unchanged) {
      const problem: ResultsProblem = { title: `HTTP ${status}`, ...body, status }
      throw new MahiError('problem', problem, undefined, readRetryAfter(response.headers))
    }
    if (body === undefined) throw new MahiError('unreadable', { title: 'The answer is not JSON', status })

    const etag = unchanged ? known.etag : response.headers.get('etag')
    pages.delete(url)
    if (etag !== null && cachedPages > 0) {
      // A Map keeps the order of insertion: its first page is the one that has gone unused for longest.
      const [oldest] = pages.keys()
      if (oldest !== undefined && pages.size >= cachedPages) pages.delete(oldest)
      pages.set(url, { text, etag })
    }
    return { body, etag }
  }

  return async <Body>(
    path: string,
    query: Readonly<Record<string, unknown>>,
    { signal, deadline = options.deadline ?? 30_000 }: CallOptions = {},
    headers: Record<string, string> = {},
  ) => {
    signal?.throwIfAborted()
    const url = base + path + writeQuery(query)
    const allowed = Math.min(deadline, LONGEST_TIMER)
    const end = performance.now() + allowed
    const controller = new AbortController()
    const ended = controller.signal
    let failure: MahiError | undefined

    const attempts = async () => {
      for (let count = 0; ; count++) {
        try {
          return (await attempt(url, headers, ended)) as Answer<Body>
        } catch (error) {
          ended.throwIfAborted()
          if (!(error instanceof MahiError) || !isPassing(error)) throw error
          // Nothing, or a moment that has passed already, is no reason to try again at once.
          const pause = (error.retryAfter ?? 0) * 1000 || choosePause(count)
          if (performance.now() + pause >= end) throw error
          failure = error
          await wait(pause, ended)
        }
      }
    }
    const forget = signal && onAbort(signal, () => controller.abort(signal.reason))
    const timer = setTimeout(
      () =>
        controller.abort(
          new MahiError('deadline', { title: `There was no answer within ${deadline} ms` }, failure),
        ),
      allowed,
    )
    try {
      return await Promise.race([
        new Promise<never>((_, reject) => {
          ended.addEventListener('abort', () => reject(ended.reason))
        }),
        attempts(),
      ])
    } finally {
      clearTimeout(timer)
      forget?.()
    }
  }
}

/** The text of an answer, which is not let grow without end. */
async function readText(response: Response): Promise<string> {
  if (response.body === null) return await response.text()
  const reader = response.body.getReader()
  const decoder = new TextDecoder()
  const parts: string[] = []
  let length = 0
  for (;;) {
    const { value, done } = await reader.read()
    if (done) return parts.join('') + decoder.decode()
    length += value.length
    if (length > LONGEST_ANSWER) {
      // Its connection is of no more use; that it can't be ended in order is no news.
      void reader.cancel().catch(() => undefined)
      const title = `The answer is longer than ${LONGEST_ANSWER} bytes`
      throw new MahiError('unreadable', { title, status: response.status })
    }
    parts.push(decoder.decode(value, { stream: true }))
  }
}

function writeQuery(query: Readonly<Record<string, unknown>>): string {
  const parameters = new URLSearchParams()
  for (const [name, value] of Object.entries(query)) {
    if (value != null) parameters.set(name, value instanceof Date ? value.toISOString() : String(value))
  }
  const text = String(parameters)
  return text === '' ? '' : `?${text}`
}

function readObject(text: string): object | undefined {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null ? value : undefined
  } catch {
    return undefined
  }
}

/** Whether the same request may well succeed later. */
function isPassing({ kind, status }: MahiError): boolean {
  return kind === 'network' || status === 429 || status === 503
}

/** Ends early, and leaves no timer behind, when the signal aborts. */
async function wait(milliseconds: number, signal: AbortSignal): Promise<void> {
  await new Promise<void>((resolve) => {
    const timer = setTimeout(resolve, milliseconds)
    signal.addEventListener('abort', () => {
      clearTimeout(timer)
      resolve()
    })
  })
  signal.throwIfAborted()
}
