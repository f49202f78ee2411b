import { MahiError } from '../../client/src/errors.ts'
import { type Client, createClient } from '../../client/src/index.ts'
import type { Scope } from '../api/access/principal.ts'
import { NO_CREDENTIAL } from '../api/contract/problems.ts'
import { say } from '../foundation/command-line/terminal.ts'
import { fail } from '../foundation/faults/user-error.ts'

/** The environment variable with the key: other users of the machine can read command lines. */
export const KEY_VARIABLE = 'MAHI_API_KEY'

/** Parses the URL of a service as entered by a user. */
export function readUrl(text: string): string {
  const url = /^https?:\/\//.test(text) ? URL.parse(text) : null
  if (url !== null && !url.username && !url.password) return text.replace(/\/+$/, '')
  return fail({
    field: '<url>',
    message:
      url === null
        ? `must be a URL such as https://careers.example, not ${JSON.stringify(text)}`
        : `contains a user name or password. Use ${KEY_VARIABLE} instead`,
  })
}

/** Returns the key if it is a valid header value. Messages never repeat it. */
export function assertKey(apiKey: string | undefined): string | undefined {
  if (apiKey === undefined || /^[\x21-\x7e]+$/.test(apiKey)) return apiKey
  return fail({
    message: `${KEY_VARIABLE} contains a line break, a space or another character that is not allowed in a key. Set it to the key only`,
  })
}

/** Shorter pauses before a retry are not reported, in milliseconds. */
const QUIET = 400

/** Reports that a request will be sent again. */
export function announceRetry(failure: MahiError, pause: number): void {
  if (pause >= QUIET) say(`${printable(explain(failure))}. Trying again in ${Math.ceil(pause / 1000)} s…`)
}

/** Runs work that calls a service, and explains failures to the user. */
export async function askService<T>(url: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    if (!(error instanceof MahiError)) throw error
    const advice =
      error.status === 401
        ? explainRefusal(error.detail)
        : error.kind === 'new-run'
          ? 'a new run was published while this one was being read: run the command again'
          : explain(error)
    return fail({ file: url, message: printable(advice) })
  }
}

/** @param detail names the mistake if the key is valid */
function explainRefusal(detail = NO_CREDENTIAL): string {
  if (detail === NO_CREDENTIAL)
    return `the service does not accept the key: set ${KEY_VARIABLE} to one that is valid there`
  return `the service refuses the request: ${detail.replace(/\.$/, '')}`
}

const CONNECTION_FAULTS: Record<string, string> = {
  ECONNREFUSED: 'nothing listens at this host and port',
  ENOTFOUND: 'the host is unknown',
  EAI_AGAIN: 'the host name could not be looked up',
  ECONNRESET: 'the connection was broken off',
  ETIMEDOUT: 'the host does not answer',
  CERT_HAS_EXPIRED: 'its certificate has expired',
}

/** Explains an error in one sentence, without its full stop. */
function explain({ message, code, cause }: MahiError): string {
  const because = cause instanceof MahiError ? `: ${explain(cause)}` : ''
  if (code === undefined) return `${message}${because}`
  const known = CONNECTION_FAULTS[code]
  return `${message}: ${known === undefined ? code : `${known} (${code})`}${because}`
}

/** Makes text from a service safe to print: on one line, without control characters, and of limited length. */
function printable(text: string): string {
  const line = text.replace(/\p{Cc}+/gu, ' ')
  return line.length > 500 ? `${line.slice(0, 500)}…` : line
}

/**
 * Creates a client of the service at a URL, for one organisation.
 *
 * @param scope the scope that the key needs
 */
export function openClient(
  url: string,
  eid: string,
  apiKey: string | undefined,
  scope: Scope = 'submissions:write',
): Client {
  if (apiKey === undefined)
    fail({ message: `${KEY_VARIABLE} is not set. Set it to a key with the scope ${scope}` })
  return createClient({
    baseUrl: readUrl(url),
    apiKey: assertKey(apiKey),
    eid,
    onRetry: announceRetry,
    cachedPages: 0,
  })
}
