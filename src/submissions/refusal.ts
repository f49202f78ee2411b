/** Why an operation on a submission was refused; each kind becomes one type of problem. */
export type RefusalKind =
  /** The content is invalid: a record, an encoding, a digest. */
  | 'invalid'
  | 'unsupported'
  | 'too-large'
  /** `If-Match` or `If-None-Match` rules out the current state. */
  | 'precondition'
  | 'conflict'
  /** The submission was cancelled and its data deleted. */
  | 'gone'
  | 'not-found'
  | 'too-many'
  | 'busy'

/** An operation on a submission was refused. The message is for the caller and repeats none of the data. */
export class Refusal extends Error {
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
    super(message)
    this.name = 'Refusal'
    this.kind = kind
    this.errorCode = errorCode
    this.retryAfter = retryAfter
  }
}
