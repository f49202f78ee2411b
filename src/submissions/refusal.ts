import { Problem, type ProblemSlug } from '../api/contract/problems.ts'

/** The problem for each kind of refusal, which is stored with the work that was refused. */
const SLUGS = {
  /** The content is invalid: a record, an encoding, a digest. */
  invalid: 'invalid-body',
  unsupported: 'unsupported-media-type',
  'too-large': 'content-too-large',
  /** `If-Match` or `If-None-Match` rules out the current state. */
  precondition: 'precondition-failed',
  conflict: 'conflict',
  /** The submission was cancelled and its data deleted. */
  gone: 'gone',
  'not-found': 'no-such-file',
  'too-many': 'too-many-requests',
  busy: 'unavailable',
} as const satisfies Record<string, ProblemSlug>

export type RefusalKind = keyof typeof SLUGS

/** The kinds with which uploads are refused before they have been read completely: their connections end. */
const ENDING: ReadonlySet<RefusalKind> = new Set(['too-large', 'unsupported', 'invalid', 'too-many', 'busy'])

/** An operation on a submission was refused. The message is for the caller and repeats none of the data. */
export class Refusal extends Problem {
  readonly kind: RefusalKind
  /** The matching code of the public documentation, such as `DS1`. */
  readonly errorCode: string | undefined
  /** Seconds after which the same call may succeed. */
  readonly retryAfter: number | undefined

  constructor(
    kind: RefusalKind,
    message: string,
    { errorCode, retryAfter }: { errorCode?: string; retryAfter?: number } = {},
  ) {
    const retry = retryAfter ?? (kind === 'too-many' || kind === 'busy' ? 30 : undefined)
    super(SLUGS[kind], message, {
      headers: {
        ...(retry !== undefined && { 'retry-after': String(retry) }),
        ...(ENDING.has(kind) && { connection: 'close' }),
      },
      members: errorCode === undefined ? {} : { errorCode },
    })
    this.kind = kind
    this.errorCode = errorCode
    this.retryAfter = retryAfter
  }
}
