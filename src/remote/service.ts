import { MahiError, NOT_JSON } from '../../client/src/errors.ts'
import { type Client, createClient } from '../../client/src/index.ts'
import type { Scope } from '../api/access/principal.ts'
import { readServiceUrl, type UrlField } from '../foundation/command-line/service-url.ts'
import { say } from '../foundation/command-line/terminal.ts'
import { fail } from '../foundation/faults/user-error.ts'
import { isLoopbackHost } from '../foundation/is-loopback-host.ts'
import { lookUp } from '../foundation/look-up.ts'

/** The environment variable with the key: other users of the machine can read command lines. */
export const KEY_VARIABLE = 'MAHI_API_KEY'

/** Time limit of retries if the connection is refused or the host is unknown, in milliseconds. */
const UNREACHABLE_DEADLINE = 3_000

/** Time limit of a request for much data, including retries and rate-limit pauses, in milliseconds. */
export const PATIENCE = 5 * 60_000

/** Returns the key if it is a valid header value. Messages never repeat it. */
function assertKey(apiKey: string | undefined): string | undefined {
  if (apiKey === undefined || /^[\x21-\x7e]+$/.test(apiKey)) return apiKey
  return fail({
    message: `${KEY_VARIABLE} contains a line break, a space or another character that is not allowed in a key. Set it to the key only`,
  })
}

/** What the explanation of a failure depends on. */
export interface Asking {
  /** How the user names the URL; by default the option `--url`. */
  readonly field?: UrlField
  /** Set if no key is sent: the scope that a key needs where the service requires one. */
  readonly anonymous?: Scope | undefined
  /** Says what to do next if the service does not respond, instead of the usual advice. */
  readonly onAway?: () => Promise<string | undefined>
}

/** Runs work that calls a service, and explains failures to the user. */
export async function askService<T>(url: string, work: () => Promise<T>, asking: Asking = {}): Promise<T> {
  try {
    return await work()
  } catch (error) {
    if (!(error instanceof MahiError)) throw error
    const { onAway } = asking
    const next = isAway(error) ? await onAway?.() : undefined
    const explained = printable(
      next === undefined ? advise(error, url, asking) : dropStop(explain(error, url)),
    )
    const message = next === undefined ? explained : `${explained}. ${next}`
    // The sentence names host and port already.
    return fail(isRefused(error) ? { message } : { file: url, message })
  }
}

/** The result of an operation; `undefined` from a service that does not have it, such as an earlier version. */
export async function ifOffered<T>(call: () => Promise<T>): Promise<T | undefined> {
  try {
    return await call()
  } catch (error) {
    if (error instanceof MahiError && error.status === 404) return undefined
    throw error
  }
}

/**
 * Creates a function that reports that a request has failed and will be sent again. That no response arrives is
 * reported once for all attempts of one request.
 */
function createRetryNotice(url: string): (failure: MahiError, pause: number) => void {
  let until = 0
  return (failure, pause) => {
    const now = performance.now()
    const isNetwork = failure.kind === 'network'
    const isRepeated = isNetwork && now < until
    until = isNetwork ? now + pause + UNREACHABLE_DEADLINE : 0
    if (isRepeated) return
    // Only how long a service asks to wait is news.
    const when = isNetwork || pause < 1000 ? '' : ` in ${Math.ceil(pause / 1000)} s`
    say(`${printable(dropStop(explain(failure, url)))}. Trying again${when}…`)
  }
}

function isRefused({ code }: MahiError): boolean {
  return code === 'ECONNREFUSED'
}

/** Whether the service did not respond, so that the same call may succeed later. */
function isAway({ kind, status = 0 }: MahiError): boolean {
  return kind === 'network' || kind === 'deadline' || GATEWAY.has(status)
}

function advise(error: MahiError, url: string, { field = '--url', anonymous }: Asking): string {
  const option = field === '--url' ? field : 'the URL'
  if (isForeign(error)) {
    const what = error.kind === 'problem' ? `${error.message} without a problem body` : error.message
    return `${what}, so the response is not from Mahi. Check the URL, and the proxy in front of the service`
  }
  if (error.status === 401 && anonymous !== undefined) return lackKey(anonymous)
  // Its words say whether the key is valid.
  if (error.status === 401)
    return `the service refuses the request with the key in ${KEY_VARIABLE}: ${dropStop(explain(error, url))}`
  if (error.kind === 'new-run')
    return 'a new run was published while this one was being read: run the command again'
  if (isRefused(error)) {
    const start = isLocal(url) ? 'start the service with "mahi serve"' : 'ask its operator whether it runs'
    return `${explain(error, url)}. Check ${option}, or ${start}.`
  }
  const isOther = OF_OTHERS.has(error.code ?? '')
  return isOther
    ? `${explain(error, url)}. Check ${option}: another program may listen there`
    : explain(error, url)
}

function lackKey(scope: Scope): string {
  return `${KEY_VARIABLE} is not set. Set it to a key with the scope ${scope}`
}

function isLocal(url: string): boolean {
  return isLoopbackHost(URL.parse(url)?.hostname ?? '')
}

/** Whether something else than Mahi has responded: every problem of Mahi has a type. Redirects say where they lead. */
function isForeign({ kind, status = 0, type, location, code }: MahiError): boolean {
  if (kind === 'unreadable') return code === NOT_JSON
  return kind === 'problem' && type === undefined && location === undefined && !GATEWAY.has(status)
}

/** What a proxy says of a service that it cannot reach. */
const GATEWAY: ReadonlySet<number> = new Set([502, 503, 504])

const UNTRUSTED =
  'this machine does not trust its certificate: set NODE_EXTRA_CA_CERTS to the file of its authority'

const CONNECTION_FAULTS = lookUp<string>({
  ENOTFOUND: 'the host is unknown',
  EAI_AGAIN: 'the host name could not be looked up',
  ECONNRESET: 'the connection was broken off',
  UND_ERR_SOCKET: 'the connection was closed before the end of a response',
  HTTPParserError: 'what listens at this host and port does not speak HTTP',
  ETIMEDOUT: 'the host does not answer',
  ERR_SSL_WRONG_VERSION_NUMBER: 'this port does not speak TLS, so its URL begins with http://',
  ERR_SSL_PACKET_LENGTH_TOO_LONG: 'this port does not speak TLS, so its URL begins with http://',
  CERT_HAS_EXPIRED: 'its certificate has expired',
  ERR_TLS_CERT_ALTNAME_INVALID: 'its certificate is for another host',
  DEPTH_ZERO_SELF_SIGNED_CERT: UNTRUSTED,
  SELF_SIGNED_CERT_IN_CHAIN: UNTRUSTED,
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: UNTRUSTED,
})

/** What a port of another protocol does with a request. */
const OF_OTHERS: ReadonlySet<string> = new Set(['ECONNRESET', 'UND_ERR_SOCKET', 'HTTPParserError'])

/**
 * Explains an error. The detail of a problem is enough: its title only says the same in general, or contradicts it.
 */
function explain({ message, code, kind, status, detail, instance, cause }: MahiError, url: string): string {
  if (kind === 'problem' && detail !== undefined) {
    // Its text refers to "this ID".
    return status === 500 && instance !== undefined ? `${dropStop(detail)}: ${instance}` : String(detail)
  }
  if (code === 'ECONNREFUSED') return `Nothing listens on ${hostAndPort(url)}`
  const because = cause instanceof MahiError ? `: ${explain(cause, url)}` : ''
  if (code === undefined) return `${message}${because}`
  const known = CONNECTION_FAULTS[code]
  return `${message}: ${known === undefined ? code : `${known} (${code})`}${because}`
}

function hostAndPort(url: string): string {
  const { hostname = url, port = '', protocol } = URL.parse(url) ?? {}
  return `${hostname}:${port || (protocol === 'https:' ? 443 : 80)}`
}

/** Text without its full stop, to continue it. A service may send anything as text. */
function dropStop(text: unknown): string {
  return String(text).replace(/\.$/, '')
}

/** Makes text from a service safe to print: on one line, without control characters, and of limited length. */
function printable(text: string): string {
  const line = text.replace(/\p{Cc}+/gu, ' ')
  return line.length > 500 ? `${line.slice(0, 500)}…` : line
}

/** How a client is opened. */
interface Opening {
  /** The organisation to act for. */
  readonly eid?: string
  readonly apiKey: string | undefined
  /** The scope that the key needs; absent if the service may be public, and decides whether it needs a key. */
  readonly scope?: Scope
  /** How the user names the URL; by default the option `--url`. */
  readonly field?: UrlField
  readonly deadline?: number
}

/** Creates a client of the service at a URL. */
export function openClient(url: string, { eid, apiKey, scope, field = '--url', deadline }: Opening): Client {
  const baseUrl = readServiceUrl(url, field)
  if (apiKey === undefined && scope !== undefined) fail({ message: lackKey(scope) })
  return createClient({
    baseUrl,
    apiKey: assertKey(apiKey),
    eid,
    deadline,
    unreachableDeadline: UNREACHABLE_DEADLINE,
    onRetry: createRetryNotice(baseUrl),
    cachedPages: 0,
  })
}
