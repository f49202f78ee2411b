/** Why an operation on a submission cannot be done; each becomes one kind of problem. */
export type RefusalKind =
  /** The content is wrong: a record, an encoding, a digest. */
  | 'invalid'
  | 'unsupported'
  | 'too-large'
  /** `If-Match` names another state. */
  | 'precondition'
  | 'conflict'
  /** The submission was cancelled and its data deleted. */
  | 'gone'
  | 'not-found'
  | 'too-many'
  | 'busy'

/** An operation on a submission is refused. The message is for the caller and repeats nothing of the data. */
export class Refusal extends Error {
  readonly kind: RefusalKind
  /** The code of the public documentation that fits, such as `DS1`. */
  readonly errorCode: string | undefined
  /** Seconds after which the same call may succeed. */
  readonly retryAfter: number | undefined

  constructor(
    kind: RefusalKind,
    message: string,
    { errorCode, retryAfter }: { errorCode?: string; retryAfter?: number } = {},
  ) {
    super(message)
    this.name = 'Refusal'
    this.kind = kind
    this.errorCode = errorCode
    this.retryAfter = retryAfter
  }
}
