import { onAbort } from './abort.ts'
import { isUnreachable, MahiError, NOT_JSON } from './errors.ts'
import { choosePause, readRetryAfter } from './retry.ts'

/** The part of the standard `fetch` that the client uses. */
export type Fetch = (url: string, init: FetchInit) => Promise<Response>

interface FetchInit {
  headers: Record<string, string>
  redirect: 'manual'
  signal: AbortSignal
  method?: string
  body?: FileContent
  duplex?: 'half'
}

/** The content of a file. A stream can be sent once: such an upload is not tried again after a failure. */
export type FileContent = string | Uint8Array<ArrayBuffer> | Blob | ReadableStream<Uint8Array>

/** Fields of a header, by their names. */
export type HeaderFields = Readonly<Record<string, string>>

/** What a single call may ask for. */
export interface CallOptions {
  /** Ends the call, in whatever phase it is: it then rejects with the signal's reason. */
  signal?: AbortSignal | undefined
  /** Milliseconds that the call may take, retries and pauses included; an iterator has as long for each page. */
  deadline?: number | undefined
}

/** Where the service is and how to reach it. */
export interface ConnectionOptions {
  /** The URL of the service without `/v1`. Redirects are not followed: the credential is sent nowhere else. */
  baseUrl: string | URL
  /** Identifier of the organisation to act for: validation results need it. */
  eid?: string | undefined
  /** Sends the requests; by default the global `fetch`. */
  fetch?: Fetch | undefined
  /** Milliseconds that a call may take unless it says otherwise. Default 30,000. */
  deadline?: number | undefined
  /**
   * Milliseconds for which a refused connection or an unknown host is tried again, within the deadline. By default as
   * long as any other failure.
   */
  unreachableDeadline?: number | undefined
  /** Called before a request is sent again: with the failure, and the milliseconds until then. */
  onRetry?: ((failure: MahiError, pause: number) => void) | undefined
  /**
   * The number of pages to cache, as text. A cached page that has not changed costs only a 304. Default 100; 0 turns
   * the cache off.
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
      /**
       * A key or JWT, sent as `Authorization: Bearer`. A function is called before every request, because JWTs
       * expire.
       */
      token?: string | (() => string | Promise<string>) | undefined
    }

/** How a client reaches the service. */
export type ClientOptions = ConnectionOptions & CredentialOptions

/** A response of the service. */
interface Answer<Body> {
  readonly body: Body
  readonly etag: string | null
}

/** The segments of a path below `/v1`, not encoded. */
export type Path = readonly (string | number)[]

type Method = 'POST' | 'PUT' | 'DELETE'

/** What a request sends besides its path, and what the call may ask for. */
export interface Sent extends CallOptions {
  /** Parameters without a value are left out. */
  query?: Readonly<Record<string, unknown>>
  headers?: HeaderFields
  /** An object is sent as JSON. */
  body?: object | FileContent
}

/** The ways to ask. */
export interface Requests {
  /** Reads a page. */
  send<Body>(path: Path, sent?: Sent): Promise<Answer<Body>>
  /** As `send`, for a body that is read piece by piece: only its head is subject to the deadline and retries. */
  stream(path: Path, sent?: Sent): Promise<Response>
  /** Sends one request, and returns its body. Every operation of the service may be sent again after a failure. */
  call<Body>(method: Method | 'GET', path: Path, sent?: Sent): Promise<Body>
}

export type Call = Requests['call']

/** The longest time that timers take, in milliseconds: with a longer one they go off at once. */
const LONGEST_TIMER = 2 ** 31 - 1

/** The longest response, in bytes: a page of 100 records of 1 MiB each fits. */
const LONGEST_ANSWER = 128 * 1024 * 1024

/** Makes the functions that send requests, retry them within the deadline and keep their pages. */
export function createRequests(options: ClientOptions): Requests {
  const { apiKey, token, cachedPages = 100, unreachableDeadline = Number.POSITIVE_INFINITY } = options
  if (apiKey !== undefined) assertFitsHeader('apiKey', apiKey)
  if (typeof token === 'string') assertFitsHeader('token', token)
  const keyHeader: Record<string, string> = apiKey === undefined ? {} : { 'x-api-key': apiKey }
  // Refuses here what fetch would refuse at every attempt, as if it were a fault of the network.
  const { url: address } = new Request(String(options.baseUrl), { headers: keyHeader })
  const base = (address.split(/[?#]/, 1)[0] ?? '').replace(/(?<!\/)\/+$/, '')
  const pages = new Map<string, { text: string; etag: string }>()

  async function open(
    url: string,
    given: HeaderFields | undefined,
    init: Omit<FetchInit, 'redirect' | 'headers'>,
    alsoRight?: number,
  ): Promise<Response> {
    const headers: Record<string, string> = { ...keyHeader, ...given }
    const bearer = typeof token === 'function' ? await token() : token
    if (bearer !== undefined) {
      assertFitsHeader('token', bearer)
      headers.authorization = `Bearer ${bearer}`
    }
    // As above, for what is known only now.
    new Headers(headers)
    let response: Response
    try {
      response = await (options.fetch ?? fetch)(url, { ...init, headers, redirect: 'manual' })
    } catch (cause) {
      throw explainNetwork(cause)
    }
    if (response.ok || response.status === alsoRight) return response
    throw explainStatus(response, await readWhole(response))
  }

  async function readPage(
    url: string,
    given: HeaderFields | undefined,
    signal: AbortSignal,
  ): Promise<Answer<object>> {
    const known = pages.get(url)
    const response =
      known === undefined
        ? await open(url, given, { signal })
        : await open(url, { ...given, 'if-none-match': known.etag }, { signal }, 304)
    const arrived = await readWhole(response)
    const { text, etag } =
      known !== undefined && response.status === 304
        ? known
        : { text: arrived, etag: response.headers.get('etag') }
    const body = readBody(text, response.status)
    pages.delete(url)
    if (etag !== null && cachedPages > 0) {
      // A Map keeps the order of insertion: its first page is the one that has gone unused for longest.
      const [oldest] = pages.keys()
      if (oldest !== undefined && pages.size >= cachedPages) pages.delete(oldest)
      pages.set(url, { text, etag })
    }
    return { body, etag }
  }

  /** Tries until it succeeds, fails for good or the deadline has passed. */
  async function retry<Result>(
    { signal, deadline = options.deadline ?? 30_000 }: CallOptions,
    attempt: (ended: AbortSignal) => Promise<Result>,
    once = false,
  ): Promise<Result> {
    signal?.throwIfAborted()
    const allowed = Math.min(deadline, LONGEST_TIMER)
    const begun = performance.now()
    const controller = new AbortController()
    const ended = controller.signal
    let failure: MahiError | undefined
    let pausing: ReturnType<typeof setTimeout> | undefined

    const attempts = async () => {
      for (let count = 0; ; count++) {
        try {
          return await attempt(ended)
        } catch (error) {
          ended.throwIfAborted()
          if (once || !(error instanceof MahiError) || !isPassing(error, failure)) throw error
          // Nothing, or a moment that has passed already, is no reason to try again at once.
          const pause = (error.retryAfter ?? 0) * 1000 || choosePause(count)
          const most = isUnreachable(error) ? Math.min(allowed, unreachableDeadline) : allowed
          if (performance.now() - begun + pause >= most) throw error
          failure = error
          options.onRetry?.(error, pause)
          await new Promise((resolve) => {
            pausing = setTimeout(resolve, pause)
          })
        }
      }
    }
    const title = `There was no response within ${deadline} ms`
    const timer = setTimeout(() => controller.abort(new MahiError('deadline', { title }, failure)), allowed)
    const forget = signal && onAbort(signal, () => controller.abort(signal.reason))
    const end = new Promise<never>((_, reject) => {
      ended.addEventListener('abort', () => reject(ended.reason))
    })
    try {
      return await Promise.race([end, attempts()])
    } finally {
      clearTimeout(timer)
      clearTimeout(pausing)
      forget?.()
    }
  }

  async function change(
    method: Method,
    path: Path,
    { body, headers, ...callOptions }: Sent,
  ): Promise<object> {
    const url = base + writePath(path)
    const isJson = isPlainObject(body)
    const content = isJson ? JSON.stringify(body) : body
    const once = body instanceof ReadableStream
    const init = {
      method,
      ...(content !== undefined && { body: content }),
      ...(once && { duplex: 'half' as const }),
    }
    const attempt = async (signal: AbortSignal) => {
      const response = await open(url, { ...(isJson && JSON_TYPE), ...headers }, { ...init, signal })
      const text = await readWhole(response)
      return text === '' ? {} : readBody(text, response.status)
    }
    // An upload may take long; a failed one that cannot be repeated is reported at once.
    const deadline = callOptions.deadline ?? (body !== undefined && !isJson ? LONGEST_TIMER : undefined)
    return await retry({ ...callOptions, deadline }, attempt, once)
  }

  async function send<Body>(path: Path, { query, headers, ...callOptions }: Sent = {}) {
    const url = base + writePath(path) + writeQuery(query)
    return (await retry(callOptions, (ended) => readPage(url, headers, ended))) as Answer<Body>
  }

  return {
    send,
    stream: async (path, { query, headers, ...callOptions } = {}) => {
      const url = base + writePath(path) + writeQuery(query)
      // The signal of the caller ends the body too, which the deadline does not.
      const body = new AbortController()
      return await retry(callOptions, (ended) => {
        ended.addEventListener('abort', () => body.abort(ended.reason))
        const { signal } = callOptions
        return open(url, headers, {
          signal: signal === undefined ? body.signal : AbortSignal.any([body.signal, signal]),
        })
      })
    },
    call: async <Body>(method: Method | 'GET', path: Path, sent: Sent = {}) =>
      method === 'GET' ? (await send<Body>(path, sent)).body : ((await change(method, path, sent)) as Body),
  }
}

const JSON_TYPE = { 'content-type': 'application/json' }

function isPlainObject(body: Sent['body']): body is object {
  return (
    typeof body === 'object' &&
    !(body instanceof ReadableStream || body instanceof Blob || body instanceof Uint8Array)
  )
}

/** A header with a line break would be refused by fetch in words that repeat the credential. */
function assertFitsHeader(name: string, credential: string): void {
  if (/^[\x21-\x7e]+(?: [\x21-\x7e]+)*$/.test(credential)) return
  throw new TypeError(
    `The ${name} is empty or has a character that is not allowed in a header, such as a line break`,
  )
}

async function readWhole(response: Response): Promise<string> {
  try {
    return await readText(response)
  } catch (cause) {
    throw explainNetwork(cause)
  }
}

function explainNetwork(cause: unknown): MahiError {
  if (cause instanceof MahiError) return cause
  const code = findCode(cause)
  return new MahiError(
    'network',
    { title: 'The response is incomplete or missing', ...(code && { code }) },
    cause,
  )
}

/** The name of an error without a code: the response does not begin like one of HTTP. */
const NOT_HTTP = 'HTTPParserError'

/** What the system says about a connection, such as ECONNREFUSED: fetch hides it in the causes of its error. */
function findCode(error: unknown): string | undefined {
  for (let each = error, depth = 0; each instanceof Error && depth < 5; each = each.cause, depth++) {
    if ('code' in each && typeof each.code === 'string') return each.code
    if (each.name === NOT_HTTP) return NOT_HTTP
    if (each instanceof AggregateError) return findCode(each.errors[0])
  }
  return undefined
}

function explainStatus({ status, headers }: Response, text: string): MahiError {
  const location = status >= 300 && status < 400 ? headers.get('location') : null
  const problem = {
    title: location === null ? `HTTP ${status}` : `HTTP ${status} redirects to ${location}`,
    ...readObject(text),
    status,
    ...(location !== null && { location }),
  }
  return new MahiError('problem', problem, undefined, readRetryAfter(headers))
}

/** Reads the text of a response, up to the limit. */
async function readText(response: Response): Promise<string> {
  if (response.body === null) return await response.text()
  const reader = response.body.getReader()
  // Otherwise damaged text would become U+FFFD without a word.
  const decoder = new TextDecoder('utf-8', { fatal: response.ok })
  const decode = (value?: Uint8Array) => {
    try {
      return decoder.decode(value, { stream: value !== undefined })
    } catch (cause) {
      void reader.cancel().catch(() => undefined)
      const problem = { title: 'The response is not valid UTF-8', status: response.status }
      throw new MahiError('unreadable', problem, cause)
    }
  }
  const parts: string[] = []
  let length = 0
  for (;;) {
    const { value, done } = await reader.read()
    if (done) return parts.join('') + decode()
    length += value.length
    if (length > LONGEST_ANSWER) {
      // Its connection is of no more use; that it can't be ended in order is no news.
      void reader.cancel().catch(() => undefined)
      const title = `The response is longer than ${LONGEST_ANSWER} bytes`
      throw new MahiError('unreadable', { title, status: response.status })
    }
    parts.push(decode(value))
  }
}

/**
 * @throws {MahiError} `invalid` for a segment that would lead to another path: every URL parser resolves `.` and `..`,
 *   also encoded
 */
function writePath(path: Path): string {
  const segments = path.map((each) => String(each ?? ''))
  const wrong = segments.find((each) => ['', '.', '..'].includes(each) || /\p{Surrogate}/u.test(each))
  if (wrong !== undefined) {
    const title = `${JSON.stringify(wrong)} is not a valid token, code or name: it cannot be part of a URL`
    throw new MahiError('invalid', { title })
  }
  return `/v1/${segments.map(encodeURIComponent).join('/')}`
}

function writeQuery(query: Sent['query'] = {}): string {
  const parameters = new URLSearchParams()
  for (const [name, value] of Object.entries(query)) {
    if (value != null) parameters.set(name, value instanceof Date ? value.toISOString() : String(value))
  }
  const text = String(parameters)
  return text === '' ? '' : `?${text}`
}

/** @throws {MahiError} if the service cannot have sent this */
function readBody(text: string, status: number): object {
  const body = readObject(text)
  if (body === undefined)
    throw new MahiError('unreadable', { title: 'The response is not JSON', code: NOT_JSON, status })
  return body
}

/** A text of JSON that is an object or a list; `undefined` for any other. */
export function readObject(text: string): object | undefined {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null ? value : undefined
  } catch {
    return undefined
  }
}

/**
 * Whether the same request may well succeed later. After a lost connection, that is also so for a conflict with
 * Retry-After: an upload that a crash cut off holds the file for a few seconds.
 */
function isPassing(
  { kind, status, retryAfter, code = '' }: MahiError,
  earlier: MahiError | undefined,
): boolean {
  if (status === 409) return retryAfter !== undefined && earlier !== undefined
  if (kind === 'network') return !NO_SERVICE.test(code)
  return status === 429 || status === 503
}

/** Codes of what speaks no HTTP or TLS, and of certificates that are not accepted: it will be so again. */
const NO_SERVICE = /^(?:HTTPParserError$|HPE_|ERR_SSL_|ERR_TLS_|CERT_|SELF_SIGNED_|DEPTH_ZERO_|UNABLE_TO_)/
