import type { AnyProblem } from './types.ts'

/**
 * Why a call failed:
 *
 * - `problem`: the service, or a proxy in front of it, responded with an error; see `status`.
 * - `network`: no complete response arrived; `cause` is the fault.
 * - `deadline`: the time for the call ran out; `cause` is the previous failure, if any.
 * - `new-run`: a new run has replaced the one that was being read.
 * - `invalid`: the call itself is invalid; nothing was sent.
 * - `unreadable`: the response is not from the service: it is not JSON, or does not identify its run.
 */
export type FailureKind = 'problem' | 'network' | 'deadline' | 'new-run' | 'invalid' | 'unreadable'

/** What is known of a connection or a redirect. */
interface Connection {
  readonly code?: string
  readonly location?: string
}

/** The code of a response that is not JSON. */
export const NOT_JSON = 'ERR_NOT_JSON'

/** The members of the problem, each absent where the response has none. */
export interface MahiError extends Readonly<AnyProblem> {}

/**
 * The only error of this client. If the service responded with a problem (RFC 9457), it has the members of the
 * problem.
 */
// biome-ignore lint/suspicious/noUnsafeDeclarationMerging: the constructor copies the members from the response
export class MahiError extends Error {
  static {
    MahiError.prototype.name = 'MahiError'
  }

  /** Why the call failed. */
  declare readonly kind: FailureKind
  /** Whole seconds to wait before the next request, if the response contains them (429 and 503). */
  declare readonly retryAfter?: number
  /** The system's error code of the connection, such as `ECONNREFUSED`, or `ERR_NOT_JSON`, if any. */
  declare readonly code?: string
  /** The target of a redirect, which is not followed, so that the credential is sent nowhere else. */
  declare readonly location?: string
  /** @param retryAfter seconds */
  constructor(kind: FailureKind, problem: AnyProblem & Connection, cause?: unknown, retryAfter?: number) {
    const { title, detail } = problem
    super(detail === undefined ? title : `${title}: ${detail}`, cause === undefined ? undefined : { cause })
    // A body may have any members, and none of them is to hide what every error has, such as its stack.
    for (const [name, value] of Object.entries({ ...problem, kind, retryAfter })) {
      if (value !== undefined && !(name in this))
        Object.defineProperty(this, name, { value, enumerable: true })
    }
  }
}

/** Whether there was nobody to connect to. */
export function isUnreachable({ code = '' }: MahiError): boolean {
  return ['ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN'].includes(code)
}
