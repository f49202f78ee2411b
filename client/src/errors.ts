import type { ResultsProblem } from './types.ts'

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

/**
 * The only error of this client. If the service responded with a problem (RFC 9457), it has the members of the
 * problem.
 */
export class MahiError extends Error implements ResultsProblem {
  static {
    MahiError.prototype.name = 'MahiError'
  }

  /** Why the call failed. */
  declare readonly kind: FailureKind
  /** Whole seconds to wait before the next request, if the response contains them (429 and 503). */
  declare readonly retryAfter?: number
  /** The system's error code of the connection, such as `ECONNREFUSED`, if any. */
  declare readonly code?: string
  /** The target of a redirect, which is not followed, so that the credential is sent nowhere else. */
  declare readonly location?: string
  /** Kind of the problem: a relative reference to a page that explains it. */
  declare readonly type?: string
  /** What the kind of problem is, in a few words. */
  declare readonly title?: string
  /** The HTTP status; absent if there was no response. */
  declare readonly status?: number
  /** What was wrong with this request, and what would be right. */
  declare readonly detail?: string
  /** `urn:uuid:` and the id of the request, which is also in X-Request-Id and in the log. */
  declare readonly instance?: string
  /** For each parameter that is wrong, what is wrong with it. */
  declare readonly errors?: Record<string, string[]>
  /** The return that the submission belongs to. */
  declare readonly returnId?: string
  /** The token of the submission. */
  declare readonly submissionToken?: string
  /** The parameters as they were received. */
  declare readonly content?: Record<string, string>
  /** `PR1`: a parameter is wrong in itself. `PR2`: the page is past the last one. */
  declare readonly errorCode?: string

  /** @param retryAfter seconds */
  constructor(kind: FailureKind, problem: ResultsProblem & Connection, cause?: unknown, retryAfter?: number) {
    const { title, detail } = problem
    super(detail === undefined ? title : `${title}: ${detail}`, cause === undefined ? undefined : { cause })
    // A body may have any members, and none of them is to hide what every error has, such as its stack.
    for (const [name, value] of Object.entries({ ...problem, kind, retryAfter })) {
      if (value !== undefined && !(name in this))
        Object.defineProperty(this, name, { value, enumerable: true })
    }
  }
}
